//! News that comes late: of what is settled, of queries that were given up, of nobody's attempt. It is always
//! kept. What repeats the record changes nothing; what contradicts it neither wins nor loses by arrival: the
//! action is disputed (see `dispute`).

use super::answer;
use super::scribe::Scribe;
use crate::event::{Finding, JournalEvent, News};
use crate::id::ActionId;
use crate::machine::Attempted;
use crate::state::{Action, Phase, Stage};

/// Keeps news that changes nothing.
pub(super) fn record(
    s: &mut Scribe<'_>,
    action: ActionId,
    attempt: Option<u32>,
    answered: &Attempted,
    why: &str,
) {
    let finding = as_finding(answered);
    s.record(JournalEvent::NewsRecorded(News { action, attempt, finding, why: why.into() }));
}

/// News of an action that is settled, or whose saga was closed. A refusal `for_all` speaks of every transmission.
pub(super) fn of_settled(
    s: &mut Scribe<'_>,
    action: ActionId,
    attempt: Option<u32>,
    answered: &Attempted,
    for_all: bool,
) {
    let a = s.action(&action);
    let verdict = if s.is_read(&action) {
        Verdict::Nothing("a read has no effect")
    } else if a.dispute.is_some() {
        Verdict::Nothing("the outcome is disputed already")
    } else if tells_an_effect(answered) && is_undone_by_request(s, &action) {
        Verdict::Nothing("that is known, and a requested compensation has undone it")
    } else if s.state.phase == Phase::Closed && !a.stage.is_settled() {
        Verdict::Contradicts("the saga was closed while this was open")
    } else if is_closed_by_its_compensation(s, &action, answered) {
        Verdict::Nothing("its compensation has closed it out, whatever it did before")
    } else {
        verdict(&action, a, for_all, attempt, answered)
    };
    let finding = as_finding(answered);
    let news = |why: &str| News { action, attempt, finding, why: why.into() };
    let event = match verdict {
        Verdict::Nothing(why) => JournalEvent::NewsRecorded(news(why)),
        Verdict::Contradicts(why) => JournalEvent::Disputed(news(why)),
    };
    s.record(event);
}

fn tells_an_effect(answered: &Attempted) -> bool {
    matches!(answered, Attempted::Succeeded(_) | Attempted::Partial(_))
}

/// Has a person had the effect of this step undone?
fn is_undone_by_request(s: &Scribe<'_>, action: &ActionId) -> bool {
    let step = s.plan.find(&action.step).filter(|_| action.is_forward()).map(|ix| s.state.step(ix));
    step.is_some_and(|step| step.manual.iter().any(|manual| manual.action.has_effect()))
}

/// A participant that keeps a barrier says "closed out for ever" of a step that comes again after its compensation, and of
/// nothing else: so that says nothing about what the step did before.
fn is_closed_by_its_compensation(s: &Scribe<'_>, action: &ActionId, answered: &Attempted) -> bool {
    let for_ever = matches!(answered, Attempted::Fenced { through: u32::MAX });
    let step = s.plan.find(&action.step).filter(|_| action.is_forward()).map(|ix| s.state.step(ix));
    let mut compensations = step
        .into_iter()
        .flat_map(|step| step.undo.iter().chain(step.manual.iter().map(|manual| &manual.action)));
    for_ever && compensations.any(|compensation| compensation.attempts > 0)
}

/// A finding of a query that is not under way. Of what is settled it speaks as a whole; else it is what an answer
/// would be that names no attempt.
pub(super) fn found_late(s: &mut Scribe<'_>, action: ActionId, finding: Finding) {
    let a = s.action(&action);
    let (settled, attempts) = (a.stage.is_settled() || s.state.is_over(&action), a.attempts);
    let answered = match finding {
        Finding::Applied(output) => Attempted::Succeeded(output),
        Finding::Refused(refusal) => Attempted::Refused(refusal),
        Finding::Partial(output) => Attempted::Partial(output),
        Finding::Fenced { through } if settled && through >= attempts => Attempted::Fenced { through },
        Finding::Fenced { .. } | Finding::Absent | Finding::InProgress | Finding::Unclear { .. } => {
            let why = "its query was given up".to_owned();
            s.record(JournalEvent::NewsRecorded(News { action, attempt: None, finding, why }));
            return;
        }
    };
    if settled {
        of_settled(s, action, None, &answered, true);
    } else {
        answer::answer(s, action, None, answered).expect("the action was found before");
    }
}

