//! G07, G11 and G12: siblings that are still at work, timers that are left over, joins that never began.

use amends::prelude::*;
use amends_core::ActionId;
use amends_core::event::TurnReason;
use amends_core::state::{Phase, Stage};
use amends_testkit::{CallPlan, Ledger, Participant, World, WorldSaga, expect, explore};

use super::kit::{Part, ms, part, request, slow, starts, told_once, undo_request};

/// `a → {b, c}`, where `b` answers after 100 ms and `c` after a time of its own.
struct Fork {
    world: World,
    ledger: Ledger,
    a: Part,
    b: Part,
    c: Part,
    saga: Saga<u32, Vec<u32>>,
}

fn fork(c_takes: std::time::Duration) -> Fork {
    let mut world = World::new();
    let ledger = Ledger::new(&mut world);
    let a = part(&ledger, "a");
    let b = slow(&ledger, "b", ms(100));
    let c = slow(&ledger, "c", c_takes);
    let end = Participant::new(&ledger, "end", |all: &Vec<u32>| all.clone());
    let (mut s, input) = SagaBuilder::<u32>::new("fork", 1);
    let first = s.step("a", a.step::<ByQuery, ByRepeating>(), input);
    let sides = [
        s.step("b", b.step::<ByQuery, ByRepeating>(), first),
        s.step("c", c.step::<ByQuery, ByRepeating>(), first),
    ];
    let all = (sides[0], sides[1]).map(|(b, c): (u32, u32)| vec![b, c]);
    let (end, s) = s.pivot("end", ParticipantOf(end), all);
    let saga = s.finish(end).expect("the definition is sound");
    world.register(&saga);
    Fork { world, ledger, a, b, c, saga }
}

/// A pivot that only counts.
struct ParticipantOf(Participant<Vec<u32>, Vec<u32>, String>);

impl Step for ParticipantOf {
    type Input = Vec<u32>;
    type Output = Vec<u32>;
    type Refusal = String;
    type Settle = ByOperator;

    async fn run(&self, cx: &StepContext, input: Vec<u32>) -> Result<Vec<u32>, StepError<String>> {
        self.0.call(cx, &input).await
    }
}

impl Fork {
    fn run(&mut self) -> WorldSaga<Vec<u32>> {
        self.b.refuse_next("no".to_owned());
        let saga = self.world.start(&self.saga, "key", 1);
        self.world.run_until_settled();
        saga.assert_compensated();
        let left = [self.a.in_place(), self.b.in_place(), self.c.in_place()].concat();
        assert!(left.is_empty(), "the net of every resource is nothing, not {left:?}");
        saga
    }

    /// Calls of the forward action and of the compensation of `c`.
    fn calls_of_c(&self, saga: &WorldSaga<Vec<u32>>) -> (u32, u32) {
        (self.ledger.calls(request(saga, "c")), self.ledger.calls(undo_request(saga, "c")))
    }
}

