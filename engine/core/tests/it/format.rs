//! How facts are spelled: the journal's format is a promise. A changed line here is a journal that can no
//! longer be read; only new lines are allowed.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use amends_core::event::*;
use amends_core::machine::table::diagram;
use amends_core::{
    ActionId, Direction, Incarnation, OperationId, SagaId, Timestamp, TraceContext, TransitionId,
};
use expect_test::expect_file;
use uuid::Uuid;

use crate::script::json;

const EVENTS: &str = include_str!("../../src/event.rs");
const FACTS: &str = include_str!("../../src/event/facts.rs");
const PROMISE: &str = "a journal written yesterday must be read tomorrow";

#[test]
fn every_event_keeps_its_spelling_and_survives_its_json() {
    let events = events();
    let mut text = String::new();
    for event in &events {
        let line = serde_json::to_string(event).unwrap();
        assert_eq!(&serde_json::from_str::<JournalEvent>(&line).unwrap(), event, "{PROMISE}");
        let _ = writeln!(text, "{line}");
    }
    assert_eq!(tags(&text), variants(EVENTS, "JournalEvent"), "one sample of every event");
    expect_file!["format/events.jsonl"].assert_eq(&text);
}

#[test]
fn what_events_are_made_of_keeps_its_spelling() {
    let mut text = String::new();
    section(&mut text, "StartCause", &causes());
    section(&mut text, "TurnReason", &reasons());
    section(&mut text, "FailureKind", &kinds());
    section(&mut text, "Next", &nexts());
    section(&mut text, "Because", &becauses());
    section(&mut text, "Finding", &findings());
    section(&mut text, "Verb", &verbs());
    section(&mut text, "Answer", &answers());
    section(&mut text, "Recorded", &[value("1"), omitted()]);
    expect_file!["format/facts.txt"].assert_eq(&text);
}

#[test]
fn a_transition_keeps_its_spelling() {
    let transition = Transition {
        seq: 7,
        at: at(3),
        actor: "engine".into(),
        id: TransitionId(Uuid::from_u128(9)),
        events: vec![JournalEvent::MarkedLate {}, JournalEvent::Completed {}],
    };
    let line = serde_json::to_string(&transition).unwrap();
    assert_eq!(serde_json::from_str::<Transition>(&line).unwrap(), transition);
    expect_file!["format/transition.json"].assert_eq(&(line + "\n"));
}

#[test]
fn a_field_that_a_later_version_adds_does_not_hinder_reading() {
    let line = r#"{"Withdrawn":{"action":"a/forward","attempt":1,"added_later":true}}"#;
    let event: JournalEvent = serde_json::from_str(line).unwrap();
    assert_eq!(event, JournalEvent::Withdrawn { action: ActionId::forward("a"), attempt: 1 });
}

#[test]
fn the_state_diagram_is_the_one_in_the_documents() {
    expect_file!["../../src/machine/states.mmd"].assert_eq(&diagram());
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ARCHITECTURE.md");
    // The document is written last; from then on it holds the diagram, as it is.
    let Ok(text) = std::fs::read_to_string(&document) else { return };
    let (before, after) = ("<!-- state-diagram -->", "<!-- /state-diagram -->");
    let block = text.split_once(before).and_then(|(_, rest)| rest.split_once(after));
    let (block, _) = block.unwrap_or_else(|| panic!("ARCHITECTURE.md lacks {before} … {after}"));
    let held = block.trim().trim_start_matches("```mermaid").trim_end_matches("```").trim();
    assert_eq!(held, diagram().trim(), "the state diagram in ARCHITECTURE.md is not the machine's");
}

fn section<T>(text: &mut String, name: &str, samples: &[T])
where
    T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let _ = writeln!(text, "{name}");
    let mut lines = String::new();
    for sample in samples {
        let line = serde_json::to_string(sample).expect("a fact is JSON");
        assert_eq!(&serde_json::from_str::<T>(&line).expect(PROMISE), sample, "{PROMISE}");
        let _ = writeln!(lines, "{line}");
    }
    let declared: BTreeSet<String> = variants(FACTS, name).iter().map(|name| snake(name)).collect();
    assert_eq!(tags(&lines), declared, "one sample of every {name}");
    for line in lines.lines() {
        let _ = writeln!(text, "  {line}");
    }
}

