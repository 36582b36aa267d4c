//! A saga's story, readable without knowing the engine.

mod person;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::time::Duration;

use amends_core::event::{Answer, Because, Failure, Finding, News, Next, Recorded, StartCause};
use amends_core::{ActionId, JournalEvent, Timestamp, Transition};

use crate::visible::visible;
use crate::worker::{kind_word, reason_text};

/// One line per fact.
pub(super) fn text(journal: &[Transition], from: Timestamp) -> String {
    let mut text = String::new();
    let mut owner = None;
    for transition in journal {
        let at = transition.at;
        for event in &transition.events {
            let line = match event {
                JournalEvent::Claimed { incarnation } if owner == Some(*incarnation) => {
                    "taken up again".to_owned()
                }
                event => line(event, at),
            };
            let since = at.since(from);
            let _ = writeln!(text, "+{}.{:03}s {}", since.as_secs(), since.subsec_millis(), visible(&line));
            owner = match event {
                JournalEvent::SagaStarted(started) => Some(started.owner),
                JournalEvent::Claimed { incarnation } => Some(*incarnation),
                _ => owner,
            };
        }
    }
    text
}

/// The position of the event that settled an action, for ordering.
pub(super) fn settled_at(journal: &[Transition], of: &ActionId) -> usize {
    let settles = |event: &JournalEvent| match event {
        JournalEvent::Succeeded { action, .. }
        | JournalEvent::AcceptedByPerson { action, .. }
        | JournalEvent::QueryAnswered { action, next: Next::Done, .. } => action == of,
        _ => false,
    };
    journal.iter().flat_map(|transition| &transition.events).position(settles).unwrap_or(usize::MAX)
}

/// `reserve-stock`, or `compensation of reserve-stock`.
fn name(action: &ActionId) -> String {
    if action.is_forward() { action.step.to_string() } else { format!("compensation of {}", action.step) }
}

fn line(event: &JournalEvent, at: Timestamp) -> String {
    match event {
        JournalEvent::SagaStarted(_)
        | JournalEvent::Claimed { .. }
        | JournalEvent::BranchDecided { .. }
        | JournalEvent::TurnedBack { .. }
        | JournalEvent::WishRecorded { .. }
        | JournalEvent::Answered { .. }
        | JournalEvent::MarkedLate {}
        | JournalEvent::Completed {}
        | JournalEvent::Compensated {} => of_saga(event),
        JournalEvent::Paused { .. }
        | JournalEvent::Unpaused { .. }
        | JournalEvent::CloseRequested(_)
        | JournalEvent::Closed { .. }
        | JournalEvent::Resumed { .. }
        | JournalEvent::AcceptedByPerson { .. }
        | JournalEvent::FoundByPerson { .. }
        | JournalEvent::HurriedByPerson { .. }
        | JournalEvent::SendAgainOrdered { .. }
        | JournalEvent::RejectedByPerson { .. }
        | JournalEvent::Supplied { .. }
        | JournalEvent::Waived { .. }
        | JournalEvent::KeptWaiting { .. }
        | JournalEvent::ItemAnnotated { .. }
        | JournalEvent::InDoubtCompensationOrdered { .. }
        | JournalEvent::CompensationRequested(_)
        | JournalEvent::RequestDecided { .. } => person::line(event, at),
        JournalEvent::Started { .. }
        | JournalEvent::Withdrawn { .. }
        | JournalEvent::Succeeded { .. }
        | JournalEvent::Refused { .. }
        | JournalEvent::Failed { .. }
        | JournalEvent::BecameUnknown { .. }
        | JournalEvent::Accepted { .. }
        | JournalEvent::PartlyApplied { .. }
        | JournalEvent::FencedOut { .. }
        | JournalEvent::Mismatched { .. }
        | JournalEvent::WentStale { .. }
        | JournalEvent::QueryStarted { .. }
        | JournalEvent::QueryAnswered { .. }
        | JournalEvent::QueryFailed { .. }
        | JournalEvent::Planned { .. }
        | JournalEvent::NewsRecorded(_)
        | JournalEvent::Disputed(_)
        | JournalEvent::DisputeSettled { .. } => of_action(event, at),
    }
}

