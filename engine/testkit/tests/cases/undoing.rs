//! G08 to G10: an undoing that fails, a step that did half its work, a cancel that overtakes its request.

use std::future::pending;

use amends::prelude::*;
use amends_core::agenda::Desk;
use amends_core::event::Answer;
use amends_core::state::{Phase, Stage};
use amends_testkit::{Call, CallPlan, Fault, FaultKind, Ledger, UndoPlan, World, WorldSaga};

use super::kit::{Part, part, request, told_once, undo_request};

/// `a → b → c → d`, all but `d` with a compensation; a compensation has three attempts.
struct Chain {
    world: World,
    parts: [Part; 4],
    saga: Saga<u32, u32>,
}

fn chain() -> Chain {
    let mut world = World::new();
    let ledger = Ledger::new(&mut world);
    let parts = ["a", "b", "c", "d"].map(|name| part(&ledger, name));
    let [a, b, c] = [0, 1, 2].map(|n: usize| parts[n].step::<ByQuery, ByQuery>().compensation("three"));
    let (mut s, input) = SagaBuilder::<u32>::new("chain", 1);
    let a = s.step("a", a, input);
    let b = s.step("b", b, a);
    let c = s.step("c", c, b);
    let (d, s) = s.pivot("d", parts[3].step::<ByQuery, ByOperator>(), c);
    let saga = s.finish(d).expect("the definition is sound");
    world.policies(Policies::new().retry("three", RetryPolicy { max_attempts: 3, ..RetryPolicy::default() }));
    world.register(&saga);
    parts[3].on_call().for_key("broken", CallPlan::Refuse("no".to_owned()));
    Chain { world, parts, saga }
}

impl Chain {
    fn calls(&self) -> [u32; 3] {
        [0, 1, 2].map(|n: usize| self.parts[n].on_undo().calls())
    }

    /// The undoing of `b` waits for a person, and that of `a` for it; a sound saga passes by.
    fn waits_across_restarts(&mut self, calls_of_b: u32, because: &str) -> WorldSaga<u32> {
        let saga = self.world.start(&self.saga, "broken", 1);
        self.world.run_until_settled();
        for restart in 0..2 {
            self.world.crash();
            let sound = self.world.start(&self.saga, &format!("sound-{restart}"), 1);
            self.world.run_for(hours(48));
            sound.assert_completed();
            saga.assert_on_desk(Desk::Quarantine, "b/compensation", because);
            assert_eq!(self.calls(), [0, calls_of_b, 1], "after restart {restart}");
            assert_eq!(saga.view().phase, Phase::Compensating, "neither compensated nor given up");
        }
        saga
    }

    fn resume(&mut self, saga: &WorldSaga<u32>, calls_of_b: u32) {
        assert_eq!(self.world.resume(saga, "b/compensation"), Ok(Answer::Accepted));
        self.world.run_until_settled();
        saga.assert_compensated();
        assert_eq!(
            (saga.compensations(), self.calls()),
            (["c", "b", "a"].map(str::to_owned).to_vec(), [1, calls_of_b, 1])
        );
    }
}

#[test]
fn g08_an_undo_that_never_works_is_tried_three_times_across_restarts_and_then_waits() {
    let mut chain = chain();
    for _attempt in 0..3 {
        chain.parts[1].on_undo().for_key("broken", UndoPlan::Transient);
    }
    let saga = chain.waits_across_restarts(3, "attempts-spent");
    let view = saga.view();
    let undo = view.step("b").and_then(|step| step.compensation.as_ref()).expect("it was begun");
    assert_eq!(undo.failure.as_ref().map(|failure| failure.code.as_str()), Some("unavailable"));
    chain.resume(&saga, 4);
}

/// The case has a permanent failure tried three times. The law: what does not heal by itself is never retried
/// by itself.
#[test]
fn g08_an_undo_that_fails_for_good_is_tried_once_and_then_waits() {
    let mut chain = chain();
    chain.parts[1].on_undo().for_key("broken", UndoPlan::Persistent);
    let saga = chain.waits_across_restarts(1, "persistent");
    chain.resume(&saga, 2);
}

/// Reserves in three warehouses, one after the other, and stops after so many with what the test says.
struct ReserveThree {
    warehouses: [Part; 3],
    reached: usize,
    then: fn() -> StepError<String>,
}

