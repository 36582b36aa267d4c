//! Branches: decided once, and what follows from the side that is not taken.

use amends_core::plan::draw;
use expect_test::{Expect, expect};

use crate::plan_text::{plan, try_plan};
use crate::script::{check, play};

/// The words of a wrong plan.
fn refused(plan: &str, expected: Expect) {
    let problems = try_plan(plan).expect_err("the plan is wrong");
    expected.assert_eq(&(problems.join("\n") + "\n"));
}

const GIFT: &str = "
    step check(input) by-query
    when gift(check)
    step wrap(input) by-query if=gift
    step card(wrap) by-query if=gift
    step pack(check,gift) by-query
";

const SPEED: &str = "
    read ask(input)
    either speed(ask)
    step fast(input) by-query if=speed
    step slow(input) by-query unless=speed
    step book(speed) by-query
";

#[test]
fn a_branch_that_is_taken_goes_on_like_any_other_steps() {
    check(
        GIFT,
        "run check\n agenda\n decide gift yes\n run wrap\n run card\n run pack",
        expect![[r#"
        0s     saga started
        0s     check#1 started (Ready)
        0s     check#1 succeeded: "check"
        0s     ?
          do: decide gift
        0s     branch gift: yes
        0s     wrap#1 started (Ready)
        0s     wrap#1 succeeded: "wrap"
        0s     card#1 started (Ready)
        0s     card#1 succeeded: "card"
        0s     pack#1 started (Ready)
        0s     pack#1 succeeded: "pack"
        0s     completed
        = COMPLETED
          check: SUCCEEDED applied
          wrap: SUCCEEDED applied
          card: SUCCEEDED applied
          pack: SUCCEEDED applied
    "#]],
    );
}

#[test]
fn a_branch_that_is_not_taken_is_skipped_with_the_decision() {
    check(
        GIFT,
        "run check\n decide gift no\n agenda\n run pack",
        expect![[r#"
        0s     saga started
        0s     check#1 started (Ready)
        0s     check#1 succeeded: "check"
        0s     branch gift: no
        0s     ?
          do: start pack#1 in lane first, until 86400s
          wake: 86400s for deadline of pack
          queues: pack since 0s
        0s     pack#1 started (Ready)
        0s     pack#1 succeeded: "pack"
        0s     completed
        = COMPLETED
          check: SUCCEEDED applied
          wrap: SKIPPED none
          card: SKIPPED none
          pack: SUCCEEDED applied
    "#]],
    );
}

#[test]
fn either_goes_on_with_the_side_that_is_taken() {
    check(
        SPEED,
        "run ask\n decide speed no\n run slow\n run book",
        expect![[r#"
        0s     saga started
        0s     ask#1 started (Ready)
        0s     ask#1 succeeded: "ask"
        0s     branch speed: no
        0s     slow#1 started (Ready)
        0s     slow#1 succeeded: "slow"
        0s     book#1 started (Ready)
        0s     book#1 succeeded: "book"
        0s     completed
        = COMPLETED
          ask: SUCCEEDED none
          fast: SKIPPED none
          slow: SUCCEEDED applied
          book: SUCCEEDED applied
    "#]],
    );
}

#[test]
fn nothing_of_a_branch_begins_before_its_decision_and_it_is_decided_once() {
    check(
        GIFT,
        "begin wrap\n decide gift yes\n run check\n begin wrap\n begin pack\n decide gift yes\n decide gift no
         decide other yes",
        expect![[r#"
            0s     saga started
            0s     (begin wrap: decide: `wrap/forward` is PENDING, not due to start)
            0s     (decide gift yes: decide: the branch `gift` waits for `check`)
            0s     check#1 started (Ready)
            0s     check#1 succeeded: "check"
            0s     (begin wrap: decide: `wrap/forward` is PENDING, not due to start)
            0s     (begin pack: decide: `pack/forward` is PENDING, not due to start)
            0s     branch gift: yes
            0s     (decide gift no: decide: the branch `gift` is decided: taken)
            0s     (decide other yes: decide: the workflow has no branch `other`)
            = RUNNING
              check: SUCCEEDED applied
              wrap: READY none
              card: PENDING none
              pack: PENDING none
              do: start wrap#1 in lane first, until 86400s
              wake: 86400s for deadline of wrap
              queues: wrap since 0s
        "#]],
    );
}

#[test]
fn a_decision_survives_a_crash_and_a_crash_before_it_loses_nothing() {
    check(
        GIFT,
        "run check\n crash\n decide gift no\n crash\n decide gift yes",
        expect![[r#"
        0s     saga started
        0s     check#1 started (Ready)
        0s     check#1 succeeded: "check"
        0s     claimed
        0s     branch gift: no
        0s     claimed
        0s     (decide gift yes: decide: the branch `gift` is decided: not taken)
        = RUNNING
          check: SUCCEEDED applied
          wrap: SKIPPED none
          card: SKIPPED none
          pack: READY none
          do: start pack#1 in lane first, until 86400s
          wake: 86400s for deadline of pack
          queues: pack since 0s
    "#]],
    );
}

#[test]
fn a_skipped_side_holds_no_compensation_back() {
    check(
        GIFT,
        "run check\n decide gift no\n begin pack\n refuse pack\n run undo:check",
        expect![[r#"
            0s     saga started
            0s     check#1 started (Ready)
            0s     check#1 succeeded: "check"
            0s     branch gift: no
            0s     pack#1 started (Ready)
            0s     pack#1 refused: "no" → reject
            0s     turned back: pack refused
            0s     undo:check#1 started (Ready)
            0s     undo:check#1 succeeded: "Undone"
            0s     compensated
            = COMPENSATED (pack refused)
              check: SUCCEEDED applied · undo SUCCEEDED applied
              wrap: SKIPPED none
              card: SKIPPED none
              pack: TERMINAL_REJECTED none
        "#]],
    );
}

#[test]
fn the_side_that_was_taken_is_undone_before_what_its_decision_read() {
    check(
        GIFT,
        "run check\n decide gift yes\n run wrap\n begin card\n refuse card\n begin undo:check\n run undo:wrap
         run undo:check",
        expect![[r#"
            0s     saga started
            0s     check#1 started (Ready)
            0s     check#1 succeeded: "check"
            0s     branch gift: yes
            0s     wrap#1 started (Ready)
            0s     wrap#1 succeeded: "wrap"
            0s     card#1 started (Ready)
            0s     card#1 refused: "no" → reject
            0s     turned back: card refused
            0s     (begin undo:check: decide: `check/compensation` is PENDING, not due to start)
            0s     undo:wrap#1 started (Ready)
            0s     undo:wrap#1 succeeded: "Undone"
            0s     undo:check#1 started (Ready)
            0s     undo:check#1 succeeded: "Undone"
            0s     compensated
            = COMPENSATED (card refused)
              check: SUCCEEDED applied · undo SUCCEEDED applied
              wrap: SUCCEEDED applied · undo SUCCEEDED applied
              card: TERMINAL_REJECTED none
              pack: SKIPPED none
        "#]],
    );
}

#[test]
fn a_saga_that_turns_back_decides_no_branch_any_more() {
    check(
        "step a(input) by-query\n step b(input) by-query\n when x(a)\n step c(input) by-query if=x\n result x",
        "begin b\n run a\n refuse b\n decide x yes\n condition-fails x\n run undo:a",
        expect![[r#"
            0s     saga started
            0s     b#1 started (Ready)
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     b#1 refused: "no" → reject
            0s     turned back: b refused
            0s     (decide x yes: decide: the saga has turned back or ended: nothing goes forward)
            0s     (condition-fails x: decide: the saga has turned back or ended: nothing goes forward)
            0s     undo:a#1 started (Ready)
            0s     undo:a#1 succeeded: "Undone"
            0s     compensated
            = COMPENSATED (b refused)
              a: SUCCEEDED applied · undo SUCCEEDED applied
              b: TERMINAL_REJECTED none
              c: SKIPPED none
        "#]],
    );
}

#[test]
fn a_condition_that_fails_puts_the_first_step_of_the_branch_into_quarantine() {
    check(
        GIFT,
        "run check\n condition-fails gift\n agenda\n condition-fails card\n accept wrap \"x\" op1\n decide gift no
         resume wrap op2",
        expect![[r#"
            0s     saga started
            0s     check#1 started (Ready)
            0s     check#1 succeeded: "check"
            0s     wrap persistent (condition) → quarantine, input
            0s     ?
              desk: wrap on quarantine, input since 0s, attempts 0, effect none, persistent (condition)
            0s     (condition-fails card: decide: the workflow has no branch `card`)
            0s     (accept wrap "x" op1: decide: the branch `gift` is not decided)
            0s     branch gift: no
            0s     (resume wrap op2: decide: only a QUARANTINED action can be resumed, and `wrap/forward` is SKIPPED)
            = RUNNING
              check: SUCCEEDED applied
              wrap: SKIPPED none
              card: SKIPPED none
              pack: READY none
              do: start pack#1 in lane first, until 86400s
              wake: 86400s for deadline of pack
              queues: pack since 0s
        "#]],
    );
}

#[test]
fn a_resume_asks_for_the_decision_anew_and_the_step_still_waits_for_the_others() {
    check(
        "step a(input) by-query
         step b(input) by-query
         when x(a)
         step c(b) by-query if=x
         step d(a,x) by-query",
        "run a\n condition-fails x\n resume c op1\n begin c\n at 1s decide x yes\n begin c\n agenda\n run b\n run c",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     c persistent (condition) → quarantine, input
            0s     c resumed: 3 attempts, until 86400s
            0s     answered op1, Resume: accepted
            0s     (begin c: decide: `c/forward` waits for other steps, or for a decision)
            1s     branch x: yes
            1s     (begin c: decide: `c/forward` waits for other steps, or for a decision)
            1s     ?
              do: start b#1 in lane first, until 86400s
              wake: 86400s for deadline of b
              queues: b since 0s
            1s     b#1 started (Ready)
            1s     b#1 succeeded: "b"
            1s     c#1 started (Ready)
            1s     c#1 succeeded: "c"
            = RUNNING
              a: SUCCEEDED applied
              b: SUCCEEDED applied
              c: SUCCEEDED applied
              d: READY none
              do: start d#1 in lane first, until 86401s
              wake: 86401s for deadline of d
              queues: d since 1s
        "#]],
    );
}

#[test]
fn a_resumed_branch_that_is_then_not_taken_skips_the_resumed_step() {
    check(
        GIFT,
        "run check\n condition-fails gift\n resume wrap op1\n decide gift no\n run pack",
        expect![[r#"
        0s     saga started
        0s     check#1 started (Ready)
        0s     check#1 succeeded: "check"
        0s     wrap persistent (condition) → quarantine, input
        0s     wrap resumed: 3 attempts, until 86400s
        0s     answered op1, Resume: accepted
        0s     branch gift: no
        0s     pack#1 started (Ready)
        0s     pack#1 succeeded: "pack"
        0s     completed
        = COMPLETED
          check: SUCCEEDED applied
          wrap: SKIPPED none
          card: SKIPPED none
          pack: SUCCEEDED applied
    "#]],
    );
}

#[test]
fn a_branch_in_quarantine_is_skipped_by_the_turn() {
    check(
        GIFT,
        "run check\n condition-fails gift\n cancel op1\n run undo:check",
        expect![[r#"
        0s     saga started
        0s     check#1 started (Ready)
        0s     check#1 succeeded: "check"
        0s     wrap persistent (condition) → quarantine, input
        0s     turned back: cancelled by ann
        0s     answered op1, Cancel: accepted
        0s     undo:check#1 started (Ready)
        0s     undo:check#1 succeeded: "Undone"
        0s     compensated
        = COMPENSATED (cancelled by ann)
          check: SUCCEEDED applied · undo SUCCEEDED applied
          wrap: SKIPPED none
          card: SKIPPED none
          pack: SKIPPED none
    "#]],
    );
}

#[test]
fn a_branch_inside_the_side_not_taken_is_never_decided() {
    check(
        "read a(input)
         either outer(a)
         step b(input) by-query if=outer
         when inner(b) if=outer
         step c(input) by-query if=inner
         step d(input) by-query unless=outer
         step e(outer) by-query",
        "run a\n decide inner yes\n decide outer no\n decide inner yes\n run d\n run e",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     (decide inner yes: decide: the branch `inner` stands in a side that is not taken so far)
            0s     branch outer: no
            0s     (decide inner yes: decide: the branch `inner` stands in a side that is not taken so far)
            0s     d#1 started (Ready)
            0s     d#1 succeeded: "d"
            0s     e#1 started (Ready)
            0s     e#1 succeeded: "e"
            0s     completed
            = COMPLETED
              a: SUCCEEDED none
              b: SKIPPED none
              c: SKIPPED none
              d: SUCCEEDED applied
              e: SUCCEEDED applied
        "#]],
    );
}

#[test]
fn a_branch_inside_the_side_taken_is_decided_by_itself() {
    check(
        "read a(input)
         when outer(a) gives=inner
         step b(input) by-query if=outer
         when inner(b) if=outer
         step c(input) by-query if=inner
         step e(outer) by-query",
        "run a\n decide outer yes\n run b\n decide inner no\n run e",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     branch outer: yes
            0s     b#1 started (Ready)
            0s     b#1 succeeded: "b"
            0s     branch inner: no
            0s     e#1 started (Ready)
            0s     e#1 succeeded: "e"
            0s     completed
            = COMPLETED
              a: SUCCEEDED none
              b: SUCCEEDED applied
              c: SKIPPED none
              e: SUCCEEDED applied
        "#]],
    );
}

#[test]
fn the_pivot_waits_for_the_branches_before_it_and_those_behind_it_wait_for_the_pivot() {
    check(
        "read a(input)
         when x(a)
         step b(input) by-query if=x
         pivot p(input) by-query
         when y(a)
         retriable c(input) by-query if=y
         retriable d(input) by-query",
        "run a\n begin p\n decide y yes\n decide x no\n run p\n decide y no\n run d",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     (begin p: decide: `p/forward` is PENDING, not due to start)
            0s     (decide y yes: decide: the branch `y` waits for `p`)
            0s     branch x: no
            0s     p#1 started (Ready)
            0s     p#1 succeeded: "p"
            0s     branch y: no
            0s     d#1 started (Ready)
            0s     d#1 succeeded: "d"
            0s     completed
            = COMPLETED
              a: SUCCEEDED none
              b: SKIPPED none
              p: SUCCEEDED applied
              c: SKIPPED none
              d: SUCCEEDED applied
        "#]],
    );
}

#[test]
fn what_a_decision_reads_must_be_given_when_a_person_accepts() {
    const PLAN: &str = "
        step check(input) by-query
        when gift(check)
        step wrap(input) by-query if=gift
        step pack(input) by-query";
    let told = play(PLAN, "begin check\n persistent check\n accept check op1").told();
    assert!(told.contains("needs the output of `check`"), "{told}");
}

#[test]
fn who_uses_what_a_branch_gives_waits_for_the_decision_even_if_the_value_is_from_outside() {
    check(
        "read a(input)
         when x(a) gives=input
         step b(input) by-query if=x
         step c(x) by-query",
        "run a\n begin c\n decide x yes\n run c",
        expect![[r#"
            0s     saga started
            0s     a#1 started (Ready)
            0s     a#1 succeeded: "a"
            0s     (begin c: decide: `c/forward` is PENDING, not due to start)
            0s     branch x: yes
            0s     c#1 started (Ready)
            0s     c#1 succeeded: "c"
            = RUNNING
              a: SUCCEEDED none
              b: READY none
              c: SUCCEEDED applied
              do: start b#1 in lane first, until 86400s
              wake: 86400s for deadline of b
              queues: b since 0s
        "#]],
    );
}

#[test]
fn a_pivot_cannot_stand_in_a_branch() {
    refused(
        "read a(input)\n when x(a)\n pivot p(input) by-query if=x",
        expect![[r#"
            the pivot `p` stands inside the branch `x`: the point of no return cannot be skipped
            the result uses `p`, which is made inside the branch `x` and may never be: use what the branch gives
        "#]],
    );
}

#[test]
fn what_is_made_in_a_branch_is_locked_in_it() {
    refused(
        "read a(input)
         when x(a)
         step b(input) by-query if=x
         either y(b)
         step c(input) by-query if=y
         step d(c) by-query unless=y
         step e(b,x,y) by-query
         result b",
        expect![[r#"
            `d` uses `c`, which is made inside the branch `y` and may never be: use what the branch gives
            `e` uses `b`, which is made inside the branch `x` and may never be: use what the branch gives
            the condition of branch `y` uses `b`, which is made inside the branch `x` and may never be: use what the branch gives
            the result uses `b`, which is made inside the branch `x` and may never be: use what the branch gives
        "#]],
    );
}

#[test]
fn a_branch_does_not_give_to_itself() {
    refused(
        "read a(input)\n when x(a)\n step b(x) by-query if=x\n step c(input) by-query",
        expect![[r#"
        `b` uses `x`, which is made inside the branch `x` and may never be: use what the branch gives
    "#]],
    );
}

#[test]
fn branches_have_names_of_their_own_and_steps_on_each_side() {
    refused(
        "read a(input)
         when a(a)
         when x(a)
         either x(a)
         step b(input) by-query if=x
         step c(input) by-query",
        expect![[r#"
            `a` names a branch, and another branch or a step too
            `x` names a branch, and another branch or a step too
            the branch `a` has no step at all
            the branch `x` has no step on its first side
            the branch `x` has no step on its second side
        "#]],
    );
    refused(
        "read a(input)
         when x(a)
         either y(a)
         step b(input) by-query if=y
         step c(input) by-query",
        expect![[r#"
            the branch `x` has no step at all
            the branch `y` has no step on its second side
        "#]],
    );
}

#[test]
fn branches_that_wait_for_each_other_are_refused() {
    refused(
        "read a(input)
         when x(a) gives=y
         step b(input) by-query if=x
         when y(a) gives=x
         step c(input) by-query if=y
         step d(input) by-query",
        expect![[r#"
            `x` waits for itself through other steps
            `y` waits for itself through other steps
        "#]],
    );
}

/// A branch in a branch, on both sides of the pivot.
const PARCEL: &str = "
    workflow parcel v2
    read rate(input)
    either carrier(rate) shaped
    step book-express(rate) by-query if=carrier
    step book-bulk(input) by-query unless=carrier
    when insured(book-bulk) unless=carrier
    step insure(book-bulk) by-repeating if=insured
    pivot pay(carrier) by-query
    when note(input) after=rate
    retriable write-note(pay) by-repeating if=note
    read receipt(pay,note)
";

#[test]
fn branches_are_in_the_shape_that_may_not_change() {
    let plan = plan(PARCEL);
    let shape = amends_core::plan::digest::shape(&plan);
    let branches = shape.lines().skip_while(|line| !line.starts_with("either"));
    let text: Vec<&str> = branches.collect();
    expect![[r#"
        either carrier: 
          condition shaped [rate]
          taken [book-express] gives book-express
          otherwise [book-bulk] gives book-bulk
          waits for [rate]
        when insured: 
          within carrier otherwise
          condition recorded [book-bulk]
          taken [insure] gives insure
          waits for [rate, book-bulk]
        when note: 
          condition recorded [input]
          taken [write-note] gives write-note
          waits for [rate, pay]
        result receipt
    "#]]
    .assert_eq(&(text.join("\n") + "\n"));
    expect!["1d1d9a73fc1fab955fc49d0aa7db798229c88255911f3a53d8df4a59ab17d7c4"]
        .assert_eq(&plan.digest.to_string());
}

#[test]
fn another_side_another_condition_or_another_gift_is_another_shape() {
    let changed = [
        (
            "side",
            PARCEL.replace(
                "insure(book-bulk) by-repeating if=insured",
                "insure(input) by-repeating unless=carrier",
            ),
        ),
        ("condition", PARCEL.replace("when note(input)", "when note(rate)")),
        ("shaped", PARCEL.replace("when note(input)", "when note(input) shaped")),
        (
            "gift",
            PARCEL.replace(
                "either carrier(rate) shaped",
                "either carrier(rate) shaped gives=book-express,input",
            ),
        ),
        ("order", PARCEL.replace(" after=rate", "")),
        ("name", PARCEL.replace("note", "card")),
    ];
    let plain = plan(PARCEL).digest;
    let mut seen = std::collections::BTreeSet::from([plain.to_string()]);
    for (what, text) in changed {
        let text =
            if what == "side" { text.replace("when insured(book-bulk) unless=carrier", "") } else { text };
        assert!(seen.insert(plan(&text).digest.to_string()), "{what}");
    }
}

#[test]
fn a_branch_as_mermaid() {
    expect![[r#"
        flowchart LR
            s0(["rate"])
            s1["book-express ↺ ?"]
            s2["book-bulk ↺ ?"]
            s3["insure ↺ ?"]
            s4{{"pay"}}
            s5["write-note ?"]
            s6(["receipt"])
            b0{"carrier?"}
            b1{"insured?"}
            b2{"note?"}
            s0 --> s1
            s2 --> s3
            s1 --> s4
            s2 --> s4
            s3 ==> s4
            s4 --> s5
            s4 --> s6
            s5 --> s6
            s0 --> b0
            b0 -->|yes| s1
            b0 -->|no| s2
            s2 --> b1
            b1 -->|yes| s3
            s0 --> b2
            b2 -->|yes| s5
            b2 -->|no| s6
            class s0 read
            class s4 pivot
            class s6 read
            classDef pivot stroke-width:3px
            classDef read stroke-dasharray:4 3
    "#]]
    .assert_eq(&draw::mermaid(&plan(PARCEL)));
}

#[test]
fn a_branch_as_dot() {
    expect![[r#"
        digraph "parcel 2" {
            rankdir=LR;
            node [shape=box];
            s0 [label="rate", style="rounded,dashed"];
            s1 [label="book-express ↺ ?"];
            s2 [label="book-bulk ↺ ?"];
            s3 [label="insure ↺ ?"];
            s4 [label="pay", shape=hexagon, penwidth=3];
            s5 [label="write-note ?"];
            s6 [label="receipt", style="rounded,dashed"];
            b0 [label="carrier?", shape=diamond];
            b1 [label="insured?", shape=diamond];
            b2 [label="note?", shape=diamond];
            s0 -> s1;
            s2 -> s3;
            s1 -> s4;
            s2 -> s4;
            s3 -> s4 [penwidth=3];
            s4 -> s5;
            s4 -> s6;
            s5 -> s6;
            s0 -> b0;
            b0 -> s1 [label=yes];
            b0 -> s2 [label=no];
            s2 -> b1;
            b1 -> s3 [label=yes];
            s0 -> b2;
            b2 -> s5 [label=yes];
            b2 -> s6 [label=no];
        }
    "#]]
    .assert_eq(&draw::dot(&plan(PARCEL)));
}

#[test]
fn a_branch_as_text() {
    expect![[r#"
                    ╭╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╮
                    ╎       rate        ╎
                    ╰╌╌╌╌╌╌╌╌╌┬╌╌╌╌╌╌╌╌╌╯
                  ┌───────────┴───────────┐
                  ▼                       ▼
        ┌───────────────────┐   ┌───────────────────┐
        │ book-express ↺ ?  │   │   book-bulk ↺ ?   │
        └─────────┬─────────┘   └─────────┬─────────┘
                  │                       ▼
                  │             ┌───────────────────┐
                  │             │    insure ↺ ?     │
                  │             └─────────┬─────────┘
                  └───────────┬───────────┘
                              ▼
                    ╔═══════════════════╗
                    ║        pay        ║
                    ╚═════════╤═════════╝
                              ▼
                    ┌───────────────────┐
                    │   write-note ?    │
                    └─────────┬─────────┘
                              ▼
                    ╭╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╮
                    ╎      receipt      ╎
                    ╰╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╯

        ↺ has a compensation   ═ pivot: no way back   ╌ read   ? in a branch
        if carrier: book-express; otherwise book-bulk
        unless carrier, if insured: insure
        if note: write-note
    "#]]
    .assert_eq(&draw::text(&plan(PARCEL)));
}

#[test]
fn a_branch_as_json() {
    let json = draw::json(&plan(PARCEL));
    let branches = json.split_once("\n  \"branches\"").expect("the branches stand last").1;
    expect![[r#"
        : [
            {
              "name": "carrier",
              "kind": "either",
              "condition": {
                "shaped": true,
                "sources": [
                  "rate"
                ]
              },
              "waits_for": [
                "rate"
              ],
              "taken": {
                "steps": [
                  "book-express"
                ],
                "gives": "book-express"
              },
              "otherwise": {
                "steps": [
                  "book-bulk"
                ],
                "gives": "book-bulk"
              },
              "schema": ""
            },
            {
              "name": "insured",
              "kind": "when",
              "within": {
                "branch": "carrier",
                "taken": false
              },
              "condition": {
                "shaped": false,
                "sources": [
                  "book-bulk"
                ]
              },
              "waits_for": [
                "rate",
                "book-bulk"
              ],
              "taken": {
                "steps": [
                  "insure"
                ],
                "gives": "insure"
              },
              "schema": ""
            },
            {
              "name": "note",
              "kind": "when",
              "condition": {
                "shaped": false,
                "sources": [
                  "input"
                ]
              },
              "waits_for": [
                "rate",
                "pay"
              ],
              "taken": {
                "steps": [
                  "write-note"
                ],
                "gives": "write-note"
              },
              "schema": ""
            }
          ]
        }"#]]
    .assert_eq(branches);
}
