//! What settles a dispute: the finding of its one query, or a person. The rules of ARCHITECTURE.md, case by case.

use super::scribe::Scribe;
use super::{fold, settle, turn};
use crate::event::{Because, Finding, JournalEvent, Next, TurnReason};
use crate::id::ActionId;
use crate::state::{Action, Phase, Stage};

/// Who says so: a query decides little alone, a person decides what the query leaves open.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Says {
    Query,
    Person,
}

/// What a finding does with a dispute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The item closes, and what the finding says is recorded.
    Settled,
    /// The same, and the saga turns back.
    SettledAndTurned(TurnReason),
    /// It stays on the desk, and the wish to turn back is recorded: the pivot is under way.
    Wished(TurnReason),
    /// It stays on the desk: why.
    Desk(&'static str),
}

/// The query about a dispute found something.
pub(super) fn found(s: &mut Scribe<'_>, action: ActionId, query: u32, finding: Finding) {
    let outcome = judge(s, &action, &finding, Says::Query);
    let next = match outcome {
        Outcome::Settled | Outcome::SettledAndTurned(_) => Next::Stay,
        Outcome::Wished(_) | Outcome::Desk(_) => Next::Desk { because: Because::Contradiction },
    };
    let asked = JournalEvent::QueryAnswered { action: action.clone(), query, finding: finding.clone(), next };
    s.record(asked);
    conclude(s, action, finding, outcome);
}

/// Writes down what was judged.
pub(super) fn conclude(s: &mut Scribe<'_>, action: ActionId, finding: Finding, outcome: Outcome) {
    match outcome {
        Outcome::Settled => s.record(JournalEvent::DisputeSettled { action, finding }),
        Outcome::SettledAndTurned(reason) => {
            s.record(JournalEvent::DisputeSettled { action, finding });
            turn::turn(s, reason);
        }
        Outcome::Wished(reason) => turn::turn(s, reason),
        Outcome::Desk(_) => {}
    }
}

/// The table: what is recorded × what is found.
pub(super) fn judge(s: &Scribe<'_>, id: &ActionId, finding: &Finding, says: Says) -> Outcome {
    let a = s.action(id);
    let without = match finding {
        Finding::Refused(_) => true,
        Finding::Fenced { through } => *through >= a.attempts,
        Finding::Absent => says == Says::Person || settle::absence_is_decisive(s, id, a),
        Finding::Applied(_) | Finding::Partial(_) | Finding::InProgress | Finding::Unclear { .. } => false,
    };
    let recorded = a.is_recorded_as_applied(id);
    if s.state.phase == Phase::Closed {
        let same = match finding {
            Finding::Applied(_) => recorded && a.stage == Stage::Succeeded,
            Finding::Partial(_) => recorded && a.stage == Stage::Partial,
            _ => without && !recorded && a.stage.is_settled(),
        };
        return closed(same, says);
    }
    match finding {
        Finding::Applied(_) if recorded && a.stage == Stage::Succeeded => the_same(s, id),
        Finding::Partial(_) if recorded && a.stage == Stage::Partial => Outcome::Settled,
        Finding::Applied(_) | Finding::Partial(_) if recorded => other_effect(s, id, finding, says),
        Finding::Applied(_) | Finding::Partial(_) => effect_after_all(s, id, says),
        _ if !without => Outcome::Desk("the finding decides nothing"),
        _ if recorded => no_effect_after_all(s, id, a, says),
        _ => Outcome::Settled,
    }
}

/// Of a closed saga nothing moves any more: the item closes for a person's word, and for a query that finds what is
/// recorded.
fn closed(same: bool, says: Says) -> Outcome {
    match says {
        Says::Person => Outcome::Settled,
        Says::Query if same => Outcome::Settled,
        Says::Query => Outcome::Desk("the saga was closed: a person says what is true"),
    }
}

/// Recorded as applied, and found so: unless its compensation has found nothing to undo.
fn the_same(s: &Scribe<'_>, id: &ActionId) -> Outcome {
    let used_up = id.is_forward() && s.state.compensation_found_nothing(s.plan, id);
    if used_up {
        Outcome::Desk("its compensation found nothing to undo: request another")
    } else {
        Outcome::Settled
    }
}

/// Recorded without effect, found applied, if only in part.
fn effect_after_all(s: &Scribe<'_>, id: &ActionId, says: Says) -> Outcome {
    let step = id.step.clone();
    if s.state.turned.is_some() {
        return if may_compensate(s, id) {
            Outcome::Settled // Exactly one compensation; after the end an ordinary late one.
        } else {
            Outcome::Desk("no compensation undoes it: request one, or say what is done about it")
        };
    }
    if s.state.phase == Phase::Running && s.state.before_pivot(s.plan) {
        return turned(s, TurnReason::Contradiction { step });
    }
    match says {
        Says::Query => Outcome::Desk("the saga cannot turn back for it"),
        Says::Person => Outcome::Settled,
    }
}

/// Recorded as applied, found without effect.
fn no_effect_after_all(s: &Scribe<'_>, id: &ActionId, a: &Action, says: Says) -> Outcome {
    if a.running.is_some() {
        return Outcome::Desk("an attempt of it is under way: wait for its answer");
    }
    let step = id.step.clone();
    if id.is_forward() && a.stage == Stage::Succeeded && fold::may_skip(s.plan, s.state, id) {
        return turned(s, TurnReason::Contradiction { step });
    }
    if id.is_forward() && s.state.compensation_is_open(s.plan, id) {
        return Outcome::Desk("its compensation is under way: wait for what that finds");
    }
    if !id.is_forward() && s.action(&ActionId::forward(id.step.clone())).dispute.is_some() {
        return Outcome::Desk("its step is disputed, too: settle that first");
    }
    let running = s.state.phase == Phase::Running;
    match says {
        Says::Person if running && s.is_pivot(id) => {
            Outcome::Desk("what was built on the pivot stands: accept it, or close the saga")
        }
        Says::Query => Outcome::Desk("what was built on its success stands"),
        Says::Person => Outcome::Settled,
    }
}

/// Recorded as applied, found applied in part, or the other way round.
fn other_effect(s: &Scribe<'_>, id: &ActionId, finding: &Finding, says: Says) -> Outcome {
    if says == Says::Query {
        return Outcome::Desk("how much of it took effect is for a person to say");
    }
    let step = id.step.clone();
    match finding {
        Finding::Partial(_) if !may_compensate(s, id) || !s.state.before_pivot(s.plan) => {
            Outcome::Desk("no compensation undoes the part: request one, or say what is done about it")
        }
        Finding::Partial(_) => turned(s, TurnReason::Partial { step }),
        _ => Outcome::Settled,
    }
}

/// Turns the saga back, or wishes to while the pivot is under way.
fn turned(s: &Scribe<'_>, reason: TurnReason) -> Outcome {
    if s.state.turned.is_some() {
        Outcome::Settled
    } else if s.state.pivot_in_doubt(s.plan) {
        Outcome::Wished(reason)
    } else {
        Outcome::SettledAndTurned(reason)
    }
}

/// Is there a compensation that has not begun?
fn may_compensate(s: &Scribe<'_>, id: &ActionId) -> bool {
    let undoable = id.is_forward() && s.step(id).undo.is_some();
    undoable && !s.state.compensation_began(s.plan, id)
}
