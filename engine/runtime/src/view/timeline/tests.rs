//! Every fact has a sentence of its own.

use amends_core::{JournalEvent, Timestamp};
use expect_test::expect;

use super::{line, word};

/// Samples of each, kept by the core.
const EVENTS: &str = include_str!("../../../../core/tests/it/format/events.jsonl");

fn events() -> impl Iterator<Item = JournalEvent> {
    EVENTS.lines().map(|line| serde_json::from_str(line).expect("the core reads it"))
}

fn told(event: &JournalEvent) -> String {
    line(event, Timestamp::from_millis(1_767_225_600_000))
}

#[test]
fn no_fact_is_told_by_its_name_alone() {
    for event in events() {
        let says_it_all = matches!(event, JournalEvent::Completed {} | JournalEvent::Compensated {});
        assert!(says_it_all || told(&event) != word(&event), "{event:?} has no sentence");
    }
}

#[test]
fn rare_answers_and_what_people_did_name_what_they_are_about() {
    let rare = [
        "Accepted",
        "PartlyApplied",
        "FencedOut",
        "Mismatched",
        "WentStale",
        "NewsRecorded",
        "Disputed",
        "DisputeSettled",
        "CloseRequested",
        "Closed",
        "FoundByPerson",
        "SendAgainOrdered",
        "RejectedByPerson",
        "Supplied",
        "Waived",
        "KeptWaiting",
        "ItemAnnotated",
        "CompensationRequested",
        "RequestDecided",
    ];
    let first = |tag: &str| EVENTS.lines().find(|line| line.starts_with(&format!("{{\"{tag}\"")));
    let told = rare.map(|tag| {
        told(&serde_json::from_str(first(tag).expect("there is a sample")).expect("the core reads it"))
    });
    expect![[r#"
        auth accepted by its participant (attempt 1): its reply is awaited
        auth took effect in part (attempt 1): still open
        auth had no effect (attempt 1, closed out through 1): still open
        auth mismatched (attempt 1): the participant holds its request id with other parameters
        auth stale (attempt 1): expected 1, found 2
        late news of auth (attempt 1): absent: it is settled
        late news of auth (attempt 1): absent, which contradicts what is recorded: it is settled
        auth disputed no more: found absent
        to be closed, once another person approves; then: refund by hand
        closed, approved by bob; left in place: auth
        auth found applied by a person (the bank's statement)
        auth is sent again past its key retention (they forgot)
        auth rejected
        auth: its result was supplied (log)
        auth waived
        auth kept waiting for 99.000s
        auth/forward: assigned to ann
        compensation of auth requested by ann (goodwill), approved by bob
        op1 denied by bob"#]]
    .assert_eq(&told.join("\n"));
}
