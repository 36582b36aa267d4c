//! What a payments reviewer would ask about a plan, before it meets money.
//!
//! A warning is no error: a plan with warnings runs, and keeps every promise of the engine. Each one names a
//! place where that promise is kept by a person, or for longer than anybody would like. What is money and what
//! is not a plan does not say, so whether a credit comes before its debit is for the author to check
//! (one line for `explore_definition` of the test kit).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::{Contract, Exhausted, InDoubt, SagaPlan, Settle, Source, StepKind, StepPlan};
use crate::id::StepIx;

/// One question about a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Which rule asks.
    pub rule: Rule,
    /// About which step; none: the plan as a whole.
    pub step: Option<Arc<str>>,
    /// What the plan says.
    pub says: String,
}

/// The rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Rule {
    /// An unknown is settled by query, and no settle window is stated.
    NoSettleWindow,
    /// An unknown is settled by repeating, and no key retention is stated.
    NoKeyRetention,
    /// The participant may have forgotten the request id before the step gives up.
    RetentionBelowPatience,
    /// An effect before the pivot is settled by an operator only.
    OperatorBeforePivot,
    /// The pivot is settled by an operator only.
    OperatorPivot,
    /// A compensation is settled by an operator only.
    OperatorCompensation,
    /// After the turn, an unknown that only a person can settle is waited for.
    InDoubtWaitsForOperator,
    /// Several steps take effect and none of them is the pivot.
    EffectsWithoutPivot,
    /// Exhaustion before the pivot waits for a person, and no saga deadline ends that.
    HeldUntilAPerson,
    /// A read may refuse after effects that it does not read.
    LateRefusal,
}

impl Rule {
    /// Every rule.
    pub const ALL: [Self; 10] = [
        Self::NoSettleWindow,
        Self::NoKeyRetention,
        Self::RetentionBelowPatience,
        Self::OperatorBeforePivot,
        Self::OperatorPivot,
        Self::OperatorCompensation,
        Self::InDoubtWaitsForOperator,
        Self::EffectsWithoutPivot,
        Self::HeldUntilAPerson,
        Self::LateRefusal,
    ];

    /// Its name, for lists of accepted warnings.
    pub fn code(self) -> &'static str {
        match self {
            Self::NoSettleWindow => "no-settle-window",
            Self::NoKeyRetention => "no-key-retention",
            Self::RetentionBelowPatience => "retention-below-patience",
            Self::OperatorBeforePivot => "operator-before-pivot",
            Self::OperatorPivot => "operator-pivot",
            Self::OperatorCompensation => "operator-compensation",
            Self::InDoubtWaitsForOperator => "in-doubt-waits-for-operator",
            Self::EffectsWithoutPivot => "effects-without-pivot",
            Self::HeldUntilAPerson => "held-until-a-person",
            Self::LateRefusal => "late-refusal",
        }
    }

    /// Why a reviewer asks.
    pub fn why(self) -> &'static str {
        match self {
            Self::NoSettleWindow => {
                "\"Not found\" means \"without effect\" only after a stated settle window. Without one a query \
                 that finds nothing settles nothing, however often it is asked, and a person has to."
            }
            Self::NoKeyRetention => {
                "A repeat is safe only while the participant remembers the request id. How long it does is not \
                 stated, so nobody can tell a safe repeat from one that takes effect a second time; the engine \
                 stops with the attempts or the step deadline and asks a person."
            }
            Self::RetentionBelowPatience => {
                "Once the key retention has run, nothing may be transmitted whose effect is not known to be none. \
                 The policy goes on for longer than that, so its later repeats never happen: a person is asked \
                 earlier than the policy reads."
            }
            Self::OperatorBeforePivot => {
                "One lost answer stops the saga until a person finds out, while other steps hold money or goods. \
                 Lost answers come in thousands at once, when a participant restarts; persons do not."
            }
            Self::OperatorPivot => {
                "While the pivot's outcome is unknown the saga can neither go on nor turn back: every wish to \
                 cancel is pending, and all that was reserved stays reserved until a person finds out."
            }
            Self::OperatorCompensation => {
                "A compensation runs when something has gone wrong already. If its own answer is lost, only a \
                 person can tell whether the effect is undone, and everything before it in the graph waits."
            }
            Self::InDoubtWaitsForOperator => {
                "A saga that has turned waits for the outcome of this step before it undoes what came before it, \
                 and nothing but a person brings that outcome."
            }
            Self::EffectsWithoutPivot => {
                "Without a pivot the saga may turn back until its last step has answered: a late refusal or a \
                 cancellation undoes effects that the world has long relied on."
            }
            Self::HeldUntilAPerson => {
                "When the attempts are spent the action waits in quarantine, and no deadline ends the waiting: \
                 what other steps hold stays held until a person acts, over a weekend too."
            }
            Self::LateRefusal => {
                "A read changes nothing and can be asked at any time. Where it says no after effects were taken, \
                 each such no costs compensations that an earlier question would have saved."
            }
        }
    }

    /// What an author can do about it.
    pub fn advice(self) -> &'static str {
        match self {
            Self::NoSettleWindow => {
                "State `Contract::settle_window`: how long after its last transmission a request can still \
                 take effect. Ask the participant for the number."
            }
            Self::NoKeyRetention => {
                "State `Contract::key_retention`: how long the participant remembers a request id."
            }
            Self::RetentionBelowPatience => {
                "Shorten `give_up_after` below the retention, or settle by a query that asks by business reference."
            }
            Self::OperatorBeforePivot | Self::OperatorPivot => {
                "Settle it by query, or by repeating where the participant keeps its answers by request id. If \
                 neither can be had, reserve an amount or a number first, which can be asked for."
            }
            Self::OperatorCompensation => {
                "Make the compensation safe to repeat: let it undo by the forward request id, which is the same \
                 for every attempt."
            }
            Self::InDoubtWaitsForOperator => {
                "Declare `InDoubt::Fence` where the participant keeps a barrier, so that compensating a request \
                 that may still arrive is safe."
            }
            Self::EffectsWithoutPivot => {
                "Make the step that others rely on the pivot, and what follows it retriable."
            }
            Self::HeldUntilAPerson => {
                "Give the saga a deadline, or let the step's policy turn back on exhaustion."
            }
            Self::LateRefusal => "Declare the read before the first step that takes effect.",
        }
    }
}

