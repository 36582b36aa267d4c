//! What others know a saga by: the request ids that participants see, and the shape of a plan that may not change
//! under one version.

use std::collections::BTreeSet;

use amends_core::plan::digest::shape;
use amends_core::{ActionId, Direction, SagaId};
use expect_test::expect;
use uuid::Uuid;

use crate::plan_text::plan;

fn actions(step: &str) -> [ActionId; 3] {
    let manual = Direction::Manual(Uuid::from_u128(7));
    let manual = ActionId { step: step.into(), direction: manual };
    [ActionId::forward(step), ActionId::compensation(step), manual]
}

#[test]
fn the_request_id_that_a_participant_has_seen_never_changes() {
    let saga = SagaId(Uuid::from_u128(42));
    let seen: Vec<String> = actions("charge").iter().map(|id| id.request_id(saga).to_string()).collect();
    expect![[r#"
        2fb090c7-2b7b-529d-b518-8f29e2a5cb53
        bb567106-7829-52de-8ce1-714eb5972282
        67a55d1a-9a76-5207-be35-7d8f8d9c0614
    "#]]
    .assert_eq(&(seen.join("\n") + "\n"));
}

#[test]
fn no_two_actions_share_a_request_id() {
    let sagas = [1, 2].map(|saga| SagaId(Uuid::from_u128(saga)));
    let all = ["charge", "refund"].into_iter().flat_map(actions);
    let seen: BTreeSet<_> = all.flat_map(|id| sagas.map(|saga| id.request_id(saga))).collect();
    assert_eq!(seen.len(), 12);
}

#[test]
fn an_action_reads_as_it_was_written() {
    for id in actions("charge").into_iter().chain(actions("a.b-c_d")) {
        assert_eq!(id.to_string().parse(), Ok(id));
    }
    for wrong in ["charge", "charge/", "charge/manual", "charge/manual:7", "charge/forward/"] {
        assert!(wrong.parse::<ActionId>().is_err(), "{wrong}");
    }
}

const PLAN: &str = "
    read ask(input)
    step hold(input,ask) by-query fence
    step book(hold) by-repeating undo-by-query after=ask
    pivot pay(book) by-query
    retriable ship(pay) by-operator
    result pay
";

#[test]
fn the_shape_of_a_plan_names_all_that_may_not_change() {
    expect![[r#"
        workflow test version 1
        input test/1
        read ask:  ->  | , settled no effect
          input recorded [input]
          policies retry=default query=default compensation=default
          waits for []
        step hold:  ->  | , settled by query
          compensation settled by query, in doubt Fence
          input recorded [input, ask]
          policies retry=default query=default compensation=default
          waits for [ask]
        step book:  ->  | , settled by repeating
          compensation settled by query, in doubt Wait
          input recorded [hold]
          policies retry=default query=default compensation=default
          waits for [ask, hold]
        pivot pay:  ->  | , settled by query
          input recorded [book]
          policies retry=default query=default compensation=default
          waits for [ask, hold, book]
        retriable ship:  ->  | , settled by operator
          input recorded [pay]
          policies retry=default query=default compensation=default
          waits for [pay]
        result pay
    "#]]
    .assert_eq(&shape(&plan(PLAN)));
}

#[test]
fn another_declaration_is_another_shape() {
    let plain = plan(PLAN);
    let mut seen = BTreeSet::from([plain.digest.to_string()]);
    for (what, here, there) in [
        ("name", "ship(pay)", "send(pay)"),
        ("kind", "read ask(input)", "step ask(input) by-query"),
        ("data", "hold(input,ask)", "hold(ask)"),
        ("order without data", " after=ask", ""),
        ("shaped input", "book(hold) by-repeating", "book(hold) shaped by-repeating"),
        ("settlement", "pay(book) by-query", "pay(book) by-repeating"),
        ("settlement of a compensation", "undo-by-query", "undo-by-operator"),
        ("doubt", " fence", ""),
        ("result", "result pay", "result ship"),
    ] {
        let text = PLAN.replace(here, there);
        assert_ne!(text, PLAN, "{what}");
        assert!(seen.insert(plan(&text).digest.to_string()), "{what}");
    }
    let mut changed = plan(PLAN);
    changed.steps[1].schemas.input = "hold/2".into();
    let mut shapes = BTreeSet::from([shape(&plain), shape(&changed)]);
    changed.steps[1].schemas.output = "held/2".into();
    shapes.insert(shape(&changed));
    changed.steps[1].schemas.refusal = "refused/2".into();
    shapes.insert(shape(&changed));
    changed.input_schema = "order/2".into();
    shapes.insert(shape(&changed));
    changed.steps[1].retry.name = "patient".into();
    shapes.insert(shape(&changed));
    changed.steps[1].query.name = "patient".into();
    shapes.insert(shape(&changed));
    changed.steps[1].compensation.name = "patient".into();
    shapes.insert(shape(&changed));
    assert_eq!(shapes.len(), 8, "every schema tag and every policy's name is in the shape");
}

#[test]
fn another_policy_number_is_the_same_shape() {
    let numbers = "policy attempts=9 base=9s cap=9s give-up=9h exhausted=turn-back\n query-policy queries=9";
    assert_eq!(plan(&format!("{PLAN}{numbers}")).digest, plan(PLAN).digest);
    let contract = PLAN.replace("by-query fence", "by-query window=9s retention=9h keeps-answers fence");
    assert_eq!(plan(&contract).digest, plan(PLAN).digest);
}
