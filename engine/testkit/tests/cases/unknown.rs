//! G04 to G06: what nobody knows is asked about, under the same request id, and never done again blindly.

use std::sync::{Arc, Mutex};

use amends::prelude::*;
use amends_core::agenda::Desk;
use amends_core::event::Answer;
use amends_core::state::{Effect, Stage};
use amends_core::{ActionId, RequestId};
use amends_testkit::{CallPlan, Ledger, Participant, QueryPlan, UndoPlan, World, WorldSaga, expect};

use super::kit::{Part, ms, part, request, starts, told_once, undo_request};

/// `reserve → charge → ship`; the gateway takes three seconds, and an attempt of `charge` two.
struct Order {
    world: World,
    ledger: Ledger,
    reserve: Part,
    gateway: Part,
    ship: Part,
    saga: Saga<u32, u32>,
}

/// How long after a transmission "absent" means "without effect".
const WINDOW: std::time::Duration = seconds(10);

fn order(contract: Contract, latency: std::time::Duration) -> Order {
    let mut world = World::new();
    let ledger = Ledger::new(&mut world);
    let reserve = part(&ledger, "stock");
    let gateway = Participant::slow(&ledger, "gateway", latency, |n: &u32| *n + 1_000);
    let ship = part(&ledger, "carrier");
    let (mut s, amount) = SagaBuilder::<u32>::new("order", 1);
    let reserved = s.step("reserve", reserve.step::<ByQuery, ByRepeating>(), amount);
    let charge = gateway.step::<ByQuery, ByRepeating>().contract(contract);
    let charged = s.step("charge", charge.timeout(seconds(2)).query("gateway"), reserved);
    let shipped = s.step("ship", ship.step::<ByQuery, ByRepeating>(), charged);
    let saga = s.finish(shipped).expect("the definition is sound");
    let asking = QueryPolicy { base: ms(500), cap: seconds(2), max_queries: 20, ..QueryPolicy::default() };
    world.policies(Policies::new().query("gateway", asking));
    world.register(&saga);
    Order { world, ledger, reserve, gateway, ship, saga }
}

impl Order {
    fn run(&mut self) -> WorldSaga<u32> {
        let saga = self.world.start(&self.saga, "order-42", 7);
        self.world.run_until_settled();
        saga
    }

    fn charges(&self, saga: &WorldSaga<u32>) -> (u32, usize) {
        let charge = request(saga, "charge");
        (self.ledger.calls(charge), self.ledger.effects(charge))
    }
}

fn settles_in_time() -> Contract {
    Contract { settle_window: Some(WINDOW), keeps_answers: true, ..Contract::default() }
}