fn of_saga(event: &JournalEvent) -> String {
    match event {
        JournalEvent::SagaStarted(started) => {
            format!("{} {} started for {}", started.workflow, started.version, started.key)
        }
        JournalEvent::Claimed { .. } => "taken over by another process".to_owned(),
        JournalEvent::BranchDecided { branch, taken } => {
            format!("branch {branch}: {}", if *taken { "yes" } else { "no" })
        }
        JournalEvent::TurnedBack { reason } => format!("turned back ({})", reason_text(reason)),
        JournalEvent::WishRecorded { reason, .. } => {
            format!("asked to turn back ({}); the pivot decides", reason_text(reason))
        }
        JournalEvent::Answered { verb, actor, answer, .. } => {
            format!("{actor} asked to {}: {}", word(verb), answer_text(answer))
        }
        JournalEvent::MarkedLate {} => "late: the saga deadline has passed".to_owned(),
        JournalEvent::Completed {} => "completed".to_owned(),
        JournalEvent::Compensated {} => "compensated".to_owned(),
        other => word(other),
    }
}

fn of_action(event: &JournalEvent, at: Timestamp) -> String {
    match event {
        JournalEvent::Started { action, attempt, cause, .. } => {
            let why = match cause {
                StartCause::Ready | StartCause::Retry => "",
                StartCause::Repeat => ", a repeat",
                StartCause::Ordered => ", ordered by a person",
            };
            format!("{} started (attempt {attempt}{why})", name(action))
        }
        JournalEvent::Withdrawn { action, attempt } => {
            format!("{} withdrawn (attempt {attempt} was never sent)", name(action))
        }
        JournalEvent::Succeeded { action, output, .. } => {
            format!("{} succeeded{}", name(action), result(action, output))
        }
        JournalEvent::Refused { action, refusal, next, .. } => {
            let said = refusal.value().map(|value| format!(" {value}")).unwrap_or_default();
            format!("{} refused{said}{}", name(action), unless_reject(next, at))
        }
        JournalEvent::Failed { action, attempt, failure, next } => {
            format!("{} failed (attempt {attempt}, {}): {}", name(action), failed(failure), then(next, at))
        }
        JournalEvent::BecameUnknown { action, attempt, failure, next } => {
            let code = &failure.code;
            format!("{} unknown (attempt {attempt}, {code}): {}", name(action), then(next, at))
        }
        JournalEvent::Accepted { action, attempt, next, .. } => {
            let then = if *next == Next::Stay { "its reply is awaited".to_owned() } else { then(next, at) };
            format!("{} accepted by its participant (attempt {attempt}): {then}", name(action))
        }
        JournalEvent::PartlyApplied { action, attempt, next, .. } => {
            let attempt = attempt.map(|attempt| format!(" (attempt {attempt})")).unwrap_or_default();
            format!("{} took effect in part{attempt}{}", name(action), unless_done(next, at))
        }
        JournalEvent::FencedOut { action, attempt, through, next } => {
            let closed = format!("attempt {attempt}, closed out through {through}");
            format!("{} had no effect ({closed}): {}", name(action), then(next, at))
        }
        JournalEvent::Mismatched { action, attempt, .. } => {
            let held = "the participant holds its request id with other parameters";
            format!("{} mismatched (attempt {attempt}): {held}", name(action))
        }
        JournalEvent::WentStale { action, attempt, expected, found } => {
            let expected = expected.as_ref().map_or_else(|| "nothing".to_owned(), ToString::to_string);
            format!("{} stale (attempt {attempt}): expected {expected}, found {found}", name(action))
        }
        JournalEvent::NewsRecorded(news) => format!("{}: {}", told(news), news.why),
        JournalEvent::Disputed(news) => {
            format!("{}, which contradicts what is recorded: {}", told(news), news.why)
        }
        JournalEvent::DisputeSettled { action, finding } => {
            format!("{} disputed no more: found {}", name(action), found(finding))
        }
        JournalEvent::QueryStarted { action, query, fence_through } => {
            let fence = fence_through.map(|n| format!(", fencing attempt {n}")).unwrap_or_default();
            format!("{} asked about (query {query}{fence})", name(action))
        }
        JournalEvent::QueryAnswered { action, query, finding, next } => {
            let next = unless_done(next, at);
            format!("{} found {} (query {query}){next}", name(action), found(finding))
        }
        JournalEvent::QueryFailed { action, query, failure, next } => {
            format!("{} query {query} failed ({}): {}", name(action), failure.code, then(next, at))
        }
        JournalEvent::Planned { action, failure, next } => {
            let why = failure.as_ref().map(|failure| format!(" ({})", failure.code)).unwrap_or_default();
            format!("{}{why}: {}", name(action), then(next, at))
        }
        other => word(other),
    }
}

