//! Branches and persons: what waits for one, and what each may do while a branch is not decided.

use expect_test::expect;

use crate::script::check;

const BEHIND: &str = "
    pivot pay(input) by-query
    read look(pay)
    when gift(look)
    retriable wrap(pay) by-repeating if=gift
    retriable card(wrap) by-repeating if=gift
    retriable tell(gift) by-repeating
    retriable end(pay) by-repeating after=tell
";

#[test]
fn while_a_branch_is_not_decided_its_first_step_can_be_resumed_and_waived_only() {
    check(
        BEHIND,
        "run pay\n run look\n condition-fails gift\n verbs wrap",
        expect![[r#"
        0s     saga started
        0s     pay#1 started (Ready)
        0s     pay#1 succeeded: "pay"
        0s     look#1 started (Ready)
        0s     look#1 succeeded: "look"
        0s     wrap persistent (condition) → quarantine, input
          Cancel the saga — too late
          TurnBack the saga — too late
          Pause the saga: paused; answered what-if, Pause: accepted
          Unpause the saga — the saga is not paused
          Close the saga: what-if asks to close it, naming []; answered what-if, Close: pending
          Approve the saga — no request to close it waits for another person
          Deny the saga — no request to close it waits for another person
          Assign the saga — the saga has no desk item of its own
          SetDisposition the saga — the saga has no desk item of its own
          RetryNow wrap — only a RETRY_SCHEDULED or RECONCILING action can be hurried, and `wrap/forward` is QUARANTINED
          Resume wrap: wrap resumed: 3 attempts, until 86400s; answered what-if, Resume: accepted
          SendAgain wrap — only a RECONCILING action can be sent again, and `wrap/forward` is QUARANTINED
          Accept wrap — the branch `gift` is not decided
          Found: not applied wrap — `wrap/forward` is QUARANTINED: it is known that it had no effect
          Found: refused wrap — `wrap/forward` is QUARANTINED: it is known that it had no effect
          Found: partial wrap — `wrap/forward` is QUARANTINED: it is known that it had no effect
          Reject wrap — the pivot has succeeded: recovery is forward
          Supply wrap — only the result of a SUCCEEDED step can be supplied, and `wrap/forward` is QUARANTINED
          CompensateInDoubt wrap — only a saga that has turned back compensates
          Approve wrap — nothing named `wrap/forward` waits for approval
          Deny wrap — nothing named `wrap/forward` waits for approval
          Keep wrap — only a RECONCILING action can be kept, and `wrap/forward` is QUARANTINED
          Assign wrap: item `wrap/forward` assigned to what-if; answered what-if, Assign: accepted
          SetDisposition wrap: item `wrap/forward` decided: what-if; answered what-if, SetDisposition: accepted
          Waive wrap: wrap waived; answered what-if, Waive: accepted
          Compensate wrap — the workflow has no compensation of `wrap`
        = RUNNING
          pay: SUCCEEDED applied
          look: SUCCEEDED none
          wrap: QUARANTINED none
          card: PENDING none
          tell: PENDING none
          end: PENDING none
          desk: wrap on quarantine, input since 0s, attempts 0, effect none, persistent (condition)
    "#]],
    );
}

#[test]
fn a_branch_whose_first_step_is_waived_is_asked_for_again() {
    check(
        BEHIND,
        "run pay\n run look\n condition-fails gift\n waive wrap op1\n agenda\n decide gift no\n run tell\n run end",
        expect![[r#"
            0s     saga started
            0s     pay#1 started (Ready)
            0s     pay#1 succeeded: "pay"
            0s     look#1 started (Ready)
            0s     look#1 succeeded: "look"
            0s     wrap persistent (condition) → quarantine, input
            0s     wrap waived
            0s     answered op1, Waive: accepted
            0s     ?
              do: decide gift
            0s     branch gift: no
            0s     tell#1 started (Ready)
            0s     tell#1 succeeded: "tell"
            0s     end#1 started (Ready)
            0s     end#1 succeeded: "end"
            0s     completed
            = COMPLETED
              pay: SUCCEEDED applied
              look: SUCCEEDED none
              wrap: SKIPPED none
              card: SKIPPED none
              tell: SUCCEEDED applied
              end: SUCCEEDED applied
        "#]],
    );
}

#[test]
fn a_waived_step_of_a_branch_that_is_taken_leaves_those_that_need_it_to_a_person() {
    check(
        BEHIND,
        "run pay\n run look\n condition-fails gift\n waive wrap op1\n decide gift yes\n waive card op2",
        expect![[r#"
            0s     saga started
            0s     pay#1 started (Ready)
            0s     pay#1 succeeded: "pay"
            0s     look#1 started (Ready)
            0s     look#1 succeeded: "look"
            0s     wrap persistent (condition) → quarantine, input
            0s     wrap waived
            0s     answered op1, Waive: accepted
            0s     branch gift: yes
            0s     card waived
            0s     answered op2, Waive: accepted
            = RUNNING
              pay: SUCCEEDED applied
              look: SUCCEEDED none
              wrap: SKIPPED none
              card: SKIPPED none
              tell: QUARANTINED none
              end: PENDING none
              desk: tell on quarantine, waived since 0s, attempts 0, effect none
        "#]],
    );
}

#[test]
fn a_branch_that_is_waived_as_a_whole_is_not_decided_any_more() {
    check(
        BEHIND,
        "run pay\n run look\n condition-fails gift\n waive wrap op1\n waive card op2\n decide gift yes\n agenda
         waive tell op3\n run end",
        expect![[r#"
            0s     saga started
            0s     pay#1 started (Ready)
            0s     pay#1 succeeded: "pay"
            0s     look#1 started (Ready)
            0s     look#1 succeeded: "look"
            0s     wrap persistent (condition) → quarantine, input
            0s     wrap waived
            0s     answered op1, Waive: accepted
            0s     card waived
            0s     answered op2, Waive: accepted
            0s     (decide gift yes: decide: the branch `gift` has nothing left to decide)
            0s     ?
              desk: tell on quarantine, waived since 0s, attempts 0, effect none
            0s     tell waived
            0s     answered op3, Waive: accepted
            0s     end#1 started (Ready)
            0s     end#1 succeeded: "end"
            0s     completed
            = COMPLETED
              pay: SUCCEEDED applied
              look: SUCCEEDED none
              wrap: SKIPPED none
              card: SKIPPED none
              tell: SKIPPED none
              end: SUCCEEDED applied
        "#]],
    );
}

#[test]
fn a_value_that_is_supplied_lets_the_decision_be_asked_for_again() {
    check(
        "step look(input) by-query
         when gift(look)
         step wrap(input) by-query if=gift
         step card(input) by-query if=gift
         step tell(gift) by-query",
        "begin look\n omitted look\n condition-fails gift\n supply look \"large\" op1\n agenda\n decide gift yes
         run card\n run wrap\n run tell",
        expect![[r#"
            0s     saga started
            0s     look#1 started (Ready)
            0s     look#1 succeeded: omitted (too large)
            0s     wrap persistent (condition) → quarantine, input
            0s     look supplied: "large"
            0s     answered op1, Supply: accepted
            0s     ?
              do: decide gift
              wake: 86400s for deadline of wrap
            0s     branch gift: yes
            0s     card#1 started (Ready)
            0s     card#1 succeeded: "card"
            0s     wrap#1 started (Ready)
            0s     wrap#1 succeeded: "wrap"
            0s     tell#1 started (Ready)
            0s     tell#1 succeeded: "tell"
            0s     completed
            = COMPLETED
              look: SUCCEEDED applied
              wrap: SUCCEEDED applied
              card: SUCCEEDED applied
              tell: SUCCEEDED applied
        "#]],
    );
}

#[test]
fn a_rejected_first_step_turns_the_saga_back() {
    check(
        "step look(input) by-query
         when gift(look)
         step wrap(input) by-query if=gift
         step tell(gift) by-query",
        "run look\n condition-fails gift\n reject wrap op1\n run undo:look",
        expect![[r#"
            0s     saga started
            0s     look#1 started (Ready)
            0s     look#1 succeeded: "look"
            0s     wrap persistent (condition) → quarantine, input
            0s     wrap rejected by a person
            0s     turned back: turned by ann
            0s     answered op1, Reject: accepted
            0s     undo:look#1 started (Ready)
            0s     undo:look#1 succeeded: "Undone"
            0s     compensated
            = COMPENSATED (turned by ann)
              look: SUCCEEDED applied · undo SUCCEEDED applied
              wrap: TERMINAL_REJECTED none
              tell: SKIPPED none
        "#]],
    );
}

#[test]
fn a_decision_is_no_attempt_so_a_pause_does_not_hold_it() {
    check(
        "step look(input) by-query
         when gift(look)
         step wrap(input) by-query if=gift
         step tell(gift) by-query",
        "begin look\n pause op1\n ok look\n agenda\n decide gift yes\n begin wrap\n unpause op2\n run wrap",
        expect![[r#"
            0s     saga started
            0s     look#1 started (Ready)
            0s     paused
            0s     answered op1, Pause: accepted
            0s     look#1 succeeded: "look"
            0s     ?
              do: decide gift
              paused: since 0s
            0s     branch gift: yes
            0s     (begin wrap: decide: the saga is paused)
            0s     unpaused
            0s     answered op2, Unpause: accepted
            0s     wrap#1 started (Ready)
            0s     wrap#1 succeeded: "wrap"
            = RUNNING
              look: SUCCEEDED applied
              wrap: SUCCEEDED applied
              tell: READY none
              do: start tell#1 in lane first, until 86400s
              wake: 86400s for deadline of tell
              queues: tell since 0s
        "#]],
    );
}

#[test]
fn a_resumed_step_whose_branch_stays_undecided_runs_into_its_deadline() {
    check(
        "step look(input) by-query
         when gift(look)
         step wrap(input) by-query if=gift
         step tell(gift) by-query
         policy give-up=1h",
        "run look\n condition-fails gift\n resume wrap op1\n at 3600s tick",
        expect![[r#"
            0s     saga started
            0s     look#1 started (Ready)
            0s     look#1 succeeded: "look"
            0s     wrap persistent (condition) → quarantine, input
            0s     wrap resumed: 3 attempts, until 3600s
            0s     answered op1, Resume: accepted
            3600s  wrap → quarantine, deadline-passed
            = RUNNING
              look: SUCCEEDED applied
              wrap: QUARANTINED none
              tell: PENDING none
              desk: wrap on quarantine, deadline-passed since 3600s, attempts 0, effect none, persistent (condition)
        "#]],
    );
}

#[test]
fn news_that_a_step_of_the_side_not_taken_took_effect_is_a_contradiction() {
    check(
        "step look(input) by-query
         when gift(look)
         step wrap(input) by-query if=gift
         step tell(gift) by-query",
        "run look\n decide gift no\n ok wrap#?\n query wrap\n found wrap applied\n run undo:wrap\n run undo:look",
        expect![[r#"
            0s     saga started
            0s     look#1 started (Ready)
            0s     look#1 succeeded: "look"
            0s     branch gift: no
            0s     dispute of wrap#?: applied "wrap" (it took effect, and that is not what is recorded)
            0s     wrap query 1 started
            0s     wrap query 1 found applied "wrap" → stay
            0s     dispute of wrap settled: applied "wrap"
            0s     turned back: wrap contradicted
            0s     undo:wrap#1 started (Ready)
            0s     undo:wrap#1 succeeded: "Undone"
            0s     undo:look#1 started (Ready)
            0s     undo:look#1 succeeded: "Undone"
            0s     compensated
            = COMPENSATED (wrap contradicted)
              look: SUCCEEDED applied · undo SUCCEEDED applied
              wrap: SUCCEEDED applied · undo SUCCEEDED applied
              tell: SKIPPED none
        "#]],
    );
}
