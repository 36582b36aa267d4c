//! Where a step's input comes from: recorded values, functions of them, and what was journalled.

use std::sync::Arc;

use amends::core::event::{Omitted, Recorded};
use amends::core::plan::Input;
use amends::core::state::{Action, Phase, StepState};
use amends::core::{Incarnation, Json, SagaId, SagaState, Timestamp};
use amends::prelude::*;
use amends::{Definition, InputProblem, Prepared, Values};
use expect_test::{Expect, expect};
use uuid::Uuid;

use super::steps::work;

/// A saga with input 5, whose steps have these outputs so far.
fn state(plan: &amends::core::SagaPlan, outputs: &[Option<Recorded>]) -> SagaState {
    let steps = plan.steps.iter().enumerate().map(|(at, step)| StepState {
        forward: Action { output: outputs.get(at).cloned().flatten(), ..Action::default() },
        undo: step.undo.map(|_| Action::default()),
        shaped: None,
        waived: false,
        manual: Vec::new(),
    });
    SagaState {
        id: SagaId(Uuid::from_u128(1)),
        key: "order-5".into(),
        input: Json::parse("5").expect("JSON"),
        phase: Phase::Running,
        turned: None,
        wishes: Vec::new(),
        late: false,
        paused: None,
        closing: None,
        notes: Default::default(),
        owner: Incarnation(Uuid::from_u128(2)),
        started_at: Timestamp(0),
        occurred_at: Timestamp(0),
        trace: None,
        tenant: None,
        deadline: None,
        ended_at: None,
        at: Timestamp(0),
        steps: steps.collect(),
        branches: Vec::new(),
        answers: Default::default(),
    }
}

/// The input of the last step.
pub(crate) fn prepare(
    definition: &Definition,
    outputs: &[Option<Recorded>],
    shaped: Option<&str>,
) -> Result<Prepared, InputProblem> {
    let plan: &Arc<_> = &definition.plan;
    let state = state(plan, outputs);
    let shaped = shaped.map(|text| Json::parse(text).expect("JSON"));
    let node = definition.nodes.last().expect("there is a step");
    node.prepare(Values { plan, state: &state }, shaped.as_ref())
}

fn value(text: &str) -> Option<Recorded> {
    Some(Recorded::Value(Json::parse(text).expect("JSON")))
}

/// `first`, then `second` with what `input` makes of the saga's input and the first output.
fn two_steps<H: amends::Gives<u64>>(input: impl FnOnce(Handle<u64>, Handle<u64>) -> H) -> Definition {
    let (mut s, order) = SagaBuilder::<u64>::new("order", 1);
    let first = s.step("first", work(), order);
    let second = s.step("second", work(), input(order, first));
    let saga = s.finish(second).expect("a good definition");
    saga.resolve(&Policies::new()).expect("possible numbers")
}

fn number(prepared: &Prepared) -> u64 {
    *prepared.value.downcast_ref::<u64>().expect("the input of `Work`")
}

fn check_problem(prepared: Result<Prepared, InputProblem>, expected: Expect) {
    expected.assert_eq(&prepared.err().expect("the input cannot be built").to_string());
}

#[test]
fn a_handle_is_a_recorded_input_that_the_journal_refers_to() {
    let definition = two_steps(|_, first| first);
    assert!(matches!(definition.plan.steps[1].input, Input::Recorded(_)));
    let prepared = prepare(&definition, &[value("6")], None).unwrap();
    assert_eq!((number(&prepared), prepared.shaped), (6, None));
}

#[test]
fn what_a_function_shapes_is_handed_over_for_the_journal() {
    let definition = two_steps(|order, _| order.map(|n| n * 100));
    assert!(matches!(definition.plan.steps[1].input, Input::Shaped(_)));
    let prepared = prepare(&definition, &[], None).unwrap();
    assert_eq!(number(&prepared), 500);
    assert_eq!(prepared.shaped.unwrap().text(), "500");
}

#[test]
fn a_journalled_input_is_used_again_and_the_function_is_not_asked() {
    let definition = two_steps(|order, _| order.map(|_| panic!("it is not asked again")));
    let prepared = prepare(&definition, &[], Some("42")).unwrap();
    assert_eq!((number(&prepared), prepared.shaped), (42, None));
}

#[test]
fn a_journalled_input_that_is_no_longer_one_is_a_problem() {
    let definition = two_steps(|order, _| order.map(|n| n));
    check_problem(
        prepare(&definition, &[], Some("\"text\"")),
        expect![[
            r#"build the step's input: the recorded input is not a `u64`: invalid type: string "text", expected u64 at line 1 column 6"#
        ]],
    );
}

#[test]
fn a_function_that_panics_is_a_problem_with_its_words() {
    let fixed = two_steps(|order, _| order.map(|_| -> u64 { panic!("no price list") }));
    check_problem(
        prepare(&fixed, &[], None),
        expect!["build the step's input: a function that shapes the input panicked: no price list"],
    );
    let formatted = two_steps(|order, _| order.map(|n| -> u64 { panic!("no price for {n}") }));
    check_problem(
        prepare(&formatted, &[], None),
        expect!["build the step's input: a function that shapes the input panicked: no price for 5"],
    );
}

#[test]
fn a_missing_or_omitted_output_is_named() {
    let definition = two_steps(|_, first| first);
    check_problem(prepare(&definition, &[], None), expect!["build the step's input: `first` has no result"]);
    let omitted = Omitted { reason: "larger than 1048576 bytes".into(), digest: None, size: 2_000_000 };
    check_problem(
        prepare(&definition, &[Some(Recorded::Omitted(omitted))], None),
        expect!["build the step's input: the result of `first` was not recorded (larger than 1048576 bytes)"],
    );
}

#[test]
fn a_recorded_output_that_no_longer_decodes_is_named() {
    let definition = two_steps(|_, first| first);
    check_problem(
        prepare(&definition, &[value("-1")], None),
        expect![
            "build the step's input: the recorded value of `first` is not a `u64`: invalid value: integer `-1`, expected u64 at line 1 column 2"
        ],
    );
    let node = &definition.nodes[0];
    expect!["not a `u64`: invalid type: map, expected u64 at line 1 column 0"]
        .assert_eq(&node.check_output(&Json::parse("{}").unwrap()).unwrap_err());
    assert_eq!(node.check_output(&Json::parse("7").unwrap()), Ok(()));
}

#[test]
fn a_shaped_input_that_may_not_be_kept_is_a_problem() {
    let (mut s, order) = SagaBuilder::<u64>::new("order", 1);
    let seen = s.read_fn("look", order.map(|_| "a\0b".to_owned()), |_, _: String| async { Ok(()) });
    let definition = s.finish(seen).unwrap().resolve(&Policies::new()).unwrap();
    check_problem(
        prepare(&definition, &[], None),
        expect!["build the step's input: the input cannot be kept: $: the text holds a NUL character"],
    );
}
