//! Let something go on: resume, retry now, send again, keep.

use super::{once, refuse};
use crate::event::{Answer, Because, JournalEvent, Verb};
use crate::id::ActionId;
use crate::machine::scribe::Scribe;
use crate::machine::settle::{query_under_way, repeat_limit, settle_of};
use crate::machine::{Operation, Rejected, retry};
use crate::plan::Settle;
use crate::state::{Action, Effect, Stage};
use crate::time::Timestamp;

/// A quarantined action goes on with a fresh, stated budget, under the same request id.
pub(super) fn resume(s: &mut Scribe<'_>, action: ActionId, operation: Operation) -> Result<(), Rejected> {
    once(s, operation, Verb::Resume, |s, operation| {
        let (_, a) = s.find(&action)?;
        may_resume(s, &action, a)?;
        let policy = s.policy(&action);
        let (attempts, deadline) = (policy.max_attempts, s.now + policy.give_up_after);
        s.record(JournalEvent::Resumed { action, operation: operation.id.clone(), attempts, deadline });
        Ok(Answer::Accepted)
    })
}

fn may_resume(s: &Scribe<'_>, id: &ActionId, a: &Action) -> Result<(), Rejected> {
    if s.state.phase.is_ended() && id.is_forward() {
        return refuse("the saga has ended");
    }
    not_closed(s, id)?;
    if a.stage != Stage::Quarantined {
        return refuse(format!("only a QUARANTINED action can be resumed, and `{id}` is {}", a.stage.name()));
    }
    if a.effect == Effect::Partial {
        return refuse(format!("`{id}` took effect in part: accept it, find it not applied, or close"));
    }
    if a.quarantine.is_some_and(|(because, _)| because == Because::Stale) {
        return refuse(format!("`{id}` is stale: approve or deny it"));
    }
    Ok(())
}

fn not_closed(s: &Scribe<'_>, id: &ActionId) -> Result<(), Rejected> {
    if s.state.is_over(id) { refuse("the saga was closed") } else { Ok(()) }
}

/// The next attempt, or query, begins now. It ignores hint and delay, not the budget.
pub(super) fn retry_now(s: &mut Scribe<'_>, action: ActionId, operation: Operation) -> Result<(), Rejected> {
    once(s, operation, Verb::RetryNow, |s, operation| {
        let (_, a) = s.find(&action)?;
        not_closed(s, &action)?;
        match a.stage {
            Stage::RetryScheduled => {}
            Stage::Reconciling => may_ask(s, &action, a)?,
            stage => {
                return refuse(format!(
                    "only a RETRY_SCHEDULED or RECONCILING action can be hurried, and `{action}` is {}",
                    stage.name()
                ));
            }
        }
        s.record(JournalEvent::HurriedByPerson { action, operation: operation.id.clone() });
        Ok(Answer::Accepted)
    })
}

/// Can a query be sent, or put off?
fn may_ask(s: &Scribe<'_>, id: &ActionId, a: &Action) -> Result<(), Rejected> {
    if settle_of(s.step(id), id) != Settle::ByQuery {
        return refuse(format!("nothing asks about `{id}`: send it again, or settle it"));
    }
    if a.running.is_some() {
        return refuse(format!("an attempt of `{id}` is running: wait for its answer"));
    }
    if let Some(query) = query_under_way(a) {
        return refuse(format!("query {query} of `{id}` is under way: wait for what it finds"));
    }
    settled_by_itself(s, id)
}

fn settled_by_itself(s: &Scribe<'_>, id: &ActionId) -> Result<(), Rejected> {
    if id.is_forward() && s.state.compensation_began(s.plan, id) {
        return refuse(format!("the compensation of `{}` settles it", id.step));
    }
    Ok(())
}

/// One more transmission under the same request id, whatever the step declares.
pub(super) fn send_again(
    s: &mut Scribe<'_>,
    action: ActionId,
    override_reason: Option<String>,
    operation: Operation,
) -> Result<(), Rejected> {
    once(s, operation, Verb::SendAgain, |s, operation| {
        let (_, a) = s.find(&action)?;
        may_send_again(s, &action, a, override_reason.is_some())?;
        let operation = operation.id.clone();
        s.record(JournalEvent::SendAgainOrdered { action, operation, override_reason });
        Ok(Answer::Accepted)
    })
}

fn may_send_again(s: &Scribe<'_>, id: &ActionId, a: &Action, overridden: bool) -> Result<(), Rejected> {
    not_closed(s, id)?;
    if a.stage != Stage::Reconciling {
        return refuse(format!(
            "only a RECONCILING action can be sent again, and `{id}` is {}",
            a.stage.name()
        ));
    }
    if id.is_forward() && s.state.turned.is_some() {
        return refuse("the saga has turned back: nothing goes forward");
    }
    if a.running.is_some() {
        return refuse(format!("an attempt of `{id}` is running: wait for its answer"));
    }
    if let Some(query) = query_under_way(a) {
        return refuse(format!("query {query} of `{id}` is under way: wait for what it finds"));
    }
    settled_by_itself(s, id)?;
    if overridden {
        return Ok(());
    }
    let (limit, because) = repeat_limit(s.plan, id, a);
    if s.now >= limit {
        return refuse(format!("{}: say why it may be sent again all the same", because.code()));
    }
    let spent = a.attempts_of_budget() >= retry::attempts_max(s.plan, id, a);
    if because == Because::DeadlinePassed && spent {
        return refuse(
            "all attempts were made, and no key retention is stated: say why it may be sent again",
        );
    }
    Ok(())
}

/// The next query is put off; the item stays.
pub(super) fn keep(
    s: &mut Scribe<'_>,
    action: ActionId,
    until: Timestamp,
    operation: Operation,
) -> Result<(), Rejected> {
    once(s, operation, Verb::Keep, |s, operation| {
        let (_, a) = s.find(&action)?;
        not_closed(s, &action)?;
        if a.stage != Stage::Reconciling {
            return refuse(format!(
                "only a RECONCILING action can be kept, and `{action}` is {}",
                a.stage.name()
            ));
        }
        may_ask(s, &action, a)?;
        if until <= s.now {
            return refuse("that time has passed: let it be asked about now");
        }
        s.record(JournalEvent::KeptWaiting { action, operation: operation.id.clone(), until });
        Ok(Answer::Accepted)
    })
}
