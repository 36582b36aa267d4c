//! G29: a cancel against the completion that happens in the same moment.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use amends::memory::MemoryStore;
use amends::prelude::*;
use amends::{Engine, Outcome};
use amends_core::OperationId;
use amends_core::event::Answer;
use amends_core::machine::Operation;
use amends_core::state::Phase;
use amends_testkit::{CallPlan, Ledger, QueryPlan, World, WorldSaga, expect};
use tokio::sync::Notify;

use super::kit::{Part, ms, request, slow, told_once, undo_request};

/// `a → b`, ten milliseconds each.
struct Two {
    world: World,
    ledger: Ledger,
    a: Part,
    b: Part,
    saga: WorldSaga<u32>,
}

fn two(seed: u64) -> Two {
    let mut world = World::seeded(seed);
    let ledger = Ledger::new(&mut world);
    let (a, b) = (slow(&ledger, "a", ms(10)), slow(&ledger, "b", ms(10)));
    let (mut s, input) = SagaBuilder::<u32>::new("two", 1);
    let first = s.step("a", a.step::<ByQuery, ByRepeating>(), input);
    let second = s.step("b", b.step::<ByQuery, ByRepeating>(), first);
    let saga = s.finish(second).expect("the definition is sound");
    world.register(&saga);
    let saga = world.start(&saga, "key", 1);
    Two { world, ledger, a, b, saga }
}

impl Two {
    /// How often `a` and `b` took effect and were undone.
    fn effects(&self) -> [(usize, usize); 2] {
        ["a", "b"].map(|step| {
            (
                self.ledger.effects(request(&self.saga, step)),
                self.ledger.effects(undo_request(&self.saga, step)),
            )
        })
    }
}

/// The cancel comes at any moment of the run, and in half of the runs in the very instant in which `b` succeeds
/// or a microsecond beside it.
#[test]
fn g29_a_cancel_against_the_completion_is_answered_as_it_ends_a_thousand_times() {
    let mut ends = BTreeMap::new();
    for seed in 0..1_000 {
        let mut two = two(seed);
        let mut chance = fastrand::Rng::with_seed(seed);
        let at = if seed % 2 == 0 { chance.u64(0..25_000) } else { chance.u64(19_999..=20_001) };
        two.world.run_for(Duration::from_micros(at));
        let answer = two.world.cancel(&two.saga);
        two.world.run_until_settled();
        let phase = two.saga.view().phase;
        match (&answer, phase) {
            (Ok(Answer::TooLate), Phase::Completed) => assert_eq!(two.effects(), [(1, 0); 2]),
            (Ok(Answer::Accepted), Phase::Compensated) => {
                let undone = two.effects();
                assert!(undone.iter().all(|(done, undone)| done == undone), "{undone:?}");
                assert!(two.a.in_place().is_empty() && two.b.in_place().is_empty());
            }
            other => panic!("{other:?} after {at} µs\n{}", two.saga.view().timeline()),
        }
        *ends.entry((phase.word(), two.effects().map(|(done, _)| done))).or_insert(0) += 1;
    }
    assert!(
        ends.values().sum::<u32>() == 1_000 && ends.len() >= 3,
        "every way it can end was seen: {ends:?}"
    );
    let both_undone = ends.get(&(Phase::Compensated.word(), [1, 1])).copied().unwrap_or(0);
    assert!(both_undone > 0, "also the one in which both undos run: {ends:?}");
}

/// `b` of the threaded race: it waits until the test lets it go.
struct Gate(Arc<Mutex<Arc<Notify>>>, Arc<Notify>);

impl Step for Gate {
    type Input = u32;
    type Output = u32;
    type Refusal = String;
    type Settle = ByOperator;

    async fn run(&self, _: &StepContext, input: u32) -> Result<u32, StepError<String>> {
        let open = self.0.lock().expect("no test panics while it holds this").clone();
        self.1.notify_one();
        open.notified().await;
        Ok(input)
    }
}

impl Compensate for Gate {
    type UndoSettle = ByOperator;

    async fn compensate(&self, _: &StepContext, _: u32, _: Forward<u32>) -> Result<Undo, CompensationError> {
        Ok(Undo::Undone)
    }
}