/// What came in late, or again.
fn told(news: &News) -> String {
    let attempt = news.attempt.map(|attempt| format!(" (attempt {attempt})")).unwrap_or_default();
    format!("late news of {}{attempt}: {}", name(&news.action), found(&news.finding))
}

/// What a compensation brought about; a step's own result is not part of the story.
fn result(action: &ActionId, output: &Recorded) -> String {
    match output {
        Recorded::Value(value) if !action.is_forward() => match value.text() {
            "\"NothingToUndo\"" => " (nothing to undo)".to_owned(),
            _ => String::new(),
        },
        Recorded::Value(_) => String::new(),
        Recorded::Omitted(omitted) => format!(", its result not recorded ({})", omitted.reason),
    }
}

fn failed(failure: &Failure) -> String {
    format!("{} {}", kind_word(failure.kind), failure.code)
}

fn found(finding: &Finding) -> String {
    match finding {
        Finding::Applied(_) => "applied".to_owned(),
        Finding::Partial(_) => "partly applied".to_owned(),
        Finding::Refused(_) => "refused".to_owned(),
        Finding::Fenced { through } => format!("fenced through attempt {through}"),
        Finding::Absent => "absent".to_owned(),
        Finding::InProgress => "in progress".to_owned(),
        Finding::Unclear { .. } => "unclear".to_owned(),
    }
}

fn unless_done(next: &Next, at: Timestamp) -> String {
    if *next == Next::Done { String::new() } else { format!(": {}", then(next, at)) }
}

fn unless_reject(next: &Next, at: Timestamp) -> String {
    if *next == Next::Reject { String::new() } else { format!(": {}", then(next, at)) }
}

fn then(next: &Next, at: Timestamp) -> String {
    let because = |because: &Because| because.code();
    match next {
        Next::Retry { at: due } => format!("retry in {}", wait(due.since(at))),
        Next::Quarantine { because: why } => format!("quarantined ({})", because(why)),
        Next::TurnBack { because: why } => format!("turn back ({})", because(why)),
        Next::Skip { because: why } => format!("skipped ({})", because(why)),
        Next::Reject => "rejected".to_owned(),
        Next::Done => "applied".to_owned(),
        Next::Query { at: due } => format!("ask in {}", wait(due.since(at))),
        Next::Repeat { at: due } => format!("repeat in {}", wait(due.since(at))),
        Next::Desk { because: why } => format!("a person is needed ({})", because(why)),
        Next::Stay => "still open".to_owned(),
    }
}

fn wait(wait: Duration) -> String {
    format!("{}.{:03}s", wait.as_secs(), wait.subsec_millis())
}

fn answer_text(answer: &Answer) -> String {
    match answer {
        Answer::Accepted => "accepted".to_owned(),
        Answer::TooLate => "too late".to_owned(),
        Answer::Pending => "pending".to_owned(),
        Answer::Already => "already so".to_owned(),
        Answer::Refused { reason } => format!("refused ({reason})"),
    }
}

/// `RetryNow` as `retry now`: the name of a variant, for what has no sentence of its own yet.
fn word(named: &impl std::fmt::Debug) -> String {
    let debug = format!("{named:?}");
    let name = debug.split([' ', '(', '{']).next().unwrap_or_default();
    let mut words = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.extend(c.to_lowercase());
    }
    words
}