/// What the plan says, why that is a question, and what can be done.
impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let step = self.step.as_deref().unwrap_or("the workflow");
        writeln!(f, "{step}: {} [{}]", self.says, self.rule.code())?;
        writeln!(f, "  why: {}", self.rule.why())?;
        write!(f, "  advice: {}", self.rule.advice())
    }
}

/// What a reviewer would ask about `plan`, step by step. Its policies count as they are: of a plan whose named
/// policies are not filled in yet, those are the defaults.
pub fn lint(plan: &SagaPlan) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for (ix, step) in plan.indices().zip(&plan.steps) {
        let mut say = |rule, says: String| {
            warnings.push(Warning { rule, step: Some(step.name.clone()), says });
        };
        of_contract(step, &mut say);
        of_operators(step, &mut say);
        if let Some(says) = held(plan, ix, step) {
            say(Rule::HeldUntilAPerson, says);
        }
        if let Some(says) = late_refusal(plan, ix, step) {
            say(Rule::LateRefusal, says);
        }
    }
    let effects = plan.steps.iter().filter(|step| step.kind == StepKind::Compensated).count();
    if plan.pivot.is_none() && effects > 1 {
        let says = format!("{effects} steps take effect, and none of them is the pivot");
        warnings.push(Warning { rule: Rule::EffectsWithoutPivot, step: None, says });
    }
    warnings
}

/// What a step does by `settle`: itself, its compensation, or both.
fn who_settles(step: &StepPlan, settle: Settle) -> Option<&'static str> {
    let undo = step.undo.is_some_and(|undo| undo.settle == settle);
    match (step.settle == settle, undo) {
        (true, true) => Some("it and its compensation are"),
        (true, false) => Some("it is"),
        (false, true) => Some("its compensation is"),
        (false, false) => None,
    }
}

fn of_contract(step: &StepPlan, say: &mut impl FnMut(Rule, String)) {
    let Contract { settle_window, key_retention, .. } = step.contract;
    if let Some(who) = who_settles(step, Settle::ByQuery).filter(|_| settle_window.is_none()) {
        say(Rule::NoSettleWindow, format!("{who} settled by query, and no settle window is stated"));
    }
    let Some(who) = who_settles(step, Settle::ByRepeating) else { return };
    let Some(retention) = key_retention else {
        say(Rule::NoKeyRetention, format!("{who} settled by repeating, and no key retention is stated"));
        return;
    };
    let undo = step.undo.filter(|undo| undo.settle == Settle::ByRepeating);
    let forward = (step.settle == Settle::ByRepeating).then_some(step.retry.give_up_after);
    let patience = forward.into_iter().chain(undo.map(|_| step.compensation.give_up_after)).max();
    if let Some(patience) = patience.filter(|patience| *patience > retention) {
        let (patience, retention) = (told(patience), told(retention));
        say(
            Rule::RetentionBelowPatience,
            format!("{who} repeated for up to {patience}, and request ids are remembered for {retention}"),
        );
    }
}

