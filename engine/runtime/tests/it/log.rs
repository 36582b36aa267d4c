use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use amends::core::Json;
use amends::core::event::{FailureKind, Recorded};
use amends::core::machine::Attempted;
use amends::memory::MemoryStore;
use amends::operator::By;
use amends::ports::ControlStore as _;
use amends::{LogNotifier, Outcome};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::gate::GatedStore;
use crate::workflow::{Log, begin, builder, done, engine, failure, pass, step, workflow};

type Line = (Level, BTreeMap<&'static str, String>);

/// Keeps every event of the engine, with its fields as text.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<Line>>>);

impl Subscriber for Kept {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("amends")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        self.0.lock().unwrap().push((*event.metadata().level(), fields.0));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[derive(Default)]
struct Fields(BTreeMap<&'static str, String>);

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

impl Kept {
    fn of(&self, level: Level, message: &str) -> Vec<BTreeMap<&'static str, String>> {
        let lines = self.0.lock().unwrap();
        let fits =
            |line: &&Line| line.0 == level && line.1.get("message").is_some_and(|said| said == message);
        lines.iter().filter(fits).map(|line| line.1.clone()).collect()
    }
}

fn some<'a>(line: &'a BTreeMap<&'static str, String>, names: &[&str]) -> Vec<&'a str> {
    names.iter().map(|name| line.get(*name).map_or("", String::as_str)).collect()
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_purged_is_said_once_an_hour_and_keeps_nothing_else_from_it() {
    let kept = Kept::default();
    let _guard = tracing::subscriber::set_default(kept.clone());
    let (store, log) = (GatedStore::new(), Log::default());
    store.fails.lock().unwrap().insert("purge");
    let hour = Duration::from_secs(3_600);
    let engine = builder(&store, &workflow(vec![step("a", &log)])).purge_after(hour).start().await.unwrap();
    let of = engine.operator().workflow("w");
    of.hold_starts(By::new("ann", "why", "held")).await.unwrap();
    of.release(By::new("ann", "why", "released")).await.unwrap();
    pass(hour * 3).await;
    assert_eq!(store.inner.ordered("held").await.unwrap(), None, "orders are purged");
    let said = kept.of(Level::WARN, "purging fails; it is tried again every minute");
    assert!((3..=4).contains(&said.len()), "{}", said.len());
    assert!(said.iter().all(|line| line["what"] == "Sagas" && line["fault"].contains("`purge`")), "{said:?}");
}

#[tokio::test(start_paused = true)]
async fn a_failure_says_its_decision_and_an_entry_into_a_desk_is_announced_once() {
    let kept = Kept::default();
    let _guard = tracing::subscriber::set_default(kept.clone());
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let fails = step("a", &log).runs(|cx| async move {
        match cx.attempt() {
            1 => Attempted::Transient(failure(FailureKind::Transient, "busy")),
            _ => Attempted::Persistent(failure(FailureKind::Persistent, "credential")),
        }
    });
    let slow = step("b", &log).runs(|cx| async move {
        cx.clock().sleep_until(cx.clock().now() + std::time::Duration::from_secs(20)).await;
        done()
    });
    let engine = engine(&store, &workflow(vec![fails, slow])).await;
    begin(&engine, "k").await;
    pass(std::time::Duration::from_secs(25)).await;

    let failures = kept.of(Level::INFO, "a call did not settle its action");
    let fields = ["step", "retry.attempt", "retry.policy", "retry.decision", "retry.reason", "code"];
    let said: Vec<Vec<&str>> = failures.iter().map(|line| some(line, &fields)).collect();
    let expected = [
        ["a", "1", "default", "retry", "", "busy"],
        ["a", "2", "default", "quarantine", "persistent", "credential"],
    ];
    assert_eq!(said, expected);
    let desk = kept.of(Level::WARN, "a person is needed");
    assert_eq!(desk.len(), 1, "once, although the saga went on beside it");
    assert_eq!(store.stats().work_items, 1, "and its row was written once");
    let fields = ["workflow", "key", "step", "desk", "reason", "attempts", "effect", "code"];
    assert_eq!(
        some(&desk[0], &fields),
        ["w", "k", "a", "quarantine", "persistent", "2", "none", "credential"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_log_notifier_says_the_same_line_from_the_outbox() {
    let kept = Kept::default();
    let _guard = tracing::subscriber::set_default(kept.clone());
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let fails = step("a", &log)
        .runs(|_| async { Attempted::Persistent(failure(FailureKind::Persistent, "credential")) });
    let engine = builder(&store, &workflow(vec![fails])).notifier(Arc::new(LogNotifier));
    let engine = engine.start().await.unwrap();
    begin(&engine, "k").await;
    pass(std::time::Duration::from_millis(1)).await;
    let desk = kept.of(Level::WARN, "a person is needed");
    assert_eq!(desk.len(), 1, "from there alone");
    let fields = ["workflow", "key", "step", "desk", "reason", "attempts", "effect", "code"];
    let said = some(&desk[0], &fields);
    assert_eq!(said, ["w", "k", "a", "quarantine", "persistent", "1", "none", "credential"]);
    assert_ne!(desk[0]["id"], "");
}

#[tokio::test(start_paused = true)]
async fn a_saga_that_goes_well_says_nothing_above_debug_but_that_the_engine_runs() {
    let kept = Kept::default();
    let _guard = tracing::subscriber::set_default(kept.clone());
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let engine = engine(&store, &workflow(vec![step("a", &log)])).await;
    assert!(matches!(begin(&engine, "k").await.outcome().await, Ok(Outcome::Completed(_))));
    let lines = kept.0.lock().unwrap().clone();
    let loud: Vec<&str> =
        lines.iter().filter(|line| line.0 <= Level::INFO).map(|line| &*line.1["message"]).collect();
    assert_eq!(loud, ["the engine runs"]);
}

#[tokio::test(start_paused = true)]
async fn a_key_or_a_refusal_with_an_escape_sequence_cannot_forge_a_line_of_log_or_timeline() {
    let kept = Kept::default();
    let _guard = tracing::subscriber::set_default(kept.clone());
    let key = "k\n+9.000s completed\u{1b}[2J";
    let log = Log::default();
    let refuses = step("a", &log).runs(|_| async {
        Attempted::Refused(Recorded::Value(Json::parse("{\"why\":\n\"\u{7f}\u{9b}2J\"}").unwrap()))
    });
    let fails =
        step("b", &log).runs(|_| async { Attempted::Persistent(failure(FailureKind::Persistent, "x\r\ny")) });
    let mut told = Vec::new();
    for step in [refuses, fails] {
        let engine = engine(&Arc::new(MemoryStore::new()), &workflow(vec![step])).await;
        let saga = begin(&engine, key).await;
        pass(std::time::Duration::from_secs(1)).await;
        told.push(saga.view().await.unwrap().timeline());
    }

    for line in kept.0.lock().unwrap().iter() {
        let raw = line.1.values().find(|said| said.chars().any(char::is_control));
        assert_eq!(raw, None, "{:?}", line.1);
    }
    let desk = kept.of(Level::WARN, "a person is needed");
    assert_eq!(some(&desk[0], &["key", "code"]), [r"k\n+9.000s completed\u{1b}[2J", r"x\r\ny"]);
    for told in &told {
        assert!(!told.lines().any(|line| line.chars().any(char::is_control)), "{told:?}");
        assert!(!told.lines().any(|line| line.starts_with("+9")), "{told}");
    }
    assert!(told[0].contains(r#"a refused {"why":\n"\u{7f}\u{9b}2J"}"#), "{}", told[0]);
}
