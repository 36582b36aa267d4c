//! Commands: attempts that leave as messages, with the transition that journals them, and wait for their replies.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use amends::core::event::{FailureKind, Recorded};
use amends::core::machine::Attempted;
use amends::core::{ActionId, Json, Timestamp};
use amends::engine::Reply;
use amends::memory::MemoryStore;
use amends::operator::{Answer, By, OperateError};
use amends::ports::{
    OutboxKind, OutboxMessage, OutboxStore, PublishError, Published, Publisher, RandomIds, Store, SystemClock,
};
use amends::prelude::*;
use amends::{
    Breaker, DependencyLimits, Engine, EngineBuilder, Limits, Outcome, Outgoing, SagaHandle, Transmission,
};
use async_trait::async_trait;
use expect_test::expect;
use tokio::sync::Semaphore;

use crate::gate::GatedStore;
use crate::workflow::{failure, pass};

/// A service behind a broker: only queries call it from here.
#[derive(Clone)]
struct Charge {
    finds: Arc<Mutex<Finding<u64, String>>>,
}

impl Charge {
    fn new() -> Self {
        Self { finds: Arc::new(Mutex::new(Finding::Absent)) }
    }

    fn finds(&self, finding: Finding<u64, String>) {
        *self.finds.lock().unwrap() = finding;
    }
}

fn message(of: &Transmission, body: String) -> Outgoing {
    let headers = vec![
        ("request", of.request_id.to_string()),
        ("forward", of.forward_request_id.to_string()),
        ("attempt", of.attempt.to_string()),
        ("deadline", of.deadline.to_string()),
    ];
    Outgoing { subject: of.action.to_string().into(), headers, body }
}

impl Step for Charge {
    type Input = u64;
    type Output = u64;
    type Refusal = String;
    type Settle = ByQuery;

    fn contract(&self) -> Contract {
        Contract { dependency: Some("payments".into()), ..Contract::default() }
    }

    async fn run(&self, _: &StepContext, _: u64) -> Result<u64, StepError<String>> {
        panic!("a command is never run")
    }

    fn command(&self, of: &Transmission, cents: &u64) -> Result<Option<Outgoing>, Problem> {
        match cents {
            0 => Err(Problem::new("nothing", "there is nothing to charge")),
            cents => Ok(Some(message(of, cents.to_string()))),
        }
    }
}

impl Compensate for Charge {
    type UndoSettle = ByRepeating;

    async fn compensate(&self, _: &StepContext, _: u64, _: Forward<u64>) -> Result<Undo, CompensationError> {
        panic!("a command is never run")
    }

    fn undo_command(
        &self,
        of: &Transmission,
        cents: &u64,
        forward: &Forward<u64>,
    ) -> Result<Option<Outgoing>, Problem> {
        Ok(Some(message(of, format!("{cents} after {forward:?}"))))
    }
}

impl Reconcile for Charge {
    async fn reconcile(&self, _: &StepContext, _: u64) -> Result<Finding<u64, String>, QueryError> {
        Ok(self.finds.lock().unwrap().clone())
    }
}

/// Refuses everything.
struct Refuse;

impl Step for Refuse {
    type Input = u64;
    type Output = u64;
    type Refusal = String;
    type Settle = ByOperator;

    async fn run(&self, _: &StepContext, _: u64) -> Result<u64, StepError<String>> {
        Err(StepError::Refused("no".to_owned()))
    }
}

fn charging(charge: &Charge) -> Saga<u64, u64> {
    let (mut s, cents) = SagaBuilder::<u64>::new("charging", 1);
    let charged = s.step("charge", charge.clone(), cents);
    s.finish(charged).unwrap()
}

/// The `n`th process, each an hour after the one before it.
fn process<S: Store>(n: u64, store: &Arc<S>, saga: &Saga<u64, u64>) -> EngineBuilder {
    let starting_at = Timestamp::from_millis(1_796_055_120_000) + hours(n);
    Engine::builder(store.clone())
        .register(saga.clone())
        .clock(Arc::new(SystemClock::starting_at(starting_at)))
        .ids(Arc::new(RandomIds::seeded(n)))
}

async fn engine(store: &Arc<MemoryStore>, saga: &Saga<u64, u64>) -> Engine {
    process(1, store, saga).start().await.unwrap()
}

