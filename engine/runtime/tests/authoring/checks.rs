//! `finish()` names everything that is wrong with a definition.

use amends::prelude::*;
use expect_test::{Expect, expect};

use super::steps::work;

fn check<I: Payload, O: Payload>(built: Result<Saga<I, O>, PlanErrors>, expected: Expect) {
    let problems = built.expect_err("the definition is wrong").problems;
    expected.assert_eq(&problems.join("\n"));
}

#[test]
fn all_problems_are_reported_at_once_by_name() {
    let (mut other, elsewhere) = SagaBuilder::<u64>::new("payment", 7);
    let theirs = other.step("charge", work(), elsewhere);

    let (mut s, order) = SagaBuilder::<u64>::new("order saga", 1);
    s.step("reserve", work(), theirs);
    s.step("reserve", work(), order.after(theirs));
    s.step("white space", work(), order);
    s.step("", work(), order);
    check(
        s.finish(theirs),
        expect![[r#"
        `reserve` uses the handle `charge` of another builder (workflow `payment` version 7): use a handle that this builder returned
        `reserve` uses the handle `charge` of another builder (workflow `payment` version 7): use a handle that this builder returned
        `order saga` is not a workflow name: use 1 to 100 of a-z, A-Z, 0-9, `-`, `_` and `.`
        the result uses the handle `charge` of another builder (workflow `payment` version 7): use a handle that this builder returned
        two steps are named `reserve`
        `white space` is not a step name: use 1 to 100 of a-z, A-Z, 0-9, `-`, `_` and `.`
        `` is not a step name: use 1 to 100 of a-z, A-Z, 0-9, `-`, `_` and `.`"#]],
    );
}

#[test]
fn a_saga_without_steps_is_refused() {
    let (s, order) = SagaBuilder::<u64>::new("order", 1);
    check(s.finish(order), expect!["the saga has no steps"]);
}

#[test]
fn a_result_from_a_longer_definition_is_refused_not_looked_up() {
    let (mut other, elsewhere) = SagaBuilder::<u64>::new("order", 1);
    let first = other.step("a", work(), elsewhere);
    let second = other.step("b", work(), first);

    let (mut s, order) = SagaBuilder::<u64>::new("order", 1);
    s.step("a", work(), order);
    check(
        s.finish(second),
        expect![
            "the result uses the handle `b` of another builder (workflow `order` version 1): use a handle that this builder returned"
        ],
    );
}

#[test]
fn the_error_says_what_failed() {
    let (s, order) = SagaBuilder::<u64>::new("order", 1);
    let error = s.finish(order).expect_err("there is no step");
    expect!["failed to define workflow `order`: the saga has no steps"].assert_eq(&error.to_string());
}