/// A forward success, and a compensation in doubt that found nothing to undo: both cannot be true. Once the saga is
/// closed, what was said about it stands.
pub(super) fn contradicted_by_compensations(s: &mut Scribe<'_>) {
    if s.state.turned.is_none() || s.state.phase == Phase::Closed {
        return;
    }
    for (ix, planned) in s.plan.indices().zip(&s.plan.steps) {
        let (step, action) = (s.state.step(ix), ActionId::forward(planned.name.clone()));
        let undone = step.manual.iter().any(|manual| manual.action.has_effect());
        let stands = step.forward.has_effect() && step.forward.dispute.is_none() && !undone;
        if stands && s.state.compensation_found_nothing(s.plan, &action) {
            let finding = Finding::Unclear { report: "its compensation found nothing to undo".into() };
            let why = "it succeeded, and its compensation found nothing to undo".to_owned();
            s.record(JournalEvent::Disputed(News { action, attempt: None, finding, why }));
        }
    }
}

/// What news means for the recorded outcome.
enum Verdict {
    Nothing(&'static str),
    Contradicts(&'static str),
}

const AGAIN: Verdict = Verdict::Nothing("it repeats what is recorded");
const OTHER: Verdict = Verdict::Nothing("it speaks of a transmission that is not the one recorded");

fn verdict(id: &ActionId, a: &Action, for_all: bool, attempt: Option<u32>, answered: &Attempted) -> Verdict {
    let speaks_of_it = speaks_of_the_outcome(a, attempt, for_all);
    let had_effect = a.is_recorded_as_applied(id);
    match answered {
        Attempted::Succeeded(_) if had_effect && a.stage == Stage::Succeeded => AGAIN,
        Attempted::Partial(_) if had_effect && a.stage == Stage::Partial => AGAIN,
        Attempted::Succeeded(_) => Verdict::Contradicts("it took effect, and that is not what is recorded"),
        Attempted::Partial(_) => {
            Verdict::Contradicts("it took effect in part, and that is not what is recorded")
        }
        Attempted::Accepted { .. } if !had_effect => {
            Verdict::Contradicts("the participant has taken it, and no effect is recorded")
        }
        Attempted::Accepted { .. } | Attempted::Unknown(_) | Attempted::Mismatch(_) => {
            Verdict::Nothing("it does not contradict what is recorded")
        }
        Attempted::Refused(_) if had_effect && (for_all || speaks_of_it) => {
            Verdict::Contradicts("it was refused, and an effect is recorded")
        }
        Attempted::Transient(_)
        | Attempted::Persistent(_)
        | Attempted::Fenced { .. }
        | Attempted::Stale { .. }
            if had_effect && speaks_of_it =>
        {
            Verdict::Contradicts("it had no effect, and an effect is recorded")
        }
        Attempted::Refused(_)
        | Attempted::Transient(_)
        | Attempted::Persistent(_)
        | Attempted::Fenced { .. }
        | Attempted::Stale { .. } => {
            if had_effect {
                OTHER
            } else {
                AGAIN
            }
        }
    }
}

/// Does the news speak of the transmission that had the recorded outcome? Where that is not known, it does if
/// there was only one.
fn speaks_of_the_outcome(a: &Action, attempt: Option<u32>, for_all: bool) -> bool {
    match (attempt, a.settled_by) {
        (Some(attempt), Some(settled_by)) => attempt == settled_by,
        (Some(_), None) => a.attempts <= 1,
        (None, _) => for_all,
    }
}

/// The words in which news is kept.
fn as_finding(answered: &Attempted) -> Finding {
    let unclear = |report: String| Finding::Unclear { report };
    match answered {
        Attempted::Succeeded(output) => Finding::Applied(output.clone()),
        Attempted::Refused(refusal) => Finding::Refused(refusal.clone()),
        Attempted::Partial(output) => Finding::Partial(output.clone()),
        Attempted::Fenced { through } => Finding::Fenced { through: *through },
        Attempted::Accepted { .. } => Finding::InProgress,
        Attempted::Transient(failure) => unclear(format!("transient: {}", failure.code)),
        Attempted::Persistent(failure) => unclear(format!("persistent: {}", failure.code)),
        Attempted::Unknown(failure) => unclear(format!("unknown: {}", failure.code)),
        Attempted::Mismatch(failure) => unclear(format!("mismatch: {}", failure.code)),
        Attempted::Stale { found } => unclear(format!("stale: {found}")),
    }
}