/// What stands in the outbox, for whoever publishes it.
async fn outbox(engine: &Engine, store: &impl OutboxStore) -> Vec<OutboxMessage> {
    store.claim_lanes(engine.incarnation()).await.unwrap();
    store.unpublished(engine.incarnation(), OutboxKind::Command, engine.now(), 1_000).await.unwrap()
}

fn charge() -> ActionId {
    ActionId::forward("charge")
}

async fn reply<O>(
    engine: &Engine,
    saga: &SagaHandle<O>,
    action: &ActionId,
    attempt: u32,
    answer: Attempted,
) -> Reply {
    engine.reply(saga.id(), action.request_id(saga.id()), Some(attempt), answer, "a broker").await.unwrap()
}

fn done() -> Attempted {
    Attempted::Succeeded(Recorded::Value(Json::parse("7").unwrap()))
}

#[tokio::test(start_paused = true)]
async fn a_command_stands_in_the_outbox_with_its_attempt_and_its_reply_settles_it() {
    let (store, payments) = (Arc::new(MemoryStore::new()), Charge::new());
    let saga = charging(&payments);
    let engine = engine(&store, &saga).await;
    let handle = engine.start(&saga, "k", 500).await.unwrap();
    let [message] = &outbox(&engine, &*store).await[..] else { panic!("one message") };
    assert_eq!((&*message.subject, message.body.as_str(), message.place.seq), ("charge/forward", "500", 1));
    let request = charge().request_id(handle.id()).to_string();
    assert!(message.headers.contains(&request) && message.headers.contains(r#""attempt":"1""#));
    assert_eq!(reply(&engine, &handle, &charge(), 1, done()).await, Reply::Taken);
    assert_eq!(handle.outcome().await.unwrap(), Outcome::Completed(7));
    assert_eq!(reply(&engine, &handle, &charge(), 1, done()).await, Reply::TakenBefore);
}

#[tokio::test(start_paused = true)]
async fn a_command_without_a_reply_is_unknown_after_its_timeout_and_asked_about() {
    let (store, payments) = (Arc::new(MemoryStore::new()), Charge::new());
    payments.finds(Finding::Applied(9));
    let saga = charging(&payments);
    let engine = engine(&store, &saga).await;
    let handle = engine.start(&saga, "k", 500).await.unwrap();
    pass(Duration::from_secs(29)).await;
    assert!(handle.view().await.unwrap().timeline().lines().all(|line| !line.contains("unknown")));
    assert_eq!(handle.outcome().await.unwrap(), Outcome::Completed(9));
    expect![[r#"
        +0.000s charging 1 started for k
        +0.000s charge started (attempt 1)
        +30.000s charge unknown (attempt 1, timeout): ask in 0.166s
        +30.167s charge asked about (query 1)
        +30.167s charge found applied (query 1)
        +30.167s completed
    "#]]
    .assert_eq(&handle.view().await.unwrap().timeline());
}

#[tokio::test(start_paused = true)]
async fn a_compensation_is_a_command_too_and_names_the_call_that_it_undoes() {
    let (store, payments) = (Arc::new(MemoryStore::new()), Charge::new());
    let (mut s, cents) = SagaBuilder::<u64>::new("charging", 1);
    let charged = s.step("charge", payments, cents);
    let (refused, s) = s.pivot("refuse", Refuse, charged);
    let saga = s.finish(refused).unwrap();
    let engine = engine(&store, &saga).await;
    let handle = engine.start(&saga, "k", 500).await.unwrap();
    reply(&engine, &handle, &charge(), 1, done()).await;
    pass(Duration::from_secs(1)).await;
    let messages = outbox(&engine, &*store).await;
    let undo = messages.iter().find(|message| &*message.subject == "charge/compensation").unwrap();
    assert_eq!(undo.body, "500 after Completed(7)");
    assert!(undo.headers.contains(&charge().request_id(handle.id()).to_string()), "{}", undo.headers);
    let undone = Attempted::Succeeded(Recorded::Value(Json::parse("\"Undone\"").unwrap()));
    reply(&engine, &handle, &ActionId::compensation("charge"), 1, undone).await;
    assert!(matches!(handle.outcome().await, Ok(Outcome::Compensated { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_command_that_was_accepted_is_settled_by_its_later_reply() {
    let (store, payments) = (Arc::new(MemoryStore::new()), Charge::new());
    payments.finds(Finding::InProgress);
    let saga = charging(&payments);
    let engine = engine(&store, &saga).await;
    let handle = engine.start(&saga, "k", 500).await.unwrap();
    reply(&engine, &handle, &charge(), 1, Attempted::Accepted { wait: None }).await;
    pass(Duration::from_secs(120)).await;
    assert_eq!(outbox(&engine, &*store).await.len(), 1, "it is asked about, and never sent again");
    reply(&engine, &handle, &charge(), 1, done()).await;
    assert_eq!(handle.outcome().await.unwrap(), Outcome::Completed(7));
}

/// Two hands of a participant had the same command: one said that nothing took effect, and the step goes on; what the other
/// one says of the same attempt comes after that.
#[tokio::test(start_paused = true)]
async fn a_second_word_that_an_attempt_had_no_effect_moves_nothing_of_the_next_one() {
    for second in [
        Attempted::Fenced { through: 1 },
        Attempted::Fenced { through: 2 },
        Attempted::Transient(failure(FailureKind::Transient, "busy again")),
        Attempted::Persistent(failure(FailureKind::Persistent, "forbidden")),
    ] {
        let (store, payments) = (Arc::new(MemoryStore::new()), Charge::new());
        let saga = charging(&payments);
        let engine = engine(&store, &saga).await;
        let handle = engine.start(&saga, "k", 500).await.unwrap();
        let busy = Attempted::Transient(failure(FailureKind::Transient, "busy"));
        reply(&engine, &handle, &charge(), 1, busy).await;
        // While it waits for its next attempt, and while that is under way.
        reply(&engine, &handle, &charge(), 1, second.clone()).await;
        pass(Duration::from_secs(5)).await;
        let again = Attempted::Persistent(failure(FailureKind::Persistent, "forbidden, too"));
        reply(&engine, &handle, &charge(), 1, again).await;
        let timeline = handle.view().await.unwrap().timeline();
        assert!(timeline.contains("charge started (attempt 2)"), "{second:?}: {timeline}");
        assert_eq!(
            timeline.matches("that was known: this transmission had no effect").count(),
            2,
            "{timeline}"
        );
        assert_eq!(engine.desk().await.unwrap(), [], "{timeline}");
        reply(&engine, &handle, &charge(), 2, done()).await;
        assert_eq!(handle.outcome().await.unwrap(), Outcome::Completed(7));
        // After the end as well.
        reply(&engine, &handle, &charge(), 1, second).await;
        pass(Duration::from_secs(5)).await;
        assert_eq!(engine.desk().await.unwrap(), []);
    }
}

#[tokio::test(start_paused = true)]
async fn the_next_process_asks_about_a_command_and_still_takes_its_reply() {
    let (store, payments) = (Arc::new(MemoryStore::new()), Charge::new());
    payments.finds(Finding::InProgress);
    let saga = charging(&payments);
    let first = engine(&store, &saga).await;
    let id = first.start(&saga, "k", 500).await.unwrap().id();
    first.abort().await;
    let next = process(2, &store, &saga).start().await.unwrap();
    let handle = next.find("charging", "k").await.unwrap().unwrap();
    assert_eq!(handle.id(), id);
    pass(Duration::from_secs(10)).await;
    assert_eq!(outbox(&next, &*store).await.len(), 1, "the message of before stands, and no other does");
    reply(&next, &handle, &charge(), 1, done()).await;
    assert!(matches!(handle.outcome().await, Ok(Outcome::Completed(_))));
}

#[tokio::test(start_paused = true)]
async fn a_command_that_cannot_be_written_is_quarantined_and_nothing_leaves() {
    let (store, payments) = (Arc::new(MemoryStore::new()), Charge::new());
    let saga = charging(&payments);
    let engine = engine(&store, &saga).await;
    let handle = engine.start(&saga, "k", 0).await.unwrap();
    handle.settled().await.unwrap();
    let view = handle.view().await.unwrap();
    assert_eq!(view.desk.len(), 1);
    assert!(view.timeline().contains("charge (input): quarantined (input)"), "{}", view.timeline());
    assert_eq!(outbox(&engine, &*store).await, []);
}

#[tokio::test(start_paused = true)]
async fn commands_that_wait_for_their_replies_hold_no_task() {
    let (store, payments) = (Arc::new(MemoryStore::new()), Charge::new());
    let saga = charging(&payments);
    let engine = engine(&store, &saga).await;
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    for n in 0..100 {
        engine.start(&saga, format!("k{n}"), 500).await.unwrap();
    }
    assert_eq!(outbox(&engine, &*store).await.len(), 100);
    assert_eq!(tasks(), before);
}

#[tokio::test(start_paused = true)]
async fn a_command_keeps_its_permit_until_its_reply() {
    let (store, payments) = (Arc::new(MemoryStore::new()), Charge::new());
    let saga = charging(&payments);
    let one_at_a_time = DependencyLimits { concurrency_max: Some(1), ..DependencyLimits::unlimited() };
    let policies = Policies::new().dependency("payments", one_at_a_time);
    let engine = process(1, &store, &saga).policies(policies).start().await.unwrap();
    let one = engine.start(&saga, "one", 500).await.unwrap();
    let two = engine.start(&saga, "two", 500).await.unwrap();
    assert_eq!(outbox(&engine, &*store).await.len(), 1);
    assert!(!two.view().await.unwrap().deferrals.is_empty());
    reply(&engine, &one, &charge(), 1, done()).await;
    one.outcome().await.unwrap();
    pass(Duration::from_millis(10)).await;
    assert_eq!(outbox(&engine, &*store).await.len(), 2);
    reply(&engine, &two, &charge(), 1, done()).await;
    two.outcome().await.unwrap();
}

/// Somebody else's lock on the row of one saga keeps its replies from being decided, and nobody from what they waited for.
#[tokio::test(start_paused = true)]
async fn a_command_whose_saga_is_held_up_gives_its_permit_back_with_its_reply_or_when_its_time_is_over() {
    for is_answered in [true, false] {
        let (store, payments) = (GatedStore::new(), Charge::new());
        let (mut s, cents) = SagaBuilder::<u64>::new("charging", 1);
        s.read_fn("look", cents, |cx, cents: u64| {
            let clock = cx.clock().clone();
            async move {
                clock.sleep_until(clock.now() + Duration::from_secs(1)).await;
                Ok(cents)
            }
        });
        let charged = s.step("charge", payments.clone(), cents);
        let saga = s.finish(charged).unwrap();
        let one_at_a_time = DependencyLimits { concurrency_max: Some(1), ..DependencyLimits::unlimited() };
        let policies = Policies::new().dependency("payments", one_at_a_time);
        let engine = process(1, &store, &saga).policies(policies).start().await.unwrap();
        let one = engine.start(&saga, "one", 500).await.unwrap();
        store.held_sagas.lock().unwrap().insert(one.id());
        let two = engine.start(&saga, "two", 500).await.unwrap();
        pass(Duration::from_secs(2)).await;
        assert_eq!(outbox(&engine, &store.inner).await.len(), 1);
        let replied = is_answered.then(|| {
            let (engine, one) = (engine.clone(), one.clone());
            tokio::spawn(async move { reply(&engine, &one, &charge(), 1, done()).await })
        });
        pass(Duration::from_secs(if is_answered { 1 } else { 40 })).await;
        assert_eq!(outbox(&engine, &store.inner).await.len(), 2, "answered: {is_answered}");
        reply(&engine, &two, &charge(), 1, done()).await;
        two.outcome().await.unwrap();

        store.held_sagas.lock().unwrap().clear();
        match replied {
            Some(replied) => assert_eq!(replied.await.unwrap(), Reply::Taken),
            None => drop(reply(&engine, &one, &charge(), 1, done()).await),
        }
        assert_eq!(one.outcome().await.unwrap(), Outcome::Completed(7));
    }
}

#[tokio::test(start_paused = true)]
async fn replies_that_fail_open_the_breaker_of_their_dependency() {
    let (store, payments) = (Arc::new(MemoryStore::new()), Charge::new());
    let saga = charging(&payments);
    let breaker = Breaker { calls_min: 3, open_for: Duration::from_secs(50), ..Breaker::default() };
    let limits = DependencyLimits { breaker: Some(breaker), ..DependencyLimits::unlimited() };
    let policies = Policies::new().dependency("payments", limits);
    let engine = process(1, &store, &saga).policies(policies).start().await.unwrap();
    for n in 0..3 {
        let handle = engine.start(&saga, format!("k{n}"), 500).await.unwrap();
        let busy = Attempted::Transient(failure(FailureKind::Transient, "busy"));
        reply(&engine, &handle, &charge(), 1, busy).await;
    }
    pass(Duration::from_millis(1)).await;
    let waits = engine.start(&saga, "waits", 500).await.unwrap();
    pass(Duration::from_millis(1)).await;
    let deferrals = waits.view().await.unwrap().deferrals;
    assert!(deferrals[0].to_string().contains("breaker open"), "{}", deferrals[0]);
}

/// A broker that acknowledges as many messages as it has permits for.
struct Broker(Semaphore);

#[async_trait]
impl Publisher for Broker {
    async fn publish(&self, _: &OutboxMessage) -> Result<Published, PublishError> {
        self.0.acquire().await.expect("the permits are never taken away").forget();
        Ok(Published::default())
    }
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_command_begins_with_its_acknowledgement() {
    let (store, payments, broker) = (Arc::new(MemoryStore::new()), Charge::new(), Broker(Semaphore::new(0)));
    payments.finds(Finding::Applied(9));
    let (saga, broker) = (charging(&payments), Arc::new(broker));
    let limits = Limits { publish_within: Duration::from_secs(60), ..Limits::default() };
    let engine = process(1, &store, &saga).limits(limits).publisher(broker.clone()).start().await.unwrap();
    let handle = engine.start(&saga, "k", 500).await.unwrap();
    pass(Duration::from_secs(20)).await;
    broker.0.add_permits(1);
    handle.outcome().await.unwrap();
    expect![[r#"
        +0.000s charging 1 started for k
        +0.000s charge started (attempt 1)
        +50.000s charge unknown (attempt 1, timeout): ask in 0.166s
        +50.167s charge asked about (query 1)
        +50.167s charge found applied (query 1)
        +50.167s completed
    "#]]
    .assert_eq(&handle.view().await.unwrap().timeline());
}

/// A broker that takes nothing.
struct Refusing;

#[async_trait]
impl Publisher for Refusing {
    async fn publish(&self, _: &OutboxMessage) -> Result<Published, PublishError> {
        Err(PublishError::Refused("too large".to_owned()))
    }
}

#[tokio::test(start_paused = true)]
async fn a_command_that_is_refused_for_good_is_let_go_only_once_its_saga_is_over() {
    let (store, payments) = (Arc::new(MemoryStore::new()), Charge::new());
    payments.finds(Finding::Refused("closed out".to_owned()));
    let saga = charging(&payments);
    let engine = process(1, &store, &saga).publisher(Arc::new(Refusing)).start().await.unwrap();
    let handle = engine.start(&saga, "k", 500).await.unwrap();
    pass(Duration::from_secs(1)).await;
    let command = engine.outbox().await.unwrap().refused[0].message.place;
    let let_go = async || engine.operator().let_go(command, By::new("ann", "it is too large", "op-1")).await;
    let refused = let_go().await;
    let told = refused.as_ref().unwrap_err().to_string();
    assert!(
        matches!(refused, Err(OperateError::Refused(_))) && told.contains("decide about its action"),
        "{told}"
    );
    assert_eq!(engine.outbox().await.unwrap().refused.len(), 1, "it is tried again");

    // Its time runs out, it is asked about, and the participant says that it is closed.
    assert!(matches!(handle.outcome().await, Ok(Outcome::Compensated { .. })));
    let before = handle.view().await.unwrap().timeline();
    assert_eq!(let_go().await, Ok(Answer::Accepted), "it could only arrive too late");
    assert_eq!(engine.outbox().await.unwrap().counts, []);
    assert_eq!(handle.view().await.unwrap().timeline(), before, "the saga does not change");
}

#[tokio::test(start_paused = true)]
async fn messages_that_nobody_publishes_are_named() {
    let (store, payments) = (Arc::new(MemoryStore::new()), Charge::new());
    let saga = charging(&payments);
    let engine = engine(&store, &saga).await;
    engine.start(&saga, "k", 500).await.unwrap();
    let view = engine.outbox().await.unwrap();
    assert_eq!(view.troubles[0].error, "nobody publishes commands here");
}

/// Archives documents by message; safe to ask again.
struct Archive;

impl Step for Archive {
    type Input = String;
    type Output = u64;
    type Refusal = Never;
    type Settle = ByRepeating;

    async fn run(&self, _: &StepContext, _: String) -> Result<u64, StepError<Never>> {
        panic!("a command is never run")
    }

    fn command(&self, of: &Transmission, document: &String) -> Result<Option<Outgoing>, Problem> {
        Ok(Some(message(of, document.repeat(900))))
    }
}

#[tokio::test(start_paused = true)]
async fn a_repeated_command_is_unknown_after_its_own_timeout_whatever_else_happens() {
    let store = Arc::new(MemoryStore::new());
    let (s, document) = SagaBuilder::<String>::new("archive", 1);
    let (archived, s) = s.pivot("charge", Archive, document);
    let saga = s.finish(archived).unwrap();
    let engine = Engine::builder(store.clone()).register(saga.clone()).start().await.unwrap();
    let handle = engine.start(&saga, "k", "x".to_owned()).await.unwrap();
    pass(Duration::from_secs(40)).await;
    let messages = outbox(&engine, &*store).await;
    assert_eq!(messages.len(), 2, "the repeat is under way");
    assert_ne!(messages[0].id, messages[1].id);
    // Something that changes nothing has the saga looked at.
    reply(&engine, &handle, &charge(), 1, Attempted::Unknown(failure(FailureKind::Unknown, "lost"))).await;
    pass(Duration::from_secs(25)).await;
    assert_eq!(outbox(&engine, &*store).await.len(), 3, "the time of the repeat was over");
    reply(&engine, &handle, &charge(), 3, done()).await;
    assert_eq!(handle.outcome().await.unwrap(), Outcome::Completed(7));
}

#[tokio::test(start_paused = true)]
async fn commands_that_do_not_fit_into_one_transition_leave_with_the_next() {
    let store = Arc::new(MemoryStore::new());
    let (s, document) = SagaBuilder::<String>::new("archive", 1);
    let (first, mut s) = s.pivot("first", Archive, document);
    for name in ["a", "b", "c", "d", "e", "f"] {
        s.retriable(name, Archive, document.after(first));
    }
    let last = s.retriable("last", Archive, document.after(first));
    let saga = s.finish(last).unwrap();
    let engine = Engine::builder(store.clone()).register(saga.clone()).start().await.unwrap();
    let handle = engine.start(&saga, "k", "x".repeat(1_000)).await.unwrap();
    reply(&engine, &handle, &ActionId::forward("first"), 1, done()).await;
    pass(Duration::from_millis(10)).await;
    let messages = outbox(&engine, &*store).await;
    assert_eq!(messages.len(), 8);
    let mut rows: Vec<u64> = messages.iter().map(|message| message.place.seq).collect();
    rows.dedup();
    assert_eq!(rows.len(), 4, "the first, and three for seven of 900 kB: {rows:?}");
    for name in ["a", "b", "c", "d", "e", "f", "last"] {
        reply(&engine, &handle, &ActionId::forward(name), 1, done()).await;
    }
    assert_eq!(handle.outcome().await.unwrap(), Outcome::Completed(7));
}

#[tokio::test(start_paused = true)]
async fn a_command_that_no_outbox_takes_is_quarantined() {
    let store = Arc::new(MemoryStore::new());
    let (s, document) = SagaBuilder::<String>::new("archive", 1);
    let (archived, s) = s.pivot("charge", Archive, document);
    let saga = s.finish(archived).unwrap();
    let engine = Engine::builder(store.clone()).register(saga.clone()).start().await.unwrap();
    let handle = engine.start(&saga, "k", "x".repeat(5_000)).await.unwrap();
    handle.settled().await.unwrap();
    assert!(handle.view().await.unwrap().timeline().contains("charge (input): quarantined (input)"));
    assert_eq!(outbox(&engine, &*store).await, []);
}
