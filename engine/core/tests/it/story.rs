//! What happened, for people: one short line per fact, then where everything stands.

use std::fmt::Write as _;

use amends_core::agenda::{Agenda, DeskItem, Lane, Task, Wait, Wake, WakeReason, desk};
use amends_core::event::{
    Answer, Failure, FailureKind, Finding, JournalEvent, News, Next, Recorded, TurnReason,
};
use amends_core::{ActionId, Direction, SagaPlan, SagaState, Timestamp, agenda};

/// When every story begins.
pub(crate) const BIRTH: Timestamp = Timestamp(1_767_225_600_000_000);

/// Seconds since the birth.
pub(crate) fn time(at: Timestamp) -> String {
    let text = format!("{:.3}", at.since(BIRTH).as_secs_f64());
    format!("{}s", text.trim_end_matches('0').trim_end_matches('.'))
}

/// `auth`, or `undo:auth`.
pub(crate) fn name(action: &ActionId) -> String {
    match action.direction {
        Direction::Forward => action.step.to_string(),
        Direction::Compensation => format!("undo:{}", action.step),
        Direction::Manual(id) => format!("m{}:{}", id.as_u128(), action.step),
    }
}

/// One fact.
pub(crate) fn fact(event: &JournalEvent) -> String {
    match event {
        JournalEvent::SagaStarted(_) => "saga started".into(),
        JournalEvent::Claimed { .. } => "claimed".into(),
        JournalEvent::BranchDecided { branch, taken } => format!("branch {branch}: {}", yes(*taken)),
        JournalEvent::TurnedBack { reason } => format!("turned back: {}", turn(reason)),
        JournalEvent::WishRecorded { operation, reason } => {
            let of = operation.as_ref().map_or("time".to_owned(), ToString::to_string);
            format!("wish of {of}: {}", turn(reason))
        }
        JournalEvent::Answered { operation, verb, answer, .. } => {
            format!("answered {operation}, {verb:?}: {}", answered(answer))
        }
        JournalEvent::MarkedLate {} => "late".into(),
        JournalEvent::Completed {} => "completed".into(),
        JournalEvent::Compensated {} => "compensated".into(),
        JournalEvent::Started { action, attempt, cause, input, expected } => {
            let with = input.as_ref().map(|input| format!(" with {input}")).unwrap_or_default();
            let expects = expected.as_ref().map(|state| format!(", expects {state}")).unwrap_or_default();
            format!("{}#{attempt} started ({cause:?}){with}{expects}", name(action))
        }
        JournalEvent::Withdrawn { action, attempt } => format!("{}#{attempt} withdrawn", name(action)),
        JournalEvent::Succeeded { action, attempt, output } => {
            format!("{}#{} succeeded: {}", name(action), attempt.unwrap_or(0), recorded(output))
        }
        JournalEvent::Refused { action, attempt, refusal, next: then } => {
            let (of, attempt, said) = (name(action), attempt.unwrap_or(0), recorded(refusal));
            format!("{of}#{attempt} refused: {said} → {}", next(then))
        }
        JournalEvent::Failed { action, attempt, failure: why, next: then } => {
            format!("{}#{attempt} {} → {}", name(action), failure(why), next(then))
        }
        JournalEvent::BecameUnknown { action, attempt, failure: why, next: then } => {
            format!("{}#{attempt} {} → {}", name(action), failure(why), next(then))
        }
        JournalEvent::QueryStarted { action, query, fence_through } => {
            let fence = fence_through.map(|n| format!(", to fence through {n}")).unwrap_or_default();
            format!("{} query {query} started{fence}", name(action))
        }
        JournalEvent::QueryAnswered { action, query, finding: found, next: then } => {
            format!("{} query {query} found {} → {}", name(action), finding(found), next(then))
        }
        JournalEvent::QueryFailed { action, query, failure: why, next: then } => {
            format!("{} query {query} failed: {} → {}", name(action), failure(why), next(then))
        }
        JournalEvent::Planned { action, failure: why, next: then } => {
            let why = why.as_ref().map(|why| format!(" {}", failure(why))).unwrap_or_default();
            format!("{}{why} → {}", name(action), next(then))
        }
        JournalEvent::Resumed { action, attempts, deadline, .. } => {
            format!("{} resumed: {attempts} attempts, until {}", name(action), time(*deadline))
        }
        JournalEvent::AcceptedByPerson { action, output, .. } => {
            let with = output.as_ref().map_or("nothing".to_owned(), ToString::to_string);
            format!("{} accepted by a person with {with}", name(action))
        }
        JournalEvent::Accepted { action, attempt, not_before, next: then } => {
            let wait = not_before.map(|at| format!(", not before {}", time(at))).unwrap_or_default();
            format!("{}#{attempt} taken{wait} → {}", name(action), next(then))
        }
        JournalEvent::PartlyApplied { action, attempt, next: then, .. } => {
            format!("{}#{} took effect in part → {}", name(action), attempt.unwrap_or(0), next(then))
        }
        JournalEvent::FencedOut { action, attempt, through, next: then } => {
            format!("{}#{attempt} fenced through {through} → {}", name(action), next(then))
        }
        JournalEvent::Mismatched { action, attempt, failure: why } => {
            format!("{}#{attempt} mismatch: {}", name(action), failure(why))
        }
        JournalEvent::WentStale { action, attempt, expected, found } => {
            let expected = expected.as_ref().map_or("nothing".to_owned(), ToString::to_string);
            format!("{}#{attempt} is stale: expected {expected}, found {found}", name(action))
        }
        JournalEvent::NewsRecorded(news) => format!("news of {}", heard(news)),
        JournalEvent::Disputed(news) => format!("dispute of {}", heard(news)),
        JournalEvent::DisputeSettled { action, finding: found } => {
            format!("dispute of {} settled: {}", name(action), finding(found))
        }
        other => by_person(other),
    }
}

