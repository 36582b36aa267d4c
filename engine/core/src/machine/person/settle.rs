//! Say what an outcome is: accept, found, supply.

use super::{once, refuse};
use crate::event::{Answer, Because, Finding, JournalEvent, Next, Omitted, Recorded, Verb};
use crate::id::{ActionId, StepIx};
use crate::json::Json;
use crate::machine::dispute::{self, Outcome, Says};
use crate::machine::fold::{NOTHING_TO_UNDO, UNDONE};
use crate::machine::scribe::Scribe;
use crate::machine::settle::{cannot_refuse, partial, turns};
use crate::machine::{Operation, PersonFinding, Rejected, branch, retry, turn};
use crate::plan::SagaPlan;
use crate::state::{Action, Effect, Stage};

/// A person settles an action as applied.
pub(super) fn accept(
    s: &mut Scribe<'_>,
    action: ActionId,
    output: Option<Json>,
    evidence: String,
    operation: Operation,
) -> Result<(), Rejected> {
    once(s, operation, Verb::Accept, |s, operation| {
        let (ix, a) = s.find(&action)?;
        may_settle(s, &action, a, "accepted")?;
        check_output(s.plan, ix, &action, a, output.as_ref())?;
        let finding = Finding::Applied(recorded(output.as_ref()));
        let disputed = if a.dispute.is_some() { Some(decides(s, &action, &finding)?) } else { None };
        let operation = operation.id.clone();
        s.record(JournalEvent::AcceptedByPerson { action: action.clone(), operation, output, evidence });
        if let Some(outcome) = disputed {
            dispute::conclude(s, action, finding, outcome);
        }
        Ok(Answer::Accepted)
    })
}

/// A person settles an action with a finding.
pub(super) fn found(
    s: &mut Scribe<'_>,
    action: ActionId,
    finding: PersonFinding,
    evidence: String,
    operation: Operation,
) -> Result<(), Rejected> {
    once(s, operation, Verb::Found, |s, operation| {
        let (_, a) = s.find(&action)?;
        let partly = a.stage == Stage::Quarantined && a.effect == Effect::Partial;
        if a.stage == Stage::Quarantined && !partly {
            return refuse(format!("`{action}` is QUARANTINED: it is known that it had no effect"));
        }
        if partly && finding != PersonFinding::NotApplied {
            return refuse(format!(
                "`{action}` took effect in part: accept it, find it not applied, or close"
            ));
        }
        may_settle(s, &action, a, "settled")?;
        check_finding(s, &action, &finding)?;
        let finding = as_finding(finding);
        let disputed = if a.dispute.is_some() { Some(decides(s, &action, &finding)?) } else { None };
        let next = if disputed.is_some() { Next::Stay } else { follows(s, &action, &finding, partly) };
        let reason = turns(&action, &finding, &next);
        s.record(JournalEvent::FoundByPerson {
            action: action.clone(),
            operation: operation.id.clone(),
            finding: finding.clone(),
            evidence,
            next,
        });
        if let Some(reason) = reason {
            turn::turn(s, reason);
        }
        if let Some(outcome) = disputed {
            dispute::conclude(s, action, finding, outcome);
        }
        Ok(Answer::Accepted)
    })
}

/// What a person's word about a dispute does. That it took effect is worth knowing even where nothing undoes it
/// by itself: the item stays, and a compensation can be requested.
fn decides(s: &Scribe<'_>, id: &ActionId, finding: &Finding) -> Result<Outcome, Rejected> {
    match dispute::judge(s, id, finding, Says::Person) {
        outcome @ Outcome::Desk(_) if matches!(finding, Finding::Applied(_) | Finding::Partial(_)) => {
            Ok(outcome)
        }
        Outcome::Desk(why) => refuse(why),
        Outcome::Wished(_) => refuse("the pivot is under way: wait for its outcome"),
        outcome => Ok(outcome),
    }
}

