//! Publishing from the outbox: in order, at least once, and whatever happens under the same ids.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use amends::core::Timestamp;
use amends::core::event::FailureKind;
use amends::core::machine::Attempted;
use amends::engine::StartError;
use amends::memory::MemoryStore;
use amends::operator::{Answer, By, OperateError};
use amends::ports::{
    Clock as _, ControlStore as _, Notice, Notifier, OutboxKind, OutboxMessage, OutboxPlace, PublishError,
    Published, Publisher, Store, SystemClock,
};
use amends::{Engine, EngineBuilder, Limits, Outcome};
use async_trait::async_trait;
use serde_json::Value;
use tokio::sync::Semaphore;
use uuid::Uuid;

use crate::gate::GatedStore;
use crate::workflow::{Log, begin, builder, chain, done, failure, pass, step, workflow};

const MOMENT: Duration = Duration::from_millis(1);

/// What the broker does with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    Acknowledges,
    /// Takes it, and the acknowledgement is lost.
    StaysSilent,
    IsUnavailable,
    Refuses,
    RefusesAtLength,
    Panics,
}

/// Is told the message, and how often it came before.
type Script = dyn Fn(&OutboxMessage, usize) -> Does + Send + Sync;

/// A broker that remembers what it was sent, and does with it what the test says.
#[derive(Clone)]
struct Broker {
    sent: Arc<Mutex<Vec<(Timestamp, OutboxMessage)>>>,
    does: Arc<Script>,
    clock: Arc<SystemClock>,
    /// One permit per message that it answers at all.
    gate: Arc<Semaphore>,
}

impl Broker {
    fn new() -> Self {
        Self::that(|_, _| Does::Acknowledges)
    }

    fn that(does: impl Fn(&OutboxMessage, usize) -> Does + Send + Sync + 'static) -> Self {
        Self {
            sent: Arc::default(),
            does: Arc::new(does),
            clock: Arc::new(SystemClock::starting_at(Timestamp(0))),
            gate: Arc::new(Semaphore::new(Semaphore::MAX_PERMITS)),
        }
    }

    fn sent(&self) -> Vec<OutboxMessage> {
        self.sent.lock().unwrap().iter().map(|(_, message)| message.clone()).collect()
    }

    fn ids(&self) -> Vec<Uuid> {
        self.sent().iter().map(|message| message.id).collect()
    }

    /// The last word of each subject.
    fn words(&self) -> Vec<String> {
        let word = |message: &OutboxMessage| message.subject.rsplit('.').next().unwrap().to_owned();
        self.sent().iter().map(word).collect()
    }

    /// The times between what was sent.
    fn gaps(&self) -> Vec<Duration> {
        let sent = self.sent.lock().unwrap();
        sent.windows(2).map(|pair| pair[1].0.since(pair[0].0)).collect()
    }
}

#[async_trait]
impl Publisher for Broker {
    async fn publish(&self, message: &OutboxMessage) -> Result<Published, PublishError> {
        let before = self.ids().iter().filter(|id| **id == message.id).count();
        self.sent.lock().unwrap().push((self.clock.now(), message.clone()));
        self.gate.acquire().await.expect("the gate is never taken away").forget();
        match (self.does)(message, before) {
            Does::Acknowledges => Ok(Published { duplicate: before > 0 }),
            Does::StaysSilent => std::future::pending().await,
            Does::IsUnavailable => Err(PublishError::Unavailable("no broker".to_owned())),
            Does::Refuses => Err(PublishError::Refused("no such stream".to_owned())),
            Does::RefusesAtLength => Err(PublishError::Refused("é".repeat(100_000))),
            Does::Panics => panic!("the publisher has a bug"),
        }
    }
}

fn body(message: &OutboxMessage) -> Value {
    serde_json::from_str(&message.body).expect("a body is JSON")
}

async fn publishing<S: Store>(store: &Arc<S>, broker: &Broker) -> Engine {
    let log = Log::default();
    let builder = builder(store, &chain(&log)).publisher(Arc::new(broker.clone())).events("w");
    builder.start().await.expect("the engine starts")
}