fn heard(news: &News) -> String {
    let attempt = news.attempt.map_or("?".to_owned(), |attempt| attempt.to_string());
    format!("{}#{attempt}: {} ({})", name(&news.action), finding(&news.finding), news.why)
}

fn by_person(event: &JournalEvent) -> String {
    match event {
        JournalEvent::Paused { .. } => "paused".into(),
        JournalEvent::Unpaused { .. } => "unpaused".into(),
        JournalEvent::CloseRequested(asked) => {
            let named: Vec<String> = asked.named.iter().map(name).collect();
            format!("{} asks to close it, naming [{}]", asked.by, named.join(", "))
        }
        JournalEvent::Closed { approved_by, effects_in_place, .. } => {
            let left: Vec<String> = effects_in_place.iter().map(name).collect();
            format!("closed, approved by {approved_by}, effects in place [{}]", left.join(", "))
        }
        JournalEvent::FoundByPerson { action, finding: found, next: then, .. } => {
            format!("{} found by a person: {} → {}", name(action), finding(found), next(then))
        }
        JournalEvent::HurriedByPerson { action, .. } => format!("{} hurried by a person", name(action)),
        JournalEvent::SendAgainOrdered { action, override_reason, .. } => {
            let why = override_reason.as_ref().map(|why| format!(", for {why}")).unwrap_or_default();
            format!("{} to be sent again{why}", name(action))
        }
        JournalEvent::RejectedByPerson { action, .. } => format!("{} rejected by a person", name(action)),
        JournalEvent::Supplied { action, output, .. } => format!("{} supplied: {output}", name(action)),
        JournalEvent::Waived { action, .. } => format!("{} waived", name(action)),
        JournalEvent::KeptWaiting { action, until, .. } => {
            format!("{} kept until {}", name(action), time(*until))
        }
        JournalEvent::ItemAnnotated { item, assignee, disposition, .. } => {
            let who = assignee.as_ref().map(|who| format!(" assigned to {who}")).unwrap_or_default();
            let what = disposition.as_ref().map(|what| format!(" decided: {what}")).unwrap_or_default();
            format!("item `{item}`{who}{what}")
        }
        JournalEvent::InDoubtCompensationOrdered { action, .. } => {
            format!("{} to be compensated in doubt", name(action))
        }
        JournalEvent::CompensationRequested(asked) => {
            let approved = asked.approved_by.as_ref().map(|by| format!(", approved by {by}"));
            let of = name(&asked.action);
            format!("{of} requested by {}{}", asked.requested_by, approved.unwrap_or_default())
        }
        JournalEvent::RequestDecided { request, by, approved, .. } => {
            format!("{request} {} by {by}", if *approved { "approved" } else { "denied" })
        }
        reserved => format!("{reserved:?}"),
    }
}