fn may_settle(s: &Scribe<'_>, id: &ActionId, a: &Action, done: &str) -> Result<(), Rejected> {
    if a.dispute.is_some() {
        return Ok(());
    }
    if s.state.is_over(id) {
        return refuse("the saga was closed");
    }
    if s.state.phase.is_ended() && id.is_forward() {
        return refuse("the saga has ended");
    }
    if id.is_forward() && s.state.compensation_began(s.plan, id) && !a.stage.is_settled() {
        return refuse(format!("the compensation of `{}` settles it", id.step));
    }
    let undecided = s.plan.find(&id.step).and_then(|ix| branch::undecided_around(s.plan, s.state, ix));
    if let Some(branch) = undecided.filter(|_| id.is_forward()) {
        return refuse(format!("the branch `{}` is not decided", s.plan.branch(branch).name));
    }
    match a.stage {
        Stage::Quarantined => Ok(()),
        Stage::Reconciling if a.running.is_none() => Ok(()),
        Stage::Reconciling => refuse(format!("an attempt of `{id}` is running: wait for its answer")),
        Stage::Pending
        | Stage::Ready
        | Stage::Running
        | Stage::RetryScheduled
        | Stage::Succeeded
        | Stage::Partial
        | Stage::TerminalRejected
        | Stage::Skipped => refuse(format!(
            "only a QUARANTINED or RECONCILING action can be {done}, and `{id}` is {}",
            a.stage.name()
        )),
    }
}

fn check_output(
    plan: &SagaPlan,
    ix: StepIx,
    id: &ActionId,
    a: &Action,
    output: Option<&Json>,
) -> Result<(), Rejected> {
    match output {
        Some(value) if id.is_forward() || matches!(value.text(), UNDONE | NOTHING_TO_UNDO) => Ok(()),
        Some(value) => {
            refuse(format!("a compensation is accepted with {UNDONE} or {NOTHING_TO_UNDO}, not with {value}"))
        }
        None if id.is_forward() && (!plan.needs_output(ix) || a.value().is_some()) => Ok(()),
        None if id.is_forward() => {
            let step = &plan.step(ix).name;
            refuse(format!("another step, or the result, needs the output of `{step}`: give it"))
        }
        None => refuse(format!("say {UNDONE} or {NOTHING_TO_UNDO}")),
    }
}

/// Only a forward action before the pivot can be found refused, or partial.
fn check_finding(s: &Scribe<'_>, id: &ActionId, finding: &PersonFinding) -> Result<(), Rejected> {
    match finding {
        PersonFinding::NotApplied => Ok(()),
        PersonFinding::Refused(_) | PersonFinding::Partial(_) if cannot_refuse(s, id) => {
            refuse("only a forward action before the pivot can be found refused, or partial")
        }
        PersonFinding::Refused(_) | PersonFinding::Partial(_) => Ok(()),
    }
}

/// What follows from a finding about an unknown outcome, or a partial effect.
fn follows(s: &Scribe<'_>, id: &ActionId, finding: &Finding, partly: bool) -> Next {
    match finding {
        Finding::Refused(_) => Next::Reject,
        Finding::Partial(_) => partial(s, id),
        _ if partly => retry::persistent(s, id, Because::FoundByPerson),
        _ => retry::after_failure(s, id, None),
    }
}

fn as_finding(finding: PersonFinding) -> Finding {
    match finding {
        PersonFinding::NotApplied => Finding::Absent,
        PersonFinding::Refused(refusal) => Finding::Refused(recorded(refusal.as_ref())),
        PersonFinding::Partial(output) => Finding::Partial(output.map(Recorded::Value)),
    }
}

fn recorded(value: Option<&Json>) -> Recorded {
    match value {
        Some(value) => Recorded::Value(value.clone()),
        None => Recorded::Omitted(Omitted { reason: "a person gave none".into(), digest: None, size: 0 }),
    }
}

/// A person supplies a result that could not be recorded.
pub(super) fn supply(
    s: &mut Scribe<'_>,
    action: ActionId,
    output: Json,
    evidence: String,
    operation: Operation,
) -> Result<(), Rejected> {
    once(s, operation, Verb::Supply, |s, operation| {
        let (_, a) = s.find(&action)?;
        if s.state.is_over(&action) {
            return refuse("the saga was closed");
        }
        if a.stage != Stage::Succeeded || !action.is_forward() {
            return refuse(format!(
                "only the result of a SUCCEEDED step can be supplied, and `{action}` is {}",
                a.stage.name()
            ));
        }
        if a.omitted().is_none() {
            return refuse(format!("the result of `{action}` is recorded"));
        }
        s.record(JournalEvent::Supplied { action, operation: operation.id.clone(), output, evidence });
        Ok(Answer::Accepted)
    })
}
