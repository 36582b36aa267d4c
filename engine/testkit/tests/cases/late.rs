//! G10 and G16: what is said of a saga after it has ended. News is kept, moves nothing by itself, and what it
//! contradicts is found out: an effect that came after all is undone once.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use amends::engine::{OperateError, Reply};
use amends::operator::{By, CompensationDemand};
use amends::prelude::*;
use amends_core::agenda::Desk;
use amends_core::event::{Answer, Failure, FailureKind, Recorded};
use amends_core::machine::Attempted;
use amends_core::state::{Effect, Phase, Stage};
use amends_core::{ActionId, Json, SagaId};
use amends_testkit::{Ledger, Side, World, WorldSaga, expect, explore};

use super::kit::{Part, part, request, told_once, undo_request};

/// A service that looks at nothing: its request is thirty seconds on its way, takes effect whatever was said of it
/// meanwhile, and nobody hears of it.
struct Careless {
    name: Arc<str>,
    ledger: Ledger,
    charged: Arc<AtomicBool>,
}

impl Step for Careless {
    type Input = u32;
    type Output = u32;
    type Refusal = String;
    type Settle = ByQuery;

    fn contract(&self) -> Contract {
        Contract { settle_window: Some(seconds(1)), ..Contract::default() }
    }

    async fn run(&self, cx: &StepContext, _: u32) -> Result<u32, StepError<String>> {
        self.ledger.called(&self.name, cx);
        let (name, ledger, charged, late) =
            (self.name.clone(), self.ledger.clone(), self.charged.clone(), cx.clone());
        self.ledger.later(seconds(30), move || {
            charged.store(true, Ordering::SeqCst);
            ledger.took_effect(&name, &late);
        });
        pending().await
    }
}

impl Reconcile for Careless {
    async fn reconcile(&self, cx: &StepContext, input: u32) -> Result<Finding<u32, String>, QueryError> {
        self.ledger.catch_up();
        self.ledger.queried(&self.name, cx);
        Ok(if self.charged.load(Ordering::SeqCst) { Finding::Applied(input) } else { Finding::Absent })
    }
}

impl Compensate for Careless {
    type UndoSettle = ByRepeating;

    async fn compensate(&self, cx: &StepContext, _: u32, _: Forward<u32>) -> Result<Undo, CompensationError> {
        self.ledger.called(&self.name, cx);
        if self.charged.swap(false, Ordering::SeqCst) {
            self.ledger.took_effect(&self.name, cx); // A repeat finds it done.
        }
        Ok(Undo::Undone)
    }
}

/// One attempt, and the saga turns back.
fn once() -> Policies {
    let once = RetryPolicy {
        name: "once".to_owned(),
        max_attempts: 1,
        on_exhausted: Exhausted::TurnBack,
        ..RetryPolicy::default()
    };
    Policies::new().retry("once", once)
}

/// `charge → end`, which gave up at five seconds, found nothing, and turned back.
struct GivenUp {
    world: World,
    ledger: Ledger,
    charged: Arc<AtomicBool>,
    saga: WorldSaga<u32>,
}

fn given_up() -> GivenUp {
    let mut world = World::new();
    let ledger = Ledger::new(&mut world);
    let charged = Arc::new(AtomicBool::new(false));
    let careless = Careless { name: "gateway".into(), ledger: ledger.clone(), charged: charged.clone() };
    let end = part(&ledger, "end");
    world.policies(once());
    let (mut s, input) = SagaBuilder::<u32>::new("order", 1);
    let charge = s.step("charge", careless.timeout(seconds(5)).retry("once"), input);
    let (done, s) = s.pivot("end", end.step::<ByQuery, ByOperator>(), charge);
    let saga = s.finish(done).expect("the definition is sound");
    world.register(&saga);
    let saga = world.start(&saga, "key", 7);
    world.run_for(seconds(20));
    saga.assert_compensated();
    assert!(saga.compensations().is_empty(), "nothing was found to undo");
    GivenUp { world, ledger, charged, saga }
}