#[test]
fn g07_the_undoing_waits_for_a_sibling_that_is_still_at_work() {
    let mut fork = fork(ms(500));
    let saga = fork.run();
    assert_eq!(saga.compensations(), ["c", "a"]);
    saga.timeline(expect![[r#"
        +0.000s fork 1 started for key
        +0.000s a started (attempt 1)
        +0.000s a succeeded
        +0.000s b started (attempt 1)
        +0.000s c started (attempt 1)
        +0.100s b refused "no"
        +0.100s turned back (refused: b)
        +0.500s c succeeded
        +0.500s compensation of c started (attempt 1)
        +1.000s compensation of c succeeded
        +1.000s compensation of a started (attempt 1)
        +1.000s compensation of a succeeded
        +1.000s compensated
    "#]]);
}

#[test]
fn g07_a_siblings_retry_is_cancelled_by_the_turn() {
    let mut fork = fork(ms(10));
    fork.c.on_call().always(CallPlan::Transient);
    let saga = fork.run();
    let sent = starts(&saga.view(), &ActionId::forward("c"));
    assert!(sent.iter().all(|at| *at < ms(100)), "nothing is sent after the turn: {sent:?}");
    assert_eq!(saga.view().step("c").map(|step| step.forward.stage), Some(Stage::Skipped));
    assert_eq!((fork.calls_of_c(&saga), saga.compensations()), ((0, 0), vec!["a".to_owned()]));
}

#[test]
fn g07_a_sibling_whose_reply_was_lost_is_found_out_before_it_is_undone() {
    let mut fork = fork(ms(50));
    fork.c.on_call().next(CallPlan::LoseReply);
    let saga = fork.run();
    assert_eq!(
        (fork.calls_of_c(&saga), saga.compensations()),
        ((1, 1), vec!["c".to_owned(), "a".to_owned()])
    );
    told_once(&saga, "c found applied");
}

/// The law: after the turn a query may fence, and what is fenced needs no compensation.
#[test]
fn g07_a_sibling_whose_request_was_lost_is_fenced_and_not_undone() {
    let mut fork = fork(ms(50));
    fork.c.on_call().next(CallPlan::LoseRequest);
    let saga = fork.run();
    assert_eq!((fork.calls_of_c(&saga), saga.compensations()), ((0, 0), vec!["a".to_owned()]));
    told_once(&saga, "c found fenced through attempt 1");
}

#[test]
fn g07_two_that_fail_in_one_instant_turn_the_saga_once() {
    let mut fork = fork(ms(100));
    fork.c.refuse_next("no, too".to_owned());
    let saga = fork.run();
    told_once(&saga, "turned back");
    assert_eq!(saga.compensations(), ["a"]);
    assert_eq!(fork.ledger.calls(undo_request(&saga, "a")), 1);
}

/// One step that takes so long, in a saga that has half an hour.
fn half_an_hour(takes: std::time::Duration) -> (World, Part, WorldSaga<u32>) {
    let mut world = World::new();
    let ledger = Ledger::new(&mut world);
    let work = slow(&ledger, "work", takes);
    let (s, input) = SagaBuilder::<u32>::new("work", 1);
    let mut s = s.deadline(minutes(30));
    let done = s.step(
        "work",
        work.step::<ByQuery, ByRepeating>().timeout(minutes(30)).compensation("patient"),
        input,
    );
    let saga = s.finish(done).expect("the definition is sound");
    let patient = RetryPolicy { attempt_timeout: hours(1), ..RetryPolicy::default() };
    world.policies(Policies::new().retry("patient", patient));
    world.register(&saga);
    let saga = world.start(&saga, "key", 1);
    (world, work, saga)
}

#[test]
fn g11_a_finished_saga_is_not_rolled_back_by_its_own_deadline() {
    let (mut world, work, saga) = half_an_hour(seconds(10));
    world.run_until_settled();
    let (commits, journal) = (world.commits(), saga.view().journal().to_vec());
    world.run_for(hours(2));
    saga.assert_completed();
    assert_eq!((world.commits(), saga.view().journal()), (commits, &journal[..]));
    assert_eq!((work.on_call().calls(), work.on_undo().calls()), (1, 0));
}

#[test]
fn g11_a_process_that_dies_in_the_completing_commit_leaves_no_timer_behind() {
    for side in [amends_testkit::Side::Before, amends_testkit::Side::After] {
        let (mut world, work, saga) = half_an_hour(seconds(10));
        world.crash_at_commit(world.commits() + 1, side);
        world.run_until_settled();
        world.run_for(hours(2));
        saga.assert_completed();
        assert!(world.crashed(), "{side:?}");
        assert_eq!((work.on_call().calls(), work.on_undo().calls()), (1, 0), "{side:?}");
    }
}

#[test]
fn g11_a_deadline_in_the_instant_of_completion_decides_once_and_for_good() {
    let mut ends = Vec::new();
    for (early, late) in [(1, 0), (0, 0), (0, 1)] {
        let takes =
            minutes(30) - std::time::Duration::from_micros(early) + std::time::Duration::from_micros(late);
        let (mut world, work, saga) = half_an_hour(takes);
        world.run_until_settled();
        let (phase, turned) = (saga.view().phase, saga.view().turned);
        let expected = match phase {
            Phase::Completed => (None, 0, vec![1]),
            _ => (Some(TurnReason::Deadline), 1, vec![]),
        };
        assert_eq!((turned, work.on_undo().calls(), work.in_place()), expected);
        let journal = saga.view().journal().to_vec();
        world.crash();
        world.run_for(hours(2));
        assert_eq!((saga.view().phase, saga.view().journal()), (phase, &journal[..]), "decided once");
        ends.push(phase);
    }
    assert_eq!((ends[0], ends[2]), (Phase::Completed, Phase::Compensated));
}

/// `{a, b} → c`, of which `b` refuses; the process dies at the commit that records the undoing of `a`.
#[test]
fn g12_a_join_that_never_began_under_a_parent_that_is_undone_already_can_be_recovered() {
    let run = |crash: Option<(u64, amends_testkit::Side)>| {
        let mut world = World::new();
        let ledger = Ledger::new(&mut world);
        let [a, b, c] = ["a", "b", "c"].map(|name| part(&ledger, name));
        let (mut s, input) = SagaBuilder::<u32>::new("join", 1);
        let one = s.step("a", a.step::<ByQuery, ByRepeating>(), input);
        let two = s.step("b", b.step::<ByQuery, ByRepeating>(), input);
        let join = s.step("c", c.step::<ByQuery, ByRepeating>(), two.after(one));
        let saga = s.finish(join).expect("the definition is sound");
        world.register(&saga);
        b.refuse_next("no".to_owned());
        if let Some((commit, side)) = crash {
            world.crash_at_commit(commit, side);
        }
        let saga = world.start(&saga, "key", 1);
        world.run_until_settled();
        saga.assert_compensated();
        let undone = undo_request(&saga, "a");
        assert_eq!(world.crashed(), crash.is_some());
        assert_eq!(c.on_call().calls(), 0, "the join never began");
        assert_eq!(ledger.effects(undone), 1);
        (world.commits(), ledger.calls(undone))
    };
    let (last, calls) = run(None);
    assert_eq!(calls, 1);
    let (_, calls) = run(Some((last, amends_testkit::Side::After)));
    assert_eq!(calls, 1, "it was durable: the next process calls nobody");
}

/// A crash at every commit of every run of a diamond in which one step in turn fails: the law's checks compare
/// what the journal says with what each participant did, request id by request id.
#[test]
fn g12_no_crash_in_the_unwinding_of_a_diamond_changes_its_end() {
    let tried = explore(|world| {
        let ledger = Ledger::new(world);
        let parts = ["a", "b", "c", "d", "e"].map(|name| part(&ledger, name));
        let (mut s, input) = SagaBuilder::<u32>::new("diamond", 1);
        let contract =
            || Contract { settle_window: Some(seconds(20)), keeps_answers: true, ..Contract::default() };
        let [a, b, c, d, e] =
            [0, 1, 2, 3, 4].map(|n| parts[n].step::<ByQuery, ByQuery>().contract(contract()));
        let a = s.step("a", a, input);
        let (b, c) = (s.step("b", b, a), s.step("c", c, a));
        let d = s.step("d", d, b.after(c));
        let e = s.step("e", e, d);
        let saga = s.finish(e).expect("the definition is sound");
        world.register(&saga);
        let saga = world.start(&saga, "key", 1);
        (saga, parts)
    })
    .every_step_fails()
    .crash_at_every_commit()
    .check(|_, (saga, parts)| {
        let in_place: Vec<usize> = parts.iter().map(|part| part.in_place().len()).collect();
        match saga.view().phase {
            Phase::Completed => assert_eq!(in_place, [1; 5]),
            Phase::Compensated => assert_eq!(in_place, [0; 5]),
            _ => assert!(!saga.view().desk.is_empty(), "somebody was told"),
        }
    });
    assert!(tried.struck > 100, "{tried:?}");
}