/// The variants of `pub enum name` as the source declares them: a new one without a sample is noticed.
fn variants(source: &str, name: &str) -> BTreeSet<String> {
    let (_, body) = source.split_once(&format!("pub enum {name} {{\n")).expect("the enum is declared here");
    let (body, _) = body.split_once("\n}").expect("it ends");
    let declares = |line: &&str| line.starts_with("    ") && line[4..].starts_with(char::is_uppercase);
    let name = |line: &str| line.trim().chars().take_while(|c| c.is_alphanumeric()).collect();
    body.lines().filter(declares).map(name).collect()
}

fn tags(lines: &str) -> BTreeSet<String> {
    lines.lines().map(|line| line.split('"').nth(1).expect("a tag").to_owned()).collect()
}

fn snake(name: &str) -> String {
    let mut text = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.extend(c.to_lowercase());
    }
    text
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(1_767_225_600_000 + seconds * 1_000)
}

fn op(id: &str) -> OperationId {
    OperationId::new(id)
}

fn a() -> ActionId {
    ActionId::forward("auth")
}

fn value(text: &str) -> Recorded {
    Recorded::Value(json(text))
}

fn omitted() -> Recorded {
    let digest = Some("00ff".into());
    Recorded::Omitted(Omitted { reason: "too large".into(), digest, size: 3_000_000 })
}

fn failure() -> Failure {
    Failure {
        kind: FailureKind::Transient,
        code: "busy".into(),
        message: "come back".into(),
        rule: "http-503".into(),
        classifier: "psp/3".into(),
        hint: Some(Duration::from_millis(1_500)),
    }
}

fn bare() -> Failure {
    let (message, rule, classifier) = (String::new(), String::new(), String::new());
    Failure { kind: FailureKind::Unknown, code: "timeout".into(), message, rule, classifier, hint: None }
}

fn news() -> News {
    News { action: a(), attempt: Some(1), finding: Finding::Absent, why: "it is settled".into() }
}

fn events() -> Vec<JournalEvent> {
    [of_the_saga(), of_attempts(), of_settling(), of_persons()].concat()
}