/// Where everything stands.
pub(crate) fn ending(plan: &SagaPlan, state: &SagaState, now: Timestamp) -> String {
    let mut text = format!("= {}", state.phase.word().to_uppercase());
    if let Some(reason) = &state.turned {
        let _ = write!(text, " ({})", turn(reason));
    }
    if state.late {
        text += ", late";
    }
    text.push('\n');
    for (step, planned) in state.steps.iter().zip(&plan.steps) {
        let (name, forward) = (&planned.name, &step.forward);
        let _ = write!(text, "  {name}: {} {}", forward.stage.name(), forward.effect.word());
        if let Some(undo) = step.undo.as_ref().filter(|undo| undo.ready_at.is_some()) {
            let _ = write!(text, " · undo {} {}", undo.stage.name(), undo.effect.word());
        }
        for manual in &step.manual {
            let (of, a) = (self::name(&manual.request.action), &manual.action);
            let _ = write!(text, " · {of} {} {}", a.stage.name(), a.effect.word());
        }
        text.push('\n');
    }
    text + &to_do(&agenda(plan, state, now)) + &desks(plan, state)
}

/// Where one action stands.
pub(crate) fn stand(state: &SagaState, plan: &SagaPlan, action: &str) -> String {
    let id = crate::script::action(action).0;
    let a = state.action(plan, &id).expect("the action is there");
    format!("{action} {} {}, {}", a.stage.name(), a.effect.word(), state.phase.word())
}

/// What is to be done, and what is waited for.
pub(crate) fn to_do(agenda: &Agenda) -> String {
    let mut text = String::new();
    for one in &agenda.tasks {
        let _ = writeln!(text, "  do: {}", task(one));
    }
    if let Some(wake) = &agenda.wake {
        let _ = writeln!(text, "  wake: {}", until(wake));
    }
    for wait in &agenda.waits {
        match wait {
            Wait::Attempt { action, attempt, since } => {
                let _ = writeln!(text, "  runs: {}#{attempt} since {}", name(action), time(*since));
            }
            Wait::Querying { action, query } => {
                let _ = writeln!(text, "  asks: {} query {query}", name(action));
            }
            Wait::Permit { action, since } => {
                let _ = writeln!(text, "  queues: {} since {}", name(action), time(*since));
            }
            Wait::Reply { action, since, until } => {
                let (of, since, until) = (name(action), time(*since), time(*until));
                let _ = writeln!(text, "  awaits: the reply of {of} since {since}, until {until}");
            }
            Wait::Paused { since } => {
                let _ = writeln!(text, "  paused: since {}", time(*since));
            }
            Wait::Until(_) | Wait::Person(_) => {}
        }
    }
    text
}

/// Who waits for whom.
pub(crate) fn desks(plan: &SagaPlan, state: &SagaState) -> String {
    desk(plan, state).iter().map(|item| format!("  desk: {}\n", item_line(item))).collect()
}

fn yes(taken: bool) -> &'static str {
    if taken { "yes" } else { "no" }
}

fn item_line(item: &DeskItem) -> String {
    let mut text = format!(
        "{} on {}, {} since {}, attempts {}, effect {}",
        item.action.as_ref().map_or("the saga".to_owned(), name),
        item.desk.word(),
        item.because.code(),
        time(item.since),
        item.attempts,
        item.effect.word()
    );
    if let Some(why) = &item.failure {
        let _ = write!(text, ", {}", failure(why));
    }
    if let Some(who) = &item.note.assignee {
        let _ = write!(text, ", assigned to {who}");
    }
    if let Some(what) = &item.note.disposition {
        let _ = write!(text, ", decided: {what}");
    }
    text
}

