//! G33: a step inserted while sagas are in flight.

use amends::prelude::*;
use amends_core::state::Phase;
use amends_testkit::{CallPlan, Ledger, World, WorldSaga};

use super::kit::{Part, ms, part, request, undo_request};

struct Parts {
    a: Part,
    x: Part,
    b: Part,
    c: Part,
}

impl Parts {
    /// `a → b → c`.
    fn v1(&self) -> Saga<u32, u32> {
        let (mut s, input) = SagaBuilder::<u32>::new("order", 1);
        let a = s.step("a", self.a.step::<ByQuery, ByQuery>(), input);
        let b = s.step("b", self.b.step::<ByQuery, ByQuery>(), a);
        let c = s.step("c", self.c.step::<ByQuery, ByQuery>(), b);
        s.finish(c).expect("the definition is sound")
    }

    /// `a → x → b → c`.
    fn v2(&self) -> Saga<u32, u32> {
        let (mut s, input) = SagaBuilder::<u32>::new("order", 2);
        let a = s.step("a", self.a.step::<ByQuery, ByQuery>(), input);
        let x = s.step("x", self.x.step::<ByQuery, ByQuery>(), a);
        let b = s.step("b", self.b.step::<ByQuery, ByQuery>(), x);
        let c = s.step("c", self.c.step::<ByQuery, ByQuery>(), b);
        s.finish(c).expect("the definition is sound")
    }
}

#[test]
fn g33_a_step_inserted_in_a_new_version_touches_no_saga_of_the_old_one() {
    let mut world = World::new();
    let ledger = Ledger::new(&mut world);
    let [a, x, b, c] = ["a", "x", "b", "c"].map(|name| part(&ledger, name));
    let parts = Parts { a, x, b, c };
    world.register(&parts.v1());
    parts.b.on_call().always(CallPlan::Transient);
    let old: Vec<WorldSaga<u32>> =
        (0..100).map(|n| world.start(&parts.v1(), &format!("old-{n}"), n)).collect();
    world.run_for(ms(100));
    for saga in &old {
        let view = saga.view();
        assert_eq!((ledger.effects(request(saga, "a")), view.phase), (1, Phase::Running));
        assert!(view.timeline().contains("b failed (attempt 1"), "it waits at `b`:\n{}", view.timeline());
    }

    world.crash();
    world.register(&parts.v2());
    parts.b.on_call().heal();
    for n in (0..100).step_by(3) {
        parts.c.on_call().for_key(&format!("old-{n}"), CallPlan::Refuse("no".to_owned()));
    }
    let new: Vec<WorldSaga<u32>> =
        (0..10).map(|n| world.start(&parts.v2(), &format!("new-{n}"), n)).collect();
    world.run_until_settled();

    for (n, saga) in old.iter().enumerate() {
        let view = saga.view();
        let names: Vec<&str> = view.steps.iter().map(|step| &*step.name).collect();
        assert_eq!((view.plan().version, names), (1, vec!["a", "b", "c"]));
        let undone = usize::from(n % 3 == 0);
        let effects = ["a", "b"]
            .map(|step| (ledger.effects(request(saga, step)), ledger.effects(undo_request(saga, step))));
        assert_eq!(effects, [(1, undone); 2], "no completed step was executed again:\n{}", view.timeline());
        assert_eq!(saga.compensations().len(), 2 * undone);
        assert_eq!(view.phase, if undone == 1 { Phase::Compensated } else { Phase::Completed });
        assert_eq!(ledger.calls(request(saga, "x")), 0);
    }
    for saga in &new {
        saga.assert_completed();
        assert_eq!((saga.view().plan().version, ledger.effects(request(saga, "x"))), (2, 1));
    }
    assert_eq!(parts.x.on_call().calls(), 10);
}