fn charged(attempt: Option<u32>) -> (Option<u32>, Attempted) {
    (attempt, Attempted::Succeeded(Recorded::Value(Json::parse("7").expect("it is JSON"))))
}

impl GivenUp {
    /// The charge takes effect at thirty seconds, and one second later somebody says so.
    fn charged_after_all(&mut self) {
        let passed = self.world.now().since(self.saga.view().started_at);
        self.world.run_for(seconds(31).saturating_sub(passed));
        self.ledger.catch_up();
        assert!(self.charged.load(Ordering::SeqCst));
        self.reply(charged(Some(1))); // Again, if the process dies of it.
    }

    fn reply(&mut self, (attempt, answer): (Option<u32>, Attempted)) -> Reply {
        let of = request(&self.saga, "charge");
        self.world.reply(&self.saga, of, attempt, answer).expect("it is taken")
    }

    /// One charge, one undo, and the saga is what it was.
    #[track_caller]
    fn undone_once(&self) {
        self.saga.assert_compensated();
        let (charge, undo) = (request(&self.saga, "charge"), undo_request(&self.saga, "charge"));
        assert_eq!((self.ledger.effects(charge), self.ledger.effects(undo)), (1, 1));
        assert_eq!((self.ledger.undone(charge), self.ledger.calls(charge)), (1, 1));
        assert!(!self.charged.load(Ordering::SeqCst));
        let view = self.saga.view();
        assert_eq!((view.state().open_actions(view.plan()), view.desk.len()), (0, 0));
    }
}