impl ReserveThree {
    async fn reserve(&self, cx: &StepContext, pieces: u32) -> Result<u32, StepError<String>> {
        for (n, warehouse) in self.warehouses.iter().enumerate() {
            if n == self.reached {
                return Err((self.then)());
            }
            warehouse.call(cx, &pieces).await?;
        }
        Ok(3 * pieces)
    }
}

impl Step for ReserveThree {
    type Input = u32;
    type Output = u32;
    type Refusal = String;
    type Settle = ByQuery;

    async fn run(&self, cx: &StepContext, input: u32) -> Result<u32, StepError<String>> {
        let reserved = self.reserve(cx, input).await;
        if matches!(&reserved, Err(StepError::Persistent(problem)) if *problem == hangs()) {
            return pending().await;
        }
        reserved
    }
}

impl Compensate for ReserveThree {
    type UndoSettle = ByRepeating;

    async fn compensate(&self, cx: &StepContext, _: u32, _: Forward<u32>) -> Result<Undo, CompensationError> {
        let mut done = Undo::NothingToUndo;
        for warehouse in &self.warehouses {
            if warehouse.undo(cx).await? == Undo::Undone {
                done = Undo::Undone;
            }
        }
        Ok(done)
    }
}

impl Reconcile for ReserveThree {
    async fn reconcile(&self, cx: &StepContext, pieces: u32) -> Result<Finding<u32, String>, QueryError> {
        let mut found = 0;
        for warehouse in &self.warehouses {
            found += usize::from(matches!(warehouse.query(cx).await?, Finding::Applied(_)));
        }
        Ok(match found {
            0 => Finding::Absent,
            3 => Finding::Applied(3 * pieces),
            _ => Finding::Partial(None),
        })
    }
}

/// The call to the next warehouse does not come back.
fn hangs() -> Problem {
    Problem::new("hangs", "no answer, ever")
}

/// `book → reserve-three → end`.
struct Reservation {
    world: World,
    book: Part,
    warehouses: [Part; 3],
    end: Part,
    saga: WorldSaga<u32>,
}

fn reservation(reached: usize, then: fn() -> StepError<String>) -> Reservation {
    let mut world = World::new();
    let ledger = Ledger::new(&mut world);
    let [book, w1, w2, w3, end] = ["book", "w1", "w2", "w3", "end"].map(|name| part(&ledger, name));
    let warehouses = [w1, w2, w3];
    let three = ReserveThree { warehouses: warehouses.clone(), reached, then };
    let (mut s, input) = SagaBuilder::<u32>::new("reservation", 1);
    let booked = s.step("book", book.step::<ByQuery, ByRepeating>(), input);
    let reserved = s.step("reserve-three", three.timeout(seconds(5)), booked);
    let (done, s) = s.pivot("end", end.step::<ByQuery, ByOperator>(), reserved);
    let saga = s.finish(done).expect("the definition is sound");
    world.register(&saga);
    let saga = world.start(&saga, "key", 7);
    Reservation { world, book, warehouses, end, saga }
}

impl Reservation {
    /// The net of everything is nothing; the undoing of each warehouse was asked for so often.
    #[track_caller]
    fn undone(&self, each: u32) {
        self.saga.assert_compensated();
        for warehouse in &self.warehouses {
            assert_eq!((warehouse.in_place(), warehouse.on_undo().calls()), (vec![], each));
        }
        assert_eq!((self.book.in_place(), self.end.on_call().calls()), (vec![], 0));
    }
}

#[test]
fn g09_a_step_that_says_that_nothing_was_done_is_not_undone() {
    let mut reservation = reservation(0, || StepError::Refused("sold out".to_owned()));
    reservation.world.run_until_settled();
    reservation.undone(0);
    assert_eq!(reservation.saga.compensations(), ["book"]);
}

#[test]
fn g09_what_a_step_did_in_part_is_undone_before_what_it_depends_on() {
    let mut reservation = reservation(2, || StepError::Partial(None));
    reservation.world.run_until_settled();
    reservation.undone(1);
    assert_eq!(reservation.saga.compensations(), ["reserve-three", "book"]);
    told_once(&reservation.saga, "turned back (");
}

