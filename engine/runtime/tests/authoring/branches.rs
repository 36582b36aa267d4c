//! Branches in a definition: what they give, what is locked in them, and what `finish()` says of it.

use std::cell::Cell;

use amends::core::plan::digest::shape;
use amends::prelude::*;
use expect_test::{Expect, expect};

use super::steps::work;

fn check<I: Payload, O: Payload>(built: Result<Saga<I, O>, PlanErrors>, expected: Expect) {
    let problems = built.expect_err("the definition is wrong").problems;
    expected.assert_eq(&problems.join("\n"));
}

/// Adds what is there.
async fn sum(_: StepContext, (base, extra): (u64, Option<u64>)) -> Result<u64, StepError<Never>> {
    Ok(base + extra.unwrap_or(0))
}

async fn dear(_: StepContext, amount: u64) -> Result<bool, StepError<Never>> {
    Ok(amount > 100)
}

#[test]
fn branches_on_both_sides_of_the_pivot_and_in_each_other() {
    let (mut s, order) = SagaBuilder::<u64>::new("order", 1);
    let dear = s.read_fn("dear", order, dear);
    let checked: Handle<Option<u64>> = s.when("check", dear, |b| {
        let first = b.step("first-check", work(), order);
        b.either(
            "second",
            first.map(|score| score > 3),
            |b| b.step("by-hand", work(), first),
            |b| b.read_fn("by-rule", (first, order), |_, (score, _): (u64, u64)| async move { Ok(score) }),
        )
    });
    let (captured, mut s) = s.pivot("capture", work(), order.after(checked));
    let told = s.when("tell", order.map(|amount| amount > 7).after(checked), |b| {
        b.retriable("write", work(), captured)
    });
    let total = s.read_fn("total", (captured, told), sum);
    let saga = s.finish(total).expect("a good definition");
    expect![[r#"
        workflow order version 1
        input u64
        read dear: u64 -> bool | never, settled no effect
          input recorded [input]
          policies retry=default query=default compensation=default
          waits for []
        step first-check: u64 -> u64 | never, settled by repeating
          compensation settled by repeating, in doubt Wait
          input recorded [input]
          policies retry=default query=default compensation=default
          waits for [dear]
        step by-hand: u64 -> u64 | never, settled by repeating
          compensation settled by repeating, in doubt Wait
          input recorded [first-check]
          policies retry=default query=default compensation=default
          waits for [dear, first-check]
        read by-rule: (u64, u64) -> u64 | never, settled no effect
          input recorded [first-check, input]
          policies retry=default query=default compensation=default
          waits for [dear, first-check]
        pivot capture: u64 -> u64 | never, settled by repeating
          input recorded [input]
          policies retry=default query=default compensation=default
          waits for [dear, first-check, by-hand, by-rule]
        retriable write: u64 -> u64 | never, settled by repeating
          input recorded [capture]
          policies retry=default query=default compensation=default
          waits for [first-check, by-hand, by-rule, capture]
        read total: (u64, optional(u64)) -> u64 | never, settled no effect
          input recorded [capture, tell]
          policies retry=default query=default compensation=default
          waits for [first-check, by-hand, by-rule, capture, write]
        when check: optional(u64)
          condition recorded [dear]
          taken [first-check] gives second
          waits for [dear]
        either second: u64
          within check taken
          condition shaped [first-check]
          taken [by-hand] gives by-hand
          otherwise [by-rule] gives by-rule
          waits for [dear, first-check]
        when tell: optional(u64)
          condition shaped [input]
          taken [write] gives write
          waits for [first-check, by-hand, by-rule, capture]
        result total
    "#]]
    .assert_eq(&shape(saga.plan()));
}

#[test]
fn what_is_made_in_a_branch_is_usable_only_inside_it() {
    let (mut s, order) = SagaBuilder::<u64>::new("order", 1);
    let leaked = Cell::new(None);
    let given = s.either(
        "express",
        order.map(|amount| amount > 3),
        |b| {
            let booked = b.step("book", work(), order);
            leaked.set(Some(booked));
            booked
        },
        |b| b.step("wait", work(), leaked.get().expect("the first side came first")),
    );
    let leaked = leaked.get().expect("the branch was declared");
    s.step("pack", work(), leaked);
    s.step("tell", work(), order.after(leaked));
    let late = s.when("late", leaked.map(|n| n > 1), |b| b.step("remind", work(), given));
    s.step("archive", work(), order.after(late));
    check(
        s.finish(leaked),
        expect![[r#"
        `tell` waits for `book`, which is made inside the branch `express` and may never be: wait for the branch
        `wait` uses `book`, which is made inside the branch `express` and may never be: use what the branch gives
        `pack` uses `book`, which is made inside the branch `express` and may never be: use what the branch gives
        the condition of branch `late` uses `book`, which is made inside the branch `express` and may never be: use what the branch gives
        the result uses `book`, which is made inside the branch `express` and may never be: use what the branch gives"#]],
    );
}

#[test]
fn a_side_without_a_step_a_name_used_twice_and_a_foreign_gift_are_refused() {
    let (mut other, elsewhere) = SagaBuilder::<u64>::new("payment", 7);
    let theirs = other.step("charge", work(), elsewhere);

    let (mut s, order) = SagaBuilder::<u64>::new("order", 1);
    let large = order.map(|amount| amount > 3);
    let first = s.step("express", work(), order);
    s.when("express", large, |b| b.step("book", work(), order));
    s.when("empty", order.map(|amount| amount > 3), |_| order);
    s.either("half", order.map(|amount| amount > 3), |b| b.step("one", work(), order), |_| first);
    s.when("foreign", theirs.map(|amount| amount > 3), |b| {
        b.step("two", work(), order);
        theirs
    });
    check(
        s.finish(first),
        expect![[r#"
        the condition of branch `foreign` uses the handle `charge` of another builder (workflow `payment` version 7): use a handle that this builder returned
        the value of branch `foreign` uses the handle `charge` of another builder (workflow `payment` version 7): use a handle that this builder returned
        `express` names a branch, and another branch or a step too
        the branch `empty` has no step at all
        the branch `half` has no step on its second side"#]],
    );
}

#[test]
fn a_saga_without_branches_has_the_digest_it_always_had() {
    let (mut s, order) = SagaBuilder::<u64>::new("order", 1);
    let reserved = s.step("reserve", work(), order);
    let saga = s.finish(reserved).expect("a good definition");
    assert!(!saga.json().contains("branches"));
    assert!(!shape(saga.plan()).contains("branch"));
}