#[test]
fn g10_a_charge_that_comes_after_the_end_is_undone_exactly_once() {
    let mut late = given_up();
    late.charged_after_all();
    late.world.run_until_settled();
    late.undone_once();
    late.saga.timeline(expect![[r#"
        +0.000s order 1 started for key
        +0.000s charge started (attempt 1)
        +5.000s charge unknown (attempt 1, timeout): ask in 0.690s
        +5.691s charge asked about (query 1)
        +5.691s charge found absent (query 1): ask in 1.794s
        +7.486s charge asked about (query 2, fencing attempt 1)
        +7.486s charge found absent (query 2): turn back (attempts-spent)
        +7.486s turned back (exhausted: charge)
        +7.486s compensated
        +31.000s taken up again
        +31.000s late news of charge (attempt 1): applied, which contradicts what is recorded: it took effect, and that is not what is recorded
        +31.000s charge asked about (query 3, fencing attempt 1)
        +31.000s charge found applied (query 3): still open
        +31.000s charge disputed no more: found applied
        +31.000s compensation of charge started (attempt 1)
        +31.000s compensation of charge succeeded
    "#]]);
}

/// `first → charge → end`, with the same careless service: `first` was undone before the charge took effect.
fn charged_below_what_is_undone(world: &mut World) {
    let ledger = Ledger::new(world);
    let (first, end) = (part(&ledger, "first"), part(&ledger, "end"));
    let careless = Careless { name: "gateway".into(), ledger: ledger.clone(), charged: Arc::default() };
    world.policies(once());
    let (mut s, input) = SagaBuilder::<u32>::new("order", 1);
    let began = s.step("first", first.step::<ByQuery, ByRepeating>(), input);
    let charge = s.step("charge", careless.timeout(seconds(5)).retry("once"), began);
    let (done, s) = s.pivot("end", end.step::<ByQuery, ByOperator>(), charge);
    let saga = s.finish(done).expect("the definition is sound");
    world.register(&saga);
    let saga = world.start(&saga, "key", 7);
    world.run_for(seconds(40));
    ledger.catch_up();
    let (attempt, answer) = charged(Some(1));
    world.reply(&saga, request(&saga, "charge"), attempt, answer).expect("it is taken");
}

#[test]
fn g10_what_took_effect_after_what_it_depends_on_was_undone_breaks_no_law() {
    explore(charged_below_what_is_undone).every_compensation_repeats().hold();
}

#[test]
fn g10_news_that_comes_again_adds_nothing() {
    let mut late = given_up();
    late.charged_after_all();
    assert_eq!(late.reply(charged(Some(1))), Reply::TakenBefore);
    late.world.run_until_settled();
    assert_eq!(late.reply(charged(Some(1))), Reply::TakenBefore);
    assert_eq!(late.reply(charged(None)), Reply::Taken, "somebody else says the same");
    late.world.run_until_settled();
    late.undone_once();
    told_once(&late.saga, "it repeats what is recorded");
}

/// The process dies on either side of each commit that the news leads to, and in between.
#[test]
fn g10_a_process_that_dies_between_the_news_and_its_commit_undoes_it_exactly_once() {
    let commits = {
        let mut late = given_up();
        let before = late.world.commits();
        late.charged_after_all();
        late.world.run_until_settled();
        late.world.commits() - before
    };
    assert!(commits >= 3, "the news, the query, the undo: {commits} commits");
    for nth in 1..=commits {
        for side in [Side::Before, Side::After] {
            let mut late = given_up();
            late.world.crash_at_commit(late.world.commits() + nth, side);
            late.charged_after_all();
            late.world.run_until_settled();
            assert!(late.world.crashed(), "at commit {nth}, {side:?}");
            late.undone_once();
        }
    }
}

#[test]
fn g10_a_restart_before_the_news_changes_nothing() {
    let mut late = given_up();
    late.world.crash();
    late.charged_after_all();
    late.world.run_until_settled();
    late.undone_once();
}

/// A compensation in doubt found nothing to undo, and then the charge came after all: what undid nothing is spent, so
/// a person is told, and requests another.
#[test]
fn g10_a_charge_that_meets_a_spent_compensation_is_flagged_and_undone_by_two_people() {
    let mut world = World::new();
    let ledger = Ledger::new(&mut world);
    let gateway = part(&ledger, "gateway");
    let (mut s, input) = SagaBuilder::<u32>::new("order", 1);
    let charge = s.step("charge", InDoubtStep(gateway.clone()).timeout(seconds(5)), input);
    let end = part(&ledger, "end");
    let (done, s) = s.pivot("end", end.step::<ByQuery, ByOperator>(), charge);
    let saga = s.finish(done).expect("the definition is sound");
    world.register(&saga);
    let saga = world.start(&saga, "key", 7);
    world.run_for(seconds(8));
    assert_eq!(world.cancel(&saga), Ok(Answer::Accepted));
    world.run_until_settled();
    saga.assert_compensated();
    let (attempt, answer) = charged(Some(1));
    let of = request(&saga, "charge");
    assert_eq!(world.reply(&saga, of, attempt, answer), Ok(Reply::Taken));
    world.run_until_settled();
    saga.assert_on_desk(Desk::Discrepancy, "charge", "contradiction");

    let charge = ActionId::forward("charge");
    let seen = |world: &mut World| {
        world.ask(&saga, |door, by| {
            let charge = charge.clone();
            async move { door.accept(charge, Some(Json::parse("7").expect("JSON")), "their statement", by).await }
        })
    };
    assert_eq!(seen(&mut world), Ok(Answer::Accepted));
    let demand = CompensationDemand::new("charge", uuid::Uuid::from_u128(1), "late-charge");
    let ask = demand.clone();
    let requested = world.ask(&saga, move |door, by| {
        let demand = ask.clone();
        async move { door.compensate(demand, by).await }
    });
    assert_eq!(requested, Ok(Answer::Pending));
    let action = demand.action();
    let manual = action.request_id(SagaId::from(&saga));
    assert_eq!(ledger.calls(manual), 0, "nobody approved it");
    let bob = By::new("bob", "seen on their statement", "approval");
    let approved = world.ask_as(&saga, bob, move |door, by| {
        let action = action.clone();
        async move { door.approve(action, by).await }
    });
    assert_eq!(approved, Ok(Answer::Accepted));
    world.run_until_settled();
    assert_eq!(ledger.calls(manual), 1);
    saga.assert_compensated();
}

/// Its request is lost, and its compensation may settle it.
struct InDoubtStep(Part);

impl Step for InDoubtStep {
    type Input = u32;
    type Output = u32;
    type Refusal = String;
    type Settle = ByOperator;

    async fn run(&self, _: &StepContext, _: u32) -> Result<u32, StepError<String>> {
        pending().await
    }
}

impl Compensate for InDoubtStep {
    type UndoSettle = ByRepeating;

    const IN_DOUBT: InDoubt = InDoubt::Fence;

    async fn compensate(&self, cx: &StepContext, _: u32, _: Forward<u32>) -> Result<Undo, CompensationError> {
        self.0.undo(cx).await
    }
}

/// `charge`, then `ship`, both in place for good; or, with `refused`, the shop says no and the charge is undone.
fn shop(refused: bool) -> (World, Ledger, [Part; 2], WorldSaga<u32>) {
    let mut world = World::new();
    let ledger = Ledger::new(&mut world);
    let [charge, ship] = ["charge", "ship"].map(|name| part(&ledger, name));
    if refused {
        ship.on_call().always(amends_testkit::CallPlan::Refuse("sold out".to_owned()));
    }
    let (mut s, input) = SagaBuilder::<u32>::new("order", 1);
    let charged = s.step("charge", charge.step::<ByOperator, ByRepeating>(), input);
    let shipped = s.step("ship", ship.step::<ByQuery, ByRepeating>(), charged);
    let saga = s.finish(shipped).expect("the definition is sound");
    world.register(&saga);
    let saga = world.start(&saga, "key", 7);
    world.run_until_settled();
    world.run_for(Duration::from_secs(2 * 3_600));
    (world, ledger, [charge, ship], saga)
}

#[test]
fn g16_a_late_paid_of_a_refunded_order_is_stored_once_and_moves_nothing() {
    let (mut world, ledger, [charge, ship], saga) = shop(true);
    saga.assert_compensated();
    let (calls, of) = ((charge.on_call().calls(), ship.on_call().calls()), request(&saga, "charge"));
    for expected in [Reply::Taken, Reply::TakenBefore] {
        let (attempt, answer) = charged(Some(1));
        assert_eq!(world.reply(&saga, of, attempt, answer), Ok(expected));
        world.run_until_settled();
    }
    saga.assert_compensated();
    assert_eq!((charge.on_call().calls(), ship.on_call().calls()), calls);
    assert_eq!((ledger.effects(of), ledger.undone(of)), (1, 1));
    told_once(&saga, "it repeats what is recorded");
    assert_eq!(saga.view().desk, []);
}

fn failed() -> Attempted {
    Attempted::Persistent(Failure {
        kind: FailureKind::Persistent,
        code: "payment-failed".to_owned(),
        message: String::new(),
        rule: "webhook".to_owned(),
        classifier: "webhooks/1".to_owned(),
        hint: None,
    })
}

#[test]
fn g16_a_late_failed_of_a_completed_order_raises_one_discrepancy_that_a_person_closes() {
    let (mut world, ledger, [charge, ship], saga) = shop(false);
    saga.assert_completed();
    let (calls, of) = ((charge.on_call().calls(), ship.on_call().calls()), request(&saga, "charge"));
    assert_eq!(world.reply(&saga, of, Some(1), failed()), Ok(Reply::Taken));
    assert_eq!(world.reply(&saga, of, Some(1), failed()), Ok(Reply::TakenBefore));
    world.run_until_settled();
    saga.assert_completed();
    saga.assert_on_desk(Desk::Discrepancy, "charge", "contradiction");
    assert_eq!(saga.view().desk.len(), 1);
    assert_eq!((charge.on_call().calls(), ship.on_call().calls()), calls);

    let resumed = world.resume(&saga, "charge");
    assert!(matches!(resumed, Err(OperateError::Refused(_))), "{resumed:?}");
    assert_eq!(world.accept(&saga, "charge", &7), Ok(Answer::Accepted));
    let view = saga.view();
    assert_eq!((view.phase, view.desk.len()), (Phase::Completed, 0));
    let forward = &view.step("charge").expect("it is a step").forward;
    assert_eq!((forward.stage, forward.effect), (Stage::Succeeded, Effect::Applied));
    assert_eq!(ledger.effects(of), 1);
}