/// The next process on the same store.
async fn next_process<S: Store>(store: &Arc<S>, broker: &Broker) -> Engine {
    let ids = amends::ports::RandomIds::seeded(2);
    let next = builder(store, &chain(&Log::default())).ids(Arc::new(ids));
    next.publisher(Arc::new(broker.clone())).events("w").start().await.expect("the engine starts")
}

async fn waiting(engine: &Engine) -> u64 {
    engine.outbox().await.unwrap().counts.iter().map(|count| count.waiting).sum()
}

#[tokio::test(start_paused = true)]
async fn events_go_out_in_order_at_once_and_nothing_stays() {
    let (store, broker) = (Arc::new(MemoryStore::new()), Broker::new());
    let engine = publishing(&store, &broker).await;
    let saga = begin(&engine, "k").await;
    assert!(matches!(saga.outcome().await, Ok(Outcome::Completed(_))));
    pass(MOMENT).await; // much less than a look takes to come by itself
    assert_eq!(broker.words(), ["started", "completed"]);
    assert_eq!(waiting(&engine).await, 0);

    let documents: Vec<Value> = broker.sent().iter().map(body).collect();
    let (first, last) = (&documents[0], &documents[1]);
    let field = |name: &str| first[name].as_str().unwrap_or_default().to_owned();
    assert_eq!(field("specversion"), "1.0");
    assert_eq!(field("id"), broker.ids()[0].to_string());
    assert_eq!(field("type"), "amends.saga.started");
    assert_eq!(field("source"), "/amends/workflows/w");
    assert_eq!(field("subject"), saga.id().to_string());
    assert_eq!(first["data"]["key"], "k");
    assert_eq!(last["data"]["outcome"], "completed");
    assert!(first["sequence"].as_str() < last["sequence"].as_str(), "{first} {last}");
    assert!(broker.sent()[0].headers.contains("application/cloudevents+json"));
}

#[tokio::test(start_paused = true)]
async fn without_a_publisher_nothing_is_written() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let engine = builder(&store, &chain(&log)).start().await.unwrap();
    assert!(begin(&engine, "k").await.outcome().await.is_ok());
    assert_eq!(store.stats().outbox, 0);
    assert_eq!(engine.outbox().await.unwrap(), amends::engine::OutboxView::default());
}

#[tokio::test(start_paused = true)]
async fn events_that_nobody_publishes_are_a_mistake_of_registration() {
    let told = async |builder: EngineBuilder| match builder.start().await {
        Err(StartError::Registration(mistakes)) => mistakes.join("\n"),
        other => panic!("{other:?}"),
    };
    let (store, chain) = (Arc::new(MemoryStore::new()), chain(&Log::default()));
    let broker = Arc::new(Broker::new());
    let nobody = told(builder(&store, &chain).events("w")).await;
    assert!(nobody.contains("`w`") && nobody.contains("nobody publishes"), "{nobody}");
    let notices_only = builder(&store, &chain).publisher_of(OutboxKind::Notice, broker.clone()).events("w");
    assert!(told(notices_only).await.contains("nobody publishes"));
    let other = told(builder(&store, &chain).publisher(broker).events("other")).await;
    assert!(other.contains("`other`: it is not registered"), "{other}");
}