/// The same with real threads: what lets `b` answer and who cancels run on two of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn g29_a_cancel_on_another_thread_than_the_completion_is_answered_as_it_ends() {
    let (open, reached) = (Arc::new(Mutex::new(Arc::new(Notify::new()))), Arc::new(Notify::new()));
    let (mut s, input) = SagaBuilder::<u32>::new("race", 1);
    let done = s.step("b", Gate(open.clone(), reached.clone()), input);
    let saga = s.finish(done).expect("the definition is sound");
    let engine = Engine::builder(Arc::new(MemoryStore::new())).register(saga.clone());
    let engine = engine.start().await.expect("a store in memory lets it in");
    for n in 0..1_000 {
        let gate = Arc::new(Notify::new());
        *open.lock().expect("nothing panics while it holds this") = gate.clone();
        let started = engine.start(&saga, format!("key-{n}"), n).await.expect("it starts");
        reached.notified().await;
        let (canceller, yields) = (started.clone(), n % 7);
        let cancelling = tokio::spawn(async move {
            for _ in 0..yields {
                tokio::task::yield_now().await;
            }
            let (actor, reason) = ("operator".to_owned(), "the test says so".to_owned());
            canceller.cancel(Operation { id: OperationId::new("op"), actor, reason }).await
        });
        gate.notify_one();
        let answer = cancelling.await.expect("it does not panic").expect("it is answered");
        let outcome = started.outcome().await.expect("it ends");
        let matches = match outcome {
            Outcome::Completed(value) => answer == Answer::TooLate && value == n,
            Outcome::Compensated { .. } => answer == Answer::Accepted,
            Outcome::Closed => false,
        };
        assert!(matches, "run {n}: {answer:?}");
        let view = started.view().await.expect("it can be read");
        assert_eq!(view.compensations().len(), usize::from(answer == Answer::Accepted));
    }
}

#[test]
fn g29_a_cancel_while_nothing_but_a_timer_is_pending_converges_by_itself() {
    let mut two = two(1);
    two.b.on_call().always(CallPlan::Transient);
    two.world.run_for(ms(25));
    told_once(&two.saga, "b failed (attempt 1, transient unavailable): retry in");
    assert_eq!(two.world.cancel(&two.saga), Ok(Answer::Accepted));
    two.world.run_until_settled();
    two.saga.timeline(expect![[r#"
        +0.000s two 1 started for key
        +0.000s a started (attempt 1)
        +0.010s a succeeded
        +0.010s b started (attempt 1)
        +0.020s b failed (attempt 1, transient unavailable): retry in 0.177s
        +0.025s turned back (cancelled by operator)
        +0.025s operator asked to cancel: accepted
        +0.025s compensation of a started (attempt 1)
        +0.035s compensation of a succeeded
        +0.035s compensated
    "#]]);
    assert_eq!((two.effects(), two.b.on_call().calls()), ([(1, 1), (0, 0)], 1));
}

#[test]
fn g29_a_second_cancel_and_one_during_the_compensation_change_nothing() {
    let mut two = two(1);
    two.world.run_for(ms(15));
    assert_eq!(two.world.cancel(&two.saga), Ok(Answer::Accepted));
    assert_eq!(two.world.cancel(&two.saga), Ok(Answer::Already));
    two.world.run_for(ms(10));
    told_once(&two.saga, "compensation of b started");
    assert_eq!(two.world.cancel(&two.saga), Ok(Answer::Already));
    two.world.run_until_settled();
    assert_eq!(two.world.cancel(&two.saga), Ok(Answer::Already));
    two.saga.assert_compensated();
    assert_eq!(two.effects(), [(1, 1); 2]);
}

#[test]
fn g29_a_cancel_while_the_outcome_is_unknown_waits_for_it_and_undoes_what_was() {
    let mut two = two(1);
    two.b.on_call().next(CallPlan::LoseReply);
    two.b.on_query().next(QueryPlan::Fail);
    two.world.run_for(ms(25));
    assert_eq!(two.world.cancel(&two.saga), Ok(Answer::Accepted));
    two.world.run_until_settled();
    two.saga.assert_compensated();
    assert_eq!(
        (two.effects(), two.saga.compensations()),
        ([(1, 1); 2], vec!["b".to_owned(), "a".to_owned()])
    );
}