fn task(task: &Task) -> String {
    match task {
        Task::Start { action, attempt, lane, deadline } => {
            let lane = match lane {
                Lane::First => "first",
                Lane::Retry => "retry",
                Lane::Reconciliation => "reconciliation",
                Lane::Compensation => "compensation",
            };
            let until = deadline.map(|at| format!(", until {}", time(at))).unwrap_or_default();
            format!("start {}#{attempt} in lane {lane}{until}", name(action))
        }
        Task::Query { action, query, fence_through } => {
            let fence = fence_through.map(|n| format!(", to fence through {n}")).unwrap_or_default();
            format!("query {} ({query}){fence}", name(action))
        }
        Task::Stop { action } => format!("stop {}", name(action)),
        Task::Decide { branch } => format!("decide {branch}"),
        Task::Tick => "tick".into(),
    }
}

fn until(wake: &Wake) -> String {
    let why = match &wake.why {
        WakeReason::Retry(action) => format!("retry {}", name(action)),
        WakeReason::Query(action) => format!("query {}", name(action)),
        WakeReason::Repeat(action) => format!("repeat {}", name(action)),
        WakeReason::StepDeadline(action) => format!("deadline of {}", name(action)),
        WakeReason::SagaDeadline => "deadline of the saga".into(),
    };
    format!("{} for {why}", time(wake.at))
}

/// What a person was answered.
pub(crate) fn answered(answer: &Answer) -> &str {
    match answer {
        Answer::Accepted => "accepted",
        Answer::TooLate => "too late",
        Answer::Pending => "pending",
        Answer::Already => "already",
        Answer::Refused { reason } => reason,
    }
}

fn turn(reason: &TurnReason) -> String {
    match reason {
        TurnReason::Refused { step } => format!("{step} refused"),
        TurnReason::Exhausted { step } => format!("{step} exhausted"),
        TurnReason::Cancelled { by, .. } => format!("cancelled by {by}"),
        TurnReason::Deadline => "deadline".into(),
        TurnReason::Partial { step } => format!("{step} in part"),
        TurnReason::Operator { by, .. } => format!("turned by {by}"),
        TurnReason::Contradiction { step } => format!("{step} contradicted"),
    }
}

fn failure(failure: &Failure) -> String {
    let kind = match failure.kind {
        FailureKind::Transient => "transient",
        FailureKind::Persistent => "persistent",
        FailureKind::Unknown => "unknown",
        FailureKind::NotYet => "not yet",
    };
    format!("{kind} ({})", failure.code)
}

fn next(next: &Next) -> String {
    match next {
        Next::Retry { at } => format!("retry at {}", time(*at)),
        Next::Quarantine { because } => format!("quarantine, {}", because.code()),
        Next::TurnBack { because } => format!("turn back, {}", because.code()),
        Next::Skip { because } => format!("skip, {}", because.code()),
        Next::Reject => "reject".into(),
        Next::Done => "done".into(),
        Next::Query { at } => format!("query at {}", time(*at)),
        Next::Repeat { at } => format!("repeat at {}", time(*at)),
        Next::Desk { because } => format!("desk, {}", because.code()),
        Next::Stay => "stay".into(),
    }
}

fn finding(finding: &Finding) -> String {
    match finding {
        Finding::Applied(output) => format!("applied {}", recorded(output)),
        Finding::Partial(_) => "partial".into(),
        Finding::Refused(refusal) => format!("refused {}", recorded(refusal)),
        Finding::Fenced { through } => format!("fenced through {through}"),
        Finding::Absent => "absent".into(),
        Finding::InProgress => "in progress".into(),
        Finding::Unclear { report } => format!("unclear ({report})"),
    }
}

fn recorded(recorded: &Recorded) -> String {
    match recorded {
        Recorded::Value(value) => value.to_string(),
        Recorded::Omitted(omitted) => format!("omitted ({})", omitted.reason),
    }
}