#[test]
fn g09_a_process_that_dies_in_the_middle_of_a_step_finds_its_part_and_undoes_it() {
    let mut reservation = reservation(2, || StepError::Persistent(hangs()));
    reservation.world.run_for(seconds(1));
    assert_eq!(reservation.warehouses.each_ref().map(|w| w.in_place().len()), [1, 1, 0]);
    reservation.world.crash();
    reservation.world.run_until_settled();
    reservation.undone(1);
    assert_eq!(reservation.saga.compensations(), ["reserve-three", "book"]);
    told_once(&reservation.saga, "reserve-three found partly applied");
}

/// A service of our contract whose request is thirty seconds on its way: the attempt ends after five.
struct Delayed(Part);

impl Step for Delayed {
    type Input = u32;
    type Output = u32;
    type Refusal = String;
    type Settle = ByOperator;

    async fn run(&self, cx: &StepContext, input: u32) -> Result<u32, StepError<String>> {
        self.0.on_call().next(CallPlan::ApplyLate(seconds(30)));
        let _nobody_hears_it = self.0.call(cx, &input).await;
        pending().await
    }
}

impl Compensate for Delayed {
    type UndoSettle = ByRepeating;

    const IN_DOUBT: InDoubt = InDoubt::Fence;

    async fn compensate(
        &self,
        cx: &StepContext,
        _: u32,
        forward: Forward<u32>,
    ) -> Result<Undo, CompensationError> {
        assert_eq!(forward, Forward::InDoubt);
        self.0.undo(cx).await
    }
}

/// `charge → end`; the saga is cancelled after eight seconds.
fn overtaken(faults: impl IntoIterator<Item = Fault>, crash_at_20s: bool) -> (Ledger, Part, WorldSaga<u32>) {
    let mut world = World::new();
    let ledger = Ledger::new(&mut world);
    let [gateway, end] = ["gateway", "end"].map(|name| part(&ledger, name));
    let (mut s, input) = SagaBuilder::<u32>::new("order", 1);
    let charged = s.step("charge", Delayed(gateway.clone()).timeout(seconds(5)), input);
    let (done, s) = s.pivot("end", end.step::<ByQuery, ByOperator>(), charged);
    let saga = s.finish(done).expect("the definition is sound");
    for fault in faults {
        world.inject(fault);
    }
    world.register(&saga);
    let saga = world.start(&saga, "key", 7);
    world.run_for(seconds(8));
    told_once(&saga, "charge unknown (attempt 1, timeout): a person is needed (no-query)");
    assert_eq!(world.cancel(&saga), Ok(Answer::Accepted));
    world.run_for(seconds(12));
    if crash_at_20s {
        world.crash();
    }
    world.run_for(seconds(60));
    (ledger, gateway, saga)
}

/// The saga has ended compensated at 8 s, and the request of 30 s changed nothing.
#[track_caller]
fn fenced((ledger, gateway, saga): &(Ledger, Part, WorldSaga<u32>), undos: u32) {
    saga.assert_compensated();
    let view = saga.view();
    assert_eq!(view.ended_at.map(|at| at.since(view.started_at)), Some(seconds(8)));
    assert_eq!(view.step("charge").map(|step| step.forward.stage), Some(Stage::Skipped));
    let (charge, undo) = (request(saga, "charge"), undo_request(saga, "charge"));
    assert_eq!((ledger.calls(charge), ledger.effects(charge)), (1, 0), "it arrived, and was refused");
    assert_eq!((ledger.calls(undo), ledger.effects(undo)), (undos, 0));
    assert_eq!(ledger.entry(undo).and_then(|entry| entry.undoes), Some(charge), "it named what it undoes");
    assert!(gateway.in_place().is_empty());
    told_once(saga, "compensation of charge succeeded (nothing to undo)");
}

#[test]
fn g10_a_cancel_that_overtakes_its_request_finds_nothing_and_keeps_it_out() {
    fenced(&overtaken([], false), 1);
}

#[test]
fn g10_a_cancel_that_overtakes_its_request_and_arrives_twice_keeps_it_out() {
    fenced(&overtaken([Fault::first("charge", Call::Compensation, FaultKind::Repeated)], false), 2);
}

#[test]
fn g10_a_restart_between_the_cancel_and_its_request_changes_nothing() {
    fenced(&overtaken([], true), 1);
}