#[test]
fn g04_a_provider_that_finishes_after_the_timeout_is_found_and_not_charged_again() {
    let mut order = order(settles_in_time(), seconds(3));
    order.gateway.on_query().next(QueryPlan::SayInProgress);
    let saga = order.run();
    saga.assert_completed();
    assert_eq!(order.charges(&saga), (1, 1));
    assert_eq!((saga.attempts("charge"), saga.attempts("ship")), (1, 1));
    let given = saga.view().output_json("charge").map(|json| json.text().to_owned());
    assert_eq!(given.as_deref(), Some("1007"), "the provider's own result");
    assert_eq!(order.ledger.calls(request(&saga, "ship")), 1);
    saga.timeline(expect![[r#"
        +0.000s order 1 started for order-42
        +0.000s reserve started (attempt 1)
        +0.000s reserve succeeded
        +0.000s charge started (attempt 1)
        +2.000s charge unknown (attempt 1, timeout): ask in 0.345s
        +2.346s charge asked about (query 1)
        +2.346s charge found in progress (query 1): ask in 0.897s
        +3.244s charge asked about (query 2)
        +3.244s charge found applied (query 2)
        +3.244s ship started (attempt 1)
        +3.244s ship succeeded
        +3.244s completed
    "#]]);
}

#[test]
fn g04_what_certainly_did_not_happen_is_sent_again_under_the_same_request_id() {
    let mut order = order(settles_in_time(), ms(10));
    order.gateway.on_call().next(CallPlan::LoseRequest);
    let saga = order.run();
    saga.assert_completed();
    assert_eq!((order.charges(&saga), saga.attempts("charge")), ((1, 1), 2));
    assert_eq!(order.gateway.on_call().calls(), 2, "two were sent, one arrived");
    let again = starts(&saga.view(), &ActionId::forward("charge"))[1];
    assert!(again > WINDOW, "absence means something after the window only: {again:?}");
}

#[test]
fn g04_a_query_that_never_decides_leaves_everything_in_place_and_tells_a_person() {
    let mut order = order(settles_in_time(), ms(10));
    order.gateway.on_call().next(CallPlan::LoseReply);
    order.gateway.on_query().always(QueryPlan::SayInProgress);
    let saga = order.run();
    for _restart in 0..3 {
        saga.assert_on_desk(Desk::Reconciliation, "charge", "queries-spent");
        assert_eq!((order.charges(&saga), saga.attempts("charge")), ((1, 1), 1));
        assert_eq!(order.ledger.queries(request(&saga, "charge")), 20);
        assert_eq!((order.reserve.in_place(), order.ship.on_call().calls()), (vec![7], 0));
        assert!(saga.compensations().is_empty());
        order.world.crash();
        order.world.run_for(hours(24));
    }
    let view = saga.view();
    let charge = &view.step("charge").expect("the step").forward;
    assert_eq!((charge.stage, charge.effect), (Stage::Reconciling, Effect::Possible));
}

/// `charge → ship`, where shipping is refused, so that `charge` is refunded.
struct Refund {
    world: World,
    ledger: Ledger,
    gateway: Part,
    ship: Part,
    saga: Saga<u32, u32>,
    sent: Arc<Mutex<Vec<(u32, RequestId)>>>,
}

/// The step as its author writes it: with a client whose access token is another one each time.
struct WithToken {
    gateway: Part,
    sent: Arc<Mutex<Vec<(u32, RequestId)>>>,
}

impl Step for WithToken {
    type Input = u32;
    type Output = u32;
    type Refusal = String;
    type Settle = ByRepeating;

    async fn run(&self, cx: &StepContext, input: u32) -> Result<u32, StepError<String>> {
        self.gateway.call(cx, &input).await
    }
}

impl Compensate for WithToken {
    type UndoSettle = ByRepeating;

    async fn compensate(&self, cx: &StepContext, _: u32, _: Forward<u32>) -> Result<Undo, CompensationError> {
        {
            let mut sent = self.sent.lock().expect("no test panics while it holds this");
            let token = u32::try_from(sent.len()).expect("few are sent");
            sent.push((token, cx.request_id()));
        }
        self.gateway.undo(cx).await
    }
}

fn refund() -> Refund {
    let mut world = World::new();
    let ledger = Ledger::new(&mut world);
    let sent = Arc::new(Mutex::new(Vec::new()));
    let gateway = part(&ledger, "gateway");
    let ship = part(&ledger, "carrier");
    let (mut s, amount) = SagaBuilder::<u32>::new("order", 1);
    let charge = WithToken { gateway: gateway.clone(), sent: sent.clone() };
    let charged = s.step("charge", charge, amount);
    let (shipped, s) = s.pivot("ship", ship.step::<ByQuery, ByOperator>(), charged);
    let saga = s.finish(shipped).expect("the definition is sound");
    world.register(&saga);
    ship.refuse_next("no such street".to_owned());
    Refund { world, ledger, gateway, ship, saga, sent }
}

impl Refund {
    /// Every transmission carried this one id, whatever the token was; the refund was made once.
    #[track_caller]
    fn one_id(&self, saga: &WorldSaga<u32>, transmissions: usize) {
        let sent = self.sent.lock().expect("no test panics while it holds this");
        let refund = undo_request(saga, "charge");
        assert_eq!(sent.len(), transmissions);
        assert!(sent.iter().all(|(_, id)| *id == refund), "{sent:?}");
        assert!(sent.windows(2).all(|pair| pair[0].0 != pair[1].0), "the token was another each time");
        assert_eq!(self.ledger.effects(refund), 1);
        assert!(self.gateway.in_place().is_empty());
    }
}

#[test]
fn g05_a_refund_that_is_repeated_carries_the_same_request_id() {
    let mut refund = refund();
    refund.gateway.on_undo().next(UndoPlan::LoseReply).next(UndoPlan::LoseReply);
    let saga = refund.world.start(&refund.saga, "order-42", 7);
    refund.world.run_until_settled();
    saga.assert_compensated();
    refund.one_id(&saga, 3);
    told_once(&saga, "compensation of charge unknown (attempt 1, reply-lost)");
}

#[test]
fn g05_a_refund_that_is_repeated_by_the_next_process_carries_the_same_request_id() {
    let mut refund = refund();
    refund.gateway.on_undo().next(UndoPlan::LoseReply);
    let saga = refund.world.start(&refund.saga, "order-42", 7);
    refund.world.run_for(ms(1));
    assert_eq!(refund.ledger.effects(undo_request(&saga, "charge")), 1);
    refund.world.crash();
    refund.world.run_until_settled();
    saga.assert_compensated();
    refund.one_id(&saga, 2);
    told_once(&saga, "compensation of charge unknown (attempt 1, reply-lost)");
    told_once(&saga, "taken over by another process");
}

/// What is quarantined is known to be without effect, so here the first attempt fails before it is made.
#[test]
fn g05_a_quarantined_refund_that_a_person_resumes_carries_the_same_request_id() {
    let mut refund = refund();
    refund.gateway.on_undo().next(UndoPlan::Persistent).next(UndoPlan::LoseReply);
    let saga = refund.world.start(&refund.saga, "order-42", 7);
    refund.world.run_until_settled();
    saga.assert_on_desk(Desk::Quarantine, "charge/compensation", "persistent");
    assert_eq!(refund.world.resume(&saga, "charge/compensation"), Ok(Answer::Accepted));
    refund.world.run_until_settled();
    saga.assert_compensated();
    refund.one_id(&saga, 3);
    told_once(&saga, "compensation of charge failed (attempt 1, persistent forbidden)");
    told_once(&saga, "compensation of charge resumed with 5 attempts");
    assert_eq!(refund.ship.on_call().calls(), 1);
}

#[test]
fn g05_two_intended_refunds_of_one_amount_are_two() {
    let mut world = World::new();
    let ledger = Ledger::new(&mut world);
    let gateway = part(&ledger, "gateway");
    let ship = part(&ledger, "carrier");
    let (mut s, amount) = SagaBuilder::<u32>::new("order", 1);
    let first = s.step("charge-deposit", gateway.step::<ByQuery, ByRepeating>(), amount);
    let second = s.step("charge-rest", gateway.step::<ByQuery, ByRepeating>(), first);
    let (shipped, s) = s.pivot("ship", ship.step::<ByQuery, ByOperator>(), second);
    let saga = s.finish(shipped).expect("the definition is sound");
    world.register(&saga);
    ship.refuse_next("no such street".to_owned());
    let saga = world.start(&saga, "order-42", 7);
    world.run_until_settled();
    saga.assert_compensated();
    let ids = [undo_request(&saga, "charge-deposit"), undo_request(&saga, "charge-rest")];
    assert_ne!(ids[0], ids[1]);
    assert_eq!(ids.map(|id| ledger.effects(id)), [1, 1]);
    assert!(gateway.in_place().is_empty());
}

#[test]
fn g06_an_index_that_lags_is_not_a_charge_that_never_was() {
    let mut order = order(settles_in_time(), ms(10));
    order.gateway.on_call().next(CallPlan::LoseReply);
    order.gateway.on_query().always(QueryPlan::Lag(seconds(5)));
    let saga = order.run();
    saga.assert_completed();
    assert_eq!((order.charges(&saga), saga.attempts("charge")), ((1, 1), 1));
    let timeline = saga.view().timeline();
    assert!(
        timeline.matches("charge found absent").count() >= 2,
        "inconclusive, more than once:\n{timeline}"
    );
    told_once(&saga, "charge found applied");
    let shipped = starts(&saga.view(), &ActionId::forward("ship"))[0];
    assert!(shipped > seconds(5) && shipped < WINDOW, "{shipped:?}");
}

#[test]
fn g06_a_query_that_hangs_spends_its_own_budget_and_no_attempt() {
    let mut order = order(settles_in_time(), ms(10));
    order.gateway.on_call().next(CallPlan::LoseReply);
    order.gateway.on_query().next(QueryPlan::Hang).next(QueryPlan::Hang);
    let saga = order.run();
    saga.assert_completed();
    assert_eq!((order.charges(&saga), saga.attempts("charge")), ((1, 1), 1));
    assert_eq!(order.ledger.queries(request(&saga, "charge")), 3);
    let timeline = saga.view().timeline();
    assert_eq!(timeline.matches("failed (timeout)").count(), 2, "{timeline}");
}

#[test]
fn g06_without_a_stated_window_not_found_authorises_nothing() {
    let mut order = order(Contract { keeps_answers: true, ..Contract::default() }, ms(10));
    order.gateway.on_call().next(CallPlan::LoseRequest);
    let saga = order.run();
    saga.assert_on_desk(Desk::Reconciliation, "charge", "queries-spent");
    order.world.run_for(hours(240));
    assert_eq!((order.charges(&saga), saga.attempts("charge")), ((0, 0), 1));
    assert_eq!(order.gateway.on_call().calls(), 1, "no second transmission");
}