fn started(full: bool) -> JournalEvent {
    let trigger = || Trigger {
        source: "orders".into(),
        position: Some("17".into()),
        event_id: Some("evt-1".into()),
        event_type: Some("order-placed".into()),
        event_version: Some(2),
    };
    JournalEvent::SagaStarted(SagaStarted {
        saga: SagaId(Uuid::from_u128(1)),
        workflow: "order".into(),
        version: 3,
        key: "42".into(),
        input: json(r#"{ "order": 42, "total": 10.50 }"#),
        occurred_at: at(0),
        deadline: full.then(|| at(60)),
        owner: Incarnation(Uuid::from_u128(2)),
        trigger: full.then(trigger),
        trace: None,
        tenant: None,
    })
}

#[test]
fn a_start_without_tenant_is_written_as_ever_and_one_with_it_reads_back() {
    let JournalEvent::SagaStarted(without) = started(true) else { unreachable!("that is what it makes") };
    let text = serde_json::to_string(&without).expect("it encodes");
    assert!(!text.contains("tenant"), "{text}");
    let with = SagaStarted { tenant: Some("shop-7".into()), ..without };
    let text = serde_json::to_string(&with).expect("it encodes");
    assert!(text.contains(r#""tenant":"shop-7""#), "{text}");
    assert_eq!(serde_json::from_str::<SagaStarted>(&text).expect("it decodes"), with);
}

fn traced() -> JournalEvent {
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let trace = TraceContext::parse(parent, Some("congo=t61rcWkgMzE"));
    let JournalEvent::SagaStarted(started) = started(false) else { unreachable!("that is what it makes") };
    JournalEvent::SagaStarted(SagaStarted { trace, ..started })
}

fn of_the_saga() -> Vec<JournalEvent> {
    let closing = CloseRequested {
        operation: op("op1"),
        by: "ann".into(),
        reason: "shop closed".into(),
        follow_up: "refund by hand".into(),
        named: Vec::new(),
    };
    let naming = CloseRequested { named: vec![a()], ..closing.clone() };
    vec![
        started(true),
        started(false),
        traced(),
        JournalEvent::Claimed { incarnation: Incarnation(Uuid::from_u128(2)) },
        JournalEvent::BranchDecided { branch: "gift".into(), taken: true },
        JournalEvent::TurnedBack { reason: TurnReason::Deadline },
        JournalEvent::WishRecorded { operation: Some(op("op1")), reason: TurnReason::Deadline },
        JournalEvent::WishRecorded { operation: None, reason: TurnReason::Deadline },
        JournalEvent::Answered {
            operation: op("op1"),
            verb: Verb::Cancel,
            actor: "ann".into(),
            reason: "changed her mind".into(),
            answer: Answer::Accepted,
        },
        JournalEvent::MarkedLate {},
        JournalEvent::Completed {},
        JournalEvent::Compensated {},
        JournalEvent::Paused { operation: op("op1") },
        JournalEvent::Unpaused { operation: op("op2") },
        JournalEvent::CloseRequested(closing),
        JournalEvent::CloseRequested(naming),
        JournalEvent::Closed { request: op("op1"), approved_by: "bob".into(), effects_in_place: vec![a()] },
    ]
}

fn of_attempts() -> Vec<JournalEvent> {
    let manual = ActionId { step: "auth".into(), direction: Direction::Manual(Uuid::from_u128(5)) };
    let retry = || Next::Retry { at: at(2) };
    vec![
        JournalEvent::Started {
            action: a(),
            attempt: 1,
            cause: StartCause::Ready,
            input: Some(json("{}")),
            expected: None,
        },
        JournalEvent::Started {
            action: manual,
            attempt: 2,
            cause: StartCause::Retry,
            input: None,
            expected: None,
        },
        JournalEvent::Started {
            action: ActionId::compensation("auth"),
            attempt: 1,
            cause: StartCause::Ready,
            input: None,
            expected: Some(json(r#"{"version": 3}"#)),
        },
        JournalEvent::Withdrawn { action: a(), attempt: 1 },
        JournalEvent::Succeeded { action: a(), attempt: Some(1), output: value(r#"{"id": 1.0}"#) },
        JournalEvent::Succeeded {
            action: ActionId::compensation("auth"),
            attempt: None,
            output: value("\"NothingToUndo\""),
        },
        JournalEvent::Refused {
            action: a(),
            attempt: Some(1),
            refusal: value("\"declined\""),
            next: Next::Reject,
        },
        JournalEvent::Failed { action: a(), attempt: 1, failure: failure(), next: retry() },
        JournalEvent::BecameUnknown {
            action: a(),
            attempt: 1,
            failure: bare(),
            next: Next::Query { at: at(1) },
        },
        JournalEvent::Accepted { action: a(), attempt: 1, not_before: Some(at(9)), next: Next::Stay },
        JournalEvent::PartlyApplied { action: a(), attempt: Some(1), output: None, next: Next::Stay },
        JournalEvent::FencedOut { action: a(), attempt: 1, through: 1, next: Next::Stay },
        JournalEvent::Mismatched { action: a(), attempt: 1, failure: bare() },
        JournalEvent::WentStale { action: a(), attempt: 1, expected: Some(json("1")), found: json("2") },
    ]
}

fn of_settling() -> Vec<JournalEvent> {
    let next = || Next::Query { at: at(1) };
    vec![
        JournalEvent::QueryStarted { action: a(), query: 1, fence_through: Some(2) },
        JournalEvent::QueryStarted { action: a(), query: 2, fence_through: None },
        JournalEvent::QueryAnswered { action: a(), query: 1, finding: Finding::Absent, next: next() },
        JournalEvent::QueryFailed { action: a(), query: 1, failure: bare(), next: next() },
        JournalEvent::Planned { action: a(), failure: Some(bare()), next: next() },
        JournalEvent::Planned { action: a(), failure: None, next: next() },
        JournalEvent::NewsRecorded(news()),
        JournalEvent::Disputed(news()),
        JournalEvent::DisputeSettled { action: a(), finding: Finding::Absent },
    ]
}

fn of_persons() -> Vec<JournalEvent> {
    let (operation, evidence) = (op("op1"), "the bank's statement".to_owned());
    let (action, finding) = (a(), Finding::Applied(value("1")));
    let request = CompensationRequest {
        action: ActionId { step: "auth".into(), direction: Direction::Manual(Uuid::from_u128(5)) },
        reason_code: "goodwill".into(),
        requested_by: "ann".into(),
        approved_by: Some("bob".into()),
        expected: Some(json("1")),
        proposed: Some(json("2")),
        affected: Some(json("[]")),
        dry_run: None,
        operation: None,
        reason: None,
    };
    let traced = CompensationRequest {
        operation: Some(op("op1")),
        reason: Some("they asked".into()),
        ..request.clone()
    };
    vec![
        JournalEvent::Resumed { action: a(), operation: op("op1"), attempts: 5, deadline: at(60) },
        JournalEvent::AcceptedByPerson {
            action: a(),
            operation: op("op1"),
            output: Some(json("1")),
            evidence: evidence.clone(),
        },
        JournalEvent::FoundByPerson { action, operation, finding, evidence, next: Next::Done },
        JournalEvent::HurriedByPerson { action: a(), operation: op("op1") },
        JournalEvent::SendAgainOrdered {
            action: a(),
            operation: op("op1"),
            override_reason: Some("they forgot".into()),
        },
        JournalEvent::RejectedByPerson { action: a(), operation: op("op1") },
        JournalEvent::Supplied {
            action: a(),
            operation: op("op1"),
            output: json("1"),
            evidence: "log".into(),
        },
        JournalEvent::Waived { action: a(), operation: op("op1") },
        JournalEvent::KeptWaiting { action: a(), operation: op("op1"), until: at(99) },
        JournalEvent::ItemAnnotated {
            item: "auth/forward".into(),
            operation: op("op1"),
            assignee: Some("ann".into()),
            disposition: None,
        },
        JournalEvent::InDoubtCompensationOrdered { action: a(), operation: op("op1") },
        JournalEvent::CompensationRequested(request),
        JournalEvent::CompensationRequested(traced),
        JournalEvent::RequestDecided {
            operation: op("op2"),
            request: "op1".into(),
            by: "bob".into(),
            approved: false,
        },
    ]
}

fn causes() -> Vec<StartCause> {
    vec![StartCause::Ready, StartCause::Retry, StartCause::Repeat, StartCause::Ordered]
}

fn reasons() -> Vec<TurnReason> {
    let step = || "auth".into();
    let (by, reason) = (|| "ann".to_owned(), || "changed her mind".to_owned());
    vec![
        TurnReason::Refused { step: step() },
        TurnReason::Partial { step: step() },
        TurnReason::Exhausted { step: step() },
        TurnReason::Cancelled { by: by(), reason: reason() },
        TurnReason::Deadline,
        TurnReason::Operator { by: by(), reason: reason() },
        TurnReason::Contradiction { step: step() },
    ]
}

fn kinds() -> Vec<FailureKind> {
    vec![FailureKind::Transient, FailureKind::Persistent, FailureKind::Unknown, FailureKind::NotYet]
}

fn nexts() -> Vec<Next> {
    let because = Because::AttemptsSpent;
    vec![
        Next::Retry { at: at(1) },
        Next::Quarantine { because },
        Next::TurnBack { because },
        Next::Skip { because },
        Next::Reject,
        Next::Done,
        Next::Query { at: at(1) },
        Next::Repeat { at: at(1) },
        Next::Desk { because },
        Next::Stay,
    ]
}

fn becauses() -> Vec<Because> {
    vec![
        Because::Persistent,
        Because::Turned,
        Because::DeadlinePassed,
        Because::DeadlineWouldPass,
        Because::AttemptsSpent,
        Because::QueriesSpent,
        Because::NoQuery,
        Because::RetentionPassed,
        Because::Input,
        Because::NotYet,
        Because::Partial,
        Because::Fenced,
        Because::Mismatch,
        Because::Stale,
        Because::Approval,
        Because::Denied,
        Because::FoundByPerson,
        Because::Waived,
        Because::Contradiction,
    ]
}

fn findings() -> Vec<Finding> {
    vec![
        Finding::Applied(value("1")),
        Finding::Partial(Some(value("1"))),
        Finding::Partial(None),
        Finding::Refused(omitted()),
        Finding::Fenced { through: 2 },
        Finding::Absent,
        Finding::InProgress,
        Finding::Unclear { report: "status=weird".into() },
    ]
}

fn verbs() -> Vec<Verb> {
    vec![
        Verb::Cancel,
        Verb::Resume,
        Verb::Accept,
        Verb::RetryNow,
        Verb::SendAgain,
        Verb::Found,
        Verb::Reject,
        Verb::Supply,
        Verb::TurnBack,
        Verb::CompensateInDoubt,
        Verb::Compensate,
        Verb::Approve,
        Verb::Deny,
        Verb::Keep,
        Verb::Assign,
        Verb::SetDisposition,
        Verb::Waive,
        Verb::Close,
        Verb::Pause,
        Verb::Unpause,
    ]
}

fn answers() -> Vec<Answer> {
    vec![
        Answer::Accepted,
        Answer::TooLate,
        Answer::Pending,
        Answer::Already,
        Answer::Refused { reason: "it has ended".into() },
    ]
}