fn of_operators(step: &StepPlan, say: &mut impl FnMut(Rule, String)) {
    let by_operator = step.settle == Settle::ByOperator;
    match step.kind {
        StepKind::Compensated if by_operator => {
            say(
                Rule::OperatorBeforePivot,
                "it takes effect, and only an operator settles a lost answer".into(),
            );
        }
        StepKind::Pivot if by_operator => {
            say(Rule::OperatorPivot, "the point of no return is settled by an operator only".into());
        }
        StepKind::Compensated | StepKind::Pivot | StepKind::Read | StepKind::Retriable => {}
    }
    let Some(undo) = step.undo else { return };
    if undo.settle == Settle::ByOperator {
        say(Rule::OperatorCompensation, "its compensation is settled by an operator only".into());
    }
    if by_operator && undo.in_doubt == InDoubt::Wait {
        say(
            Rule::InDoubtWaitsForOperator,
            "after the turn it waits for what only an operator can find".into(),
        );
    }
}

/// Does the exhaustion of this step leave effects of others in place, for as long as nobody comes?
fn held(plan: &SagaPlan, ix: StepIx, step: &StepPlan) -> Option<String> {
    let before = step.kind != StepKind::Retriable && plan.pivot.is_none_or(|pivot| ix <= pivot);
    if !before || plan.deadline.is_some() || step.retry.on_exhausted == Exhausted::TurnBack {
        return None;
    }
    let behind = reached(plan, ix, |plan, ix| plan.graph.children(ix).to_vec());
    let holds =
        |other: &StepIx| *other != ix && !behind[other.0] && plan.step(*other).kind == StepKind::Compensated;
    let held: Vec<&str> = plan.indices().filter(holds).map(|other| &*plan.step(other).name).collect();
    if held.is_empty() {
        return None;
    }
    let (policy, held) = (&step.retry.name, held.join(", "));
    Some(format!(
        "when its attempts (policy `{policy}`) are spent it waits, without any deadline, and {held} may hold on"
    ))
}

/// May this read say no after effects, none of which it reads?
fn late_refusal(plan: &SagaPlan, ix: StepIx, step: &StepPlan) -> Option<String> {
    let past_pivot = plan.pivot.is_some_and(|pivot| ix > pivot);
    if step.kind != StepKind::Read || past_pivot || !step.may_refuse() {
        return None;
    }
    let has_effect = |at: &StepIx| plan.step(*at).kind == StepKind::Compensated;
    let waits = reached(plan, ix, |plan, ix| plan.graph.parents(ix).to_vec());
    let reads = reached(plan, ix, |plan, ix| {
        plan.step(ix).input.sources().iter().flat_map(|source| steps_of(plan, *source)).collect()
    });
    let after: Vec<&str> = plan
        .indices()
        .filter(|at| *at != ix && waits[at.0] && has_effect(at))
        .map(|at| &*plan.step(at).name)
        .collect();
    let reads_one = plan.indices().any(|at| at != ix && reads[at.0] && has_effect(&at));
    if after.is_empty() || reads_one || plan.graph.place(ix).is_some() {
        return None;
    }
    Some(format!("it may refuse, reads nothing of {}, and is asked after it", after.join(", ")))
}

fn steps_of(plan: &SagaPlan, source: Source) -> Vec<StepIx> {
    match source {
        Source::SagaInput => Vec::new(),
        Source::Step(step) => vec![step],
        Source::Branch(_) => plan.outputs_of(source),
    }
}

/// Which steps are reached from `from`, itself included.
fn reached(plan: &SagaPlan, from: StepIx, next: impl Fn(&SagaPlan, StepIx) -> Vec<StepIx>) -> Vec<bool> {
    let mut seen = vec![false; plan.steps.len()];
    let mut open = vec![from];
    while let Some(ix) = open.pop() {
        if !std::mem::replace(&mut seen[ix.0], true) {
            open.extend(next(plan, ix));
        }
    }
    seen
}

/// `36h`, `90s`, `1.5s`: in the largest unit that is exact.
fn told(duration: Duration) -> String {
    match (duration.as_secs(), duration.subsec_nanos()) {
        (seconds, 0) if seconds % 3_600 == 0 => format!("{}h", seconds / 3_600),
        (seconds, 0) if seconds % 60 == 0 => format!("{}m", seconds / 60),
        _ => format!("{duration:?}"),
    }
}