#[tokio::test(start_paused = true)]
async fn the_next_event_of_a_saga_waits_and_those_of_others_do_not() {
    let store = Arc::new(MemoryStore::new());
    let first_hangs = |message: &OutboxMessage, _| {
        if body(message)["data"]["key"] == "a" { Does::StaysSilent } else { Does::Acknowledges }
    };
    let broker = Broker::that(first_hangs);
    let engine = publishing(&store, &broker).await;
    for key in ["a", "b"] {
        assert!(begin(&engine, key).await.outcome().await.is_ok());
    }
    pass(Duration::from_secs(5)).await;
    let told: Vec<(String, String)> = broker
        .words()
        .into_iter()
        .zip(broker.sent())
        .map(|(word, message)| (body(&message)["data"]["key"].to_string(), word))
        .collect();
    let mut of: BTreeMap<String, Vec<String>> = BTreeMap::new();
    told.into_iter().for_each(|(key, word)| of.entry(key).or_default().push(word));
    assert_eq!(of[r#""a""#], ["started"]);
    assert_eq!(of[r#""b""#], ["started", "completed"]);
    assert_eq!(waiting(&engine).await, 2);
}

#[tokio::test(start_paused = true)]
async fn without_an_acknowledgement_the_same_message_goes_out_again() {
    let store = Arc::new(MemoryStore::new());
    let broker = Broker::that(|_, before| if before < 2 { Does::StaysSilent } else { Does::Acknowledges });
    let engine = publishing(&store, &broker).await;
    begin(&engine, "k").await.outcome().await.unwrap();
    pass(Duration::from_secs(60)).await;
    assert_eq!(broker.words(), ["started", "started", "started", "completed", "completed", "completed"]);
    let ids = broker.ids();
    assert!(ids[..3].iter().all(|id| *id == ids[0]) && ids[3..].iter().all(|id| *id == ids[3]), "{ids:?}");
    assert!(broker.gaps()[0] >= Duration::from_secs(10), "an acknowledgement has ten seconds");
    assert_eq!(waiting(&engine).await, 0);
}

#[tokio::test(start_paused = true)]
async fn while_nothing_gets_through_one_is_tried_at_growing_delays() {
    let store = Arc::new(MemoryStore::new());
    let broker = Broker::that(|_, _| Does::IsUnavailable);
    let engine = publishing(&store, &broker).await;
    begin(&engine, "k").await.outcome().await.unwrap();
    pass(Duration::from_secs(200)).await;
    let gaps = broker.gaps();
    assert!(gaps.windows(2).all(|pair| pair[0] <= pair[1]), "{gaps:?}");
    assert!(gaps[0] >= Duration::from_millis(100) && gaps[0] < Duration::from_millis(200), "{gaps:?}");
    let longest = *gaps.last().unwrap();
    assert!((Duration::from_secs(30)..Duration::from_secs(31)).contains(&longest), "{gaps:?}");
    let view = engine.outbox().await.unwrap();
    assert_eq!(view.troubles.len(), 1);
    assert_eq!((view.troubles[0].kind, view.troubles[0].error.as_str()), (OutboxKind::Event, "no broker"));
    assert_eq!(view.refused, [], "that says nothing of the message");
    assert_eq!(engine.health().await.to_string(), "degraded: events are not published: no broker");

    for n in 0..100 {
        begin(&engine, &format!("k{n}")).await.outcome().await.unwrap();
    }
    let before = broker.sent().len();
    pass(Duration::from_secs(29)).await;
    assert!(broker.sent().len() <= before + 1, "a closed way is not flooded");
}

#[tokio::test(start_paused = true)]
async fn after_an_outage_everything_goes_out() {
    let store = Arc::new(MemoryStore::new());
    let back_at = Timestamp(0) + Duration::from_secs(300);
    let clock = Arc::new(SystemClock::starting_at(Timestamp(0)));
    let broker = Broker::that(
        move |_, _| if clock.now() < back_at { Does::IsUnavailable } else { Does::Acknowledges },
    );
    let engine = publishing(&store, &broker).await;
    for n in 0..200 {
        begin(&engine, &format!("k{n}")).await.outcome().await.unwrap();
    }
    pass(Duration::from_secs(299)).await;
    assert_eq!(waiting(&engine).await, 400);
    pass(Duration::from_secs(62)).await;
    assert_eq!(waiting(&engine).await, 0);
    assert!(engine.outbox().await.unwrap().troubles.is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_was_under_way_together_and_fails_together_keeps_the_way_closed_for_a_moment_only() {
    let store = Arc::new(MemoryStore::new());
    let lost = |message: &OutboxMessage, before| {
        if message.subject.ends_with("started") && before == 0 {
            Does::StaysSilent
        } else {
            Does::Acknowledges
        }
    };
    let broker = Broker::that(lost);
    let engine = publishing(&store, &broker).await;
    for n in 0..50 {
        begin(&engine, &format!("k{n}")).await.outcome().await.unwrap();
    }
    pass(Duration::from_secs(9)).await;
    assert_eq!((waiting(&engine).await, broker.sent().len()), (100, 50), "all of them are under way");
    // Their ten seconds are over at one time: that is one failure, and not fifty in a row.
    pass(Duration::from_secs(2)).await;
    assert_eq!(waiting(&engine).await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_way_that_was_closed_is_opened_step_by_step() {
    let store = Arc::new(MemoryStore::new());
    let back_at = Timestamp(0) + Duration::from_secs(5);
    let clock = Arc::new(SystemClock::starting_at(Timestamp(0)));
    let broker = Broker::that(
        move |_, _| if clock.now() < back_at { Does::IsUnavailable } else { Does::Acknowledges },
    );
    let engine = publishing(&store, &broker).await;
    for n in 0..50 {
        begin(&engine, &format!("k{n}")).await.outcome().await.unwrap();
    }
    pass(Duration::from_secs(5)).await;
    broker.gate.forget_permits(Semaphore::MAX_PERMITS);
    let before = broker.sent().len();
    while broker.sent().len() == before {
        pass(Duration::from_millis(100)).await;
    }
    let mut sent = broker.sent().len();
    for answers in [1, 2, 4] {
        broker.gate.add_permits(answers);
        pass(MOMENT).await;
        let more = broker.sent().len() - sent;
        assert_eq!(more, 2 * answers, "for each answer there is room for two");
        sent += more;
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_message_stays_is_shown_and_blocks_nobody_else() {
    let store = Arc::new(MemoryStore::new());
    let broker = Broker::that(|message, before| {
        let refused = body(message)["data"]["key"] == "a" && before < 2;
        if refused { Does::Refuses } else { Does::Acknowledges }
    });
    let engine = publishing(&store, &broker).await;
    for key in ["a", "b", "c"] {
        begin(&engine, key).await.outcome().await.unwrap();
    }
    pass(MOMENT).await;
    let view = engine.outbox().await.unwrap();
    assert_eq!((view.counts[0].waiting, view.counts[0].refused), (2, 1), "both events of `a`");
    assert_eq!(view.refused[0].reason, "no such stream");
    assert_eq!(view.refused[0].message.id, broker.ids()[0]);
    assert_eq!(engine.health().await.to_string(), "degraded: 1 event is refused");
    assert_eq!(broker.sent().len(), 1 + 4);
    pass(Duration::from_secs(6)).await;
    assert_eq!(engine.outbox().await.unwrap().refused[0].message.refusals, 2);
    pass(Duration::from_secs(30)).await;
    assert_eq!(waiting(&engine).await, 0, "it was taken the third time");
}

#[tokio::test(start_paused = true)]
async fn an_event_that_is_refused_for_good_is_let_go_and_the_later_ones_of_its_saga_go_out() {
    let store = Arc::new(MemoryStore::new());
    let broker =
        Broker::that(
            |message, _| {
                if message.subject.ends_with(".started") { Does::Refuses } else { Does::Acknowledges }
            },
        );
    let engine = publishing(&store, &broker).await;
    begin(&engine, "k").await.outcome().await.unwrap();
    pass(Duration::from_secs(3_600)).await;
    assert!(broker.words().iter().all(|word| word == "started"), "the end waits for the beginning");
    assert_eq!(waiting(&engine).await, 2);
    let first = engine.outbox().await.unwrap().refused[0].message.place;
    let by = |id: &str| By::new("ann", "nobody can take it", id);
    let let_go = async |message, by| engine.operator().let_go(message, by).await;
    let refused = |answer: Result<Answer, OperateError>| match answer {
        Err(OperateError::Refused(reason)) => reason.to_string(),
        other => panic!("{other:?}"),
    };

    let nameless = let_go(first, By::new("", "nobody can take it", "op-1")).await;
    assert!(matches!(nameless, Err(OperateError::Incomplete(_))), "{nameless:?}");
    assert_eq!(waiting(&engine).await, 2, "and nothing happened");
    assert_eq!(let_go(first, by("op-1")).await, Ok(Answer::Accepted));
    pass(MOMENT).await; // much less than a look takes to come by itself
    assert_eq!(broker.words().last().unwrap(), "completed");
    assert_eq!(waiting(&engine).await, 0);

    assert_eq!(let_go(first, by("op-1")).await, Ok(Answer::Accepted), "the same id has the same answer");
    let gone = refused(let_go(first, by("op-2")).await);
    assert!(gone.contains("published, or let go before"), "{gone}");
    let another = refused(let_go(OutboxPlace { n: 9, ..first }, by("op-1")).await);
    assert!(another.contains(&format!("was used for `outbox/{first}` before")), "{another}");
    let kept = store.ordered("op-1").await.unwrap().unwrap().order;
    assert_eq!((kept.actor.as_str(), kept.reason.as_str()), ("ann", "nobody can take it"));
}

#[tokio::test(start_paused = true)]
async fn a_message_that_was_never_refused_is_not_let_go() {
    let store = Arc::new(MemoryStore::new());
    let broker = Broker::that(|_, _| Does::StaysSilent);
    let engine = publishing(&store, &broker).await;
    begin(&engine, "k").await.outcome().await.unwrap();
    let under_way = broker.sent()[0].place;
    let answer = engine.operator().let_go(under_way, By::new("ann", "a test", "op-1")).await;
    let told = answer.unwrap_err().to_string();
    assert!(told.contains("is still to be published"), "{told}");
    assert_eq!(waiting(&engine).await, 2);
}

#[tokio::test(start_paused = true)]
async fn of_a_long_reason_the_beginning_is_kept() {
    let (store, broker) = (Arc::new(MemoryStore::new()), Broker::that(|_, _| Does::RefusesAtLength));
    let engine = publishing(&store, &broker).await;
    begin(&engine, "k").await.outcome().await.unwrap();
    pass(MOMENT).await;
    assert_eq!(engine.outbox().await.unwrap().refused[0].reason, "é".repeat(2_048));
}

#[tokio::test(start_paused = true)]
async fn a_message_that_alone_never_gets_through_is_shown_and_blocks_nobody() {
    let store = Arc::new(MemoryStore::new());
    let broker =
        Broker::that(
            |message, _| {
                if body(message)["data"]["key"] == "a" { Does::Panics } else { Does::Acknowledges }
            },
        );
    let engine = publishing(&store, &broker).await;
    begin(&engine, "a").await.outcome().await.unwrap();
    for n in 0..30 {
        begin(&engine, &format!("k{n}")).await.outcome().await.unwrap();
        pass(Duration::from_secs(1)).await;
    }
    let view = engine.outbox().await.unwrap();
    assert_eq!(view.counts[0].waiting, 2, "those of `a`");
    assert_eq!(view.refused[0].reason, "the publisher panicked: the publisher has a bug");
}

#[tokio::test(start_paused = true)]
async fn shutting_down_publishes_what_waits() {
    let (store, broker) = (Arc::new(MemoryStore::new()), Broker::new());
    broker.gate.forget_permits(Semaphore::MAX_PERMITS);
    let engine = publishing(&store, &broker).await;
    begin(&engine, "k").await.outcome().await.unwrap();
    let opens = {
        let gate = broker.gate.clone();
        tokio::spawn(async move {
            pass(Duration::from_secs(2)).await;
            gate.add_permits(10);
        })
    };
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
    opens.await.unwrap();
    assert_eq!(broker.words(), ["started", "completed"]);
    assert_eq!(waiting(&engine).await, 0);
}

#[tokio::test(start_paused = true)]
async fn shutting_down_does_not_wait_for_a_broker_that_is_gone() {
    let (store, broker) = (Arc::new(MemoryStore::new()), Broker::that(|_, _| Does::IsUnavailable));
    let engine = publishing(&store, &broker).await;
    begin(&engine, "k").await.outcome().await.unwrap();
    pass(MOMENT).await;
    let before = broker.clock.now();
    engine.shutdown(Duration::from_secs(60)).await.unwrap();
    assert!(broker.clock.now().since(before) < Duration::from_secs(1));
    assert_eq!(waiting(&engine).await, 2, "the next process publishes them");
}

/// One process is killed; the next one finishes. What the broker was sent, over both.
async fn over_a_kill(store: &Arc<GatedStore>, broker: &Broker) -> Vec<String> {
    let engine = publishing(store, broker).await;
    let saga = begin(&engine, "k").await;
    pass(Duration::from_secs(1)).await;
    engine.abort().await;
    drop(saga);
    store.kept.store(0, std::sync::atomic::Ordering::SeqCst);
    if broker.gate.available_permits() == 0 {
        broker.gate.add_permits(100);
    }
    let next = next_process(store, broker).await;
    pass(Duration::from_secs(30)).await;
    assert_eq!(waiting(&next).await, 0, "nothing is lost");
    let mut told: Vec<(String, Uuid)> = broker.words().into_iter().zip(broker.ids()).collect();
    let words = told.iter().map(|(word, _)| word.clone()).collect();
    told.sort();
    told.dedup();
    assert_eq!(told.len(), 2, "each word under one id: {told:?}");
    words
}

#[tokio::test(start_paused = true)]
async fn killed_between_commit_and_publishing() {
    let (store, broker) = (GatedStore::new(), Broker::new());
    // The commit takes effect, and the process never hears of it.
    store.lost_answers.store(u32::MAX, std::sync::atomic::Ordering::SeqCst);
    let engine = publishing(&store, &broker).await;
    let starting = {
        let engine = engine.clone();
        tokio::spawn(async move { begin(&engine, "k").await })
    };
    pass(Duration::from_millis(900)).await; // no look has come by itself yet
    assert_eq!(broker.sent().len(), 0);
    assert_eq!(waiting(&engine).await, 1);
    starting.abort();
    engine.abort().await;
    store.lost_answers.store(0, std::sync::atomic::Ordering::SeqCst);
    let next = next_process(&store, &broker).await;
    pass(Duration::from_secs(30)).await;
    assert_eq!(broker.words(), ["started", "completed"]);
    assert_eq!(waiting(&next).await, 0);
}

#[tokio::test(start_paused = true)]
async fn killed_between_publishing_and_acknowledgement() {
    let (store, broker) = (GatedStore::new(), Broker::new());
    broker.gate.forget_permits(Semaphore::MAX_PERMITS);
    assert_eq!(over_a_kill(&store, &broker).await, ["started", "started", "completed"]);
}

#[tokio::test(start_paused = true)]
async fn killed_between_acknowledgement_and_removal() {
    let (store, broker) = (GatedStore::new(), Broker::new());
    store.kept.store(1, std::sync::atomic::Ordering::SeqCst);
    assert_eq!(over_a_kill(&store, &broker).await, ["started", "started", "completed"]);
}

#[tokio::test(start_paused = true)]
async fn killed_after_removal() {
    let (store, broker) = (GatedStore::new(), Broker::new());
    assert_eq!(over_a_kill(&store, &broker).await, ["started", "completed"]);
}

#[tokio::test(start_paused = true)]
async fn another_node_publishes_what_a_dead_one_left() {
    let store = Arc::new(MemoryStore::shared());
    let silent = Broker::that(|_, _| Does::StaysSilent);
    let dead = publishing(&store, &silent).await;
    begin(&dead, "k").await.outcome().await.unwrap();
    dead.abort().await;
    assert_eq!(silent.words(), ["started"]);
    let broker = Broker::new();
    let alive = next_process(&store, &broker).await;
    pass(Duration::from_secs(5)).await;
    assert_eq!(broker.sent().len(), 0, "its lease has not run out");
    pass(Duration::from_secs(15)).await;
    assert_eq!(broker.words(), ["started", "completed"]);
    assert_eq!(broker.ids()[0], silent.ids()[0]);
    assert_eq!(waiting(&alive).await, 0);
}

#[tokio::test(start_paused = true)]
async fn two_nodes_publish_each_message_once() {
    let store = Arc::new(MemoryStore::shared());
    let (one, other) = (Broker::new(), Broker::new());
    let first = publishing(&store, &one).await;
    let second = next_process(&store, &other).await;
    pass(Duration::from_secs(3)).await;
    for n in 0..64 {
        let engine = if n % 2 == 0 { &first } else { &second };
        begin(engine, &format!("k{n}")).await.outcome().await.unwrap();
    }
    pass(Duration::from_secs(3)).await;
    assert_eq!(waiting(&first).await, 0);
    assert!(!one.sent().is_empty() && !other.sent().is_empty(), "they share the lanes");
    let mut ids = [one.ids(), other.ids()].concat();
    assert_eq!(ids.len(), 128);
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 128);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_gave_lanes_up_publishes_nothing_more_of_them() {
    let store = Arc::new(MemoryStore::shared());
    let dead = publishing(&store, &Broker::that(|_, _| Does::IsUnavailable)).await;
    for n in 0..200 {
        begin(&dead, &format!("k{n}")).await.outcome().await.unwrap();
    }
    dead.abort().await;
    let (slow, other) = (Broker::new(), Broker::new());
    slow.gate.forget_permits(Semaphore::MAX_PERMITS);
    let limits = Limits { publish_within: Duration::from_secs(1_000), ..Limits::default() };
    let ids = amends::ports::RandomIds::seeded(3);
    let first = builder(&store, &chain(&Log::default())).publisher(Arc::new(slow.clone())).events("w");
    let first = first.limits(limits).ids(Arc::new(ids)).start().await.unwrap();
    pass(Duration::from_secs(15)).await;
    let under_way = slow.sent().len();
    let second = next_process(&store, &other).await;
    pass(Duration::from_secs(5)).await;
    assert!(!other.sent().is_empty(), "it has half of the lanes");
    slow.gate.add_permits(Semaphore::MAX_PERMITS / 2);
    pass(Duration::from_secs(5)).await;
    assert_eq!(waiting(&second).await, 0);
    let (afterwards, theirs) = (slow.ids().split_off(under_way), other.ids());
    assert!(!afterwards.is_empty() && afterwards.iter().all(|id| !theirs.contains(id)));
    drop(first);
}

/// Remembers whom it told what.
#[derive(Clone, Default)]
struct Pager {
    told: Arc<Mutex<Vec<Notice>>>,
    /// It answers so many of them late.
    silent: Arc<Mutex<usize>>,
}

#[async_trait]
impl Notifier for Pager {
    async fn notify(&self, notice: &Notice) -> Result<(), PublishError> {
        self.told.lock().unwrap().push(notice.clone());
        let silent = std::mem::take(&mut *self.silent.lock().unwrap());
        if silent > 0 {
            std::future::pending::<()>().await;
        }
        Ok(())
    }
}

/// A workflow whose step `a` waits for a person the first time.
fn needs_a_person() -> amends::authoring::Definition {
    let log = Log::default();
    let fails_once = step("a", &log).runs(|cx| async move {
        match cx.attempt() {
            1 => Attempted::Persistent(failure(FailureKind::Persistent, "credential")),
            _ => done(),
        }
    });
    workflow(vec![fails_once, step("b", &log).after(&["a"])])
}

#[tokio::test(start_paused = true)]
async fn who_needs_a_person_says_so_and_says_when_it_is_over() {
    let (store, broker, pager) = (Arc::new(MemoryStore::new()), Broker::new(), Pager::default());
    let engine = builder(&store, &needs_a_person())
        .publisher_of(OutboxKind::Event, Arc::new(broker.clone()))
        .notifier(Arc::new(pager.clone()))
        .events("w");
    let engine = engine.start().await.unwrap();
    let saga = begin(&engine, "k").await;
    pass(MOMENT).await;
    assert_eq!(broker.words(), ["started", "needs-attention"]);
    let told = pager.told.lock().unwrap().clone();
    assert_eq!(told.len(), 1);
    let Notice { item, desk, reason, code, key, .. } = &told[0];
    let said = [item.as_str(), desk, reason, code, key];
    assert_eq!(said, ["a/forward", "quarantine", "persistent", "credential", "k"]);
    let attention = &body(&broker.sent()[1])["data"];
    assert_eq!((&attention["item"], &attention["desk"]), (&"a/forward".into(), &"quarantine".into()));

    let action = amends::core::ActionId::forward("a");
    engine.operator().saga(saga.id()).resume(action, By::new("ann", "a test", "op-1")).await.unwrap();
    saga.outcome().await.unwrap();
    pass(MOMENT).await;
    assert_eq!(broker.words(), ["started", "needs-attention", "attention-ended", "completed"]);
    assert_eq!(pager.told.lock().unwrap().len(), 1);
    assert_eq!(waiting(&engine).await, 0);
}

#[tokio::test(start_paused = true)]
async fn what_is_acknowledged_bit_by_bit_while_more_is_under_way_is_removed_together() {
    let (store, broker) = (GatedStore::new(), Broker::new());
    broker.gate.forget_permits(Semaphore::MAX_PERMITS);
    let builder = builder(&store, &needs_a_person());
    let publisher = Arc::new(broker.clone());
    let engine = builder.publisher_of(OutboxKind::Notice, publisher).start().await.unwrap();
    for n in 0..40 {
        begin(&engine, &n.to_string()).await;
    }
    pass(MOMENT).await;
    assert_eq!(broker.sent().len(), 40, "all are under way");
    let acknowledge = async || {
        broker.gate.add_permits(1);
        for _ in 0..20 {
            tokio::task::yield_now().await; // and no time passes
        }
    };
    for _ in 0..39 {
        acknowledge().await;
    }
    assert_eq!(*store.removals.lock().unwrap(), [] as [usize; 0]);
    pass(Duration::from_millis(25)).await;
    assert_eq!(*store.removals.lock().unwrap(), [39]);
    acknowledge().await;
    assert_eq!(*store.removals.lock().unwrap(), [39, 1], "nothing is under way that one could wait for");
    pass(Duration::from_secs(5)).await;
    assert_eq!((broker.sent().len(), waiting(&engine).await), (40, 0), "and nothing came twice");
}

#[tokio::test(start_paused = true)]
async fn a_notice_that_was_cut_off_is_told_again_under_the_same_id() {
    let (store, pager) = (Arc::new(MemoryStore::new()), Pager::default());
    *pager.silent.lock().unwrap() = 1;
    let start = async |seed| {
        let ids = amends::ports::RandomIds::seeded(seed);
        let builder = builder(&store, &needs_a_person()).ids(Arc::new(ids));
        builder.notifier(Arc::new(pager.clone())).start().await.unwrap()
    };
    let first = start(1).await;
    begin(&first, "k").await;
    pass(Duration::from_secs(1)).await;
    first.abort().await;
    let second = start(2).await;
    pass(Duration::from_secs(1)).await;
    let told = pager.told.lock().unwrap().clone();
    assert_eq!(told.len(), 2);
    assert_eq!(told[0], told[1]);
    assert_eq!(waiting(&second).await, 0);
}

/// A publisher that is no `async fn`: it panics once, before there is a future.
struct Hasty(Broker, AtomicBool);

impl Publisher for Hasty {
    fn publish<'a, 'b, 'c>(
        &'a self,
        message: &'b OutboxMessage,
    ) -> Pin<Box<dyn Future<Output = Result<Published, PublishError>> + Send + 'c>>
    where
        'a: 'c,
        'b: 'c,
    {
        assert!(self.1.swap(true, Ordering::SeqCst), "the publisher has a bug");
        self.0.publish(message)
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_whose_publisher_panicked_before_it_began_comes_again() {
    let (store, broker) = (Arc::new(MemoryStore::new()), Broker::new());
    let publisher = Arc::new(Hasty(broker.clone(), AtomicBool::default()));
    let builder = builder(&store, &chain(&Log::default())).publisher(publisher).events("w");
    let engine = builder.start().await.unwrap();
    begin(&engine, "k").await;
    pass(Duration::from_secs(10)).await;
    assert_eq!(broker.words(), ["started", "completed"]);
    assert_eq!(waiting(&engine).await, 0);
}

#[tokio::test(start_paused = true)]
async fn an_ended_saga_says_how_it_ended_and_why() {
    let (store, broker) = (Arc::new(MemoryStore::new()), Broker::new());
    let log = Log::default();
    let waits = step("b", &log).after(&["a"]).runs(|_| async { std::future::pending().await });
    let definition = workflow(vec![step("a", &log), waits]);
    let engine =
        builder(&store, &definition).publisher(Arc::new(broker.clone())).events("w").start().await.unwrap();
    let saga = begin(&engine, "k").await;
    pass(MOMENT).await;
    engine.operator().saga(saga.id()).cancel(By::new("ann", "a test", "op-1")).await.unwrap();
    pass(Duration::from_secs(3_600)).await;
    let ended: Vec<Value> = broker.sent().iter().map(body).collect();
    let last = &ended.last().unwrap()["data"];
    assert_eq!((&last["outcome"], &last["reason"]), (&"compensated".into(), &"cancelled by ann".into()));
}
