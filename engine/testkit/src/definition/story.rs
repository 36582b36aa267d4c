//! What a rule can ask of a path.

use amends_core::agenda::desk;
use amends_core::plan::InDoubt;
use amends_core::state::{Effect, Phase};
use amends_core::{SagaPlan, SagaState, StepIx};

/// What happened to effects, in the order in which the saga came to know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Happened {
    /// A step took effect.
    Applied(StepIx),
    /// Its compensation undid it.
    Undone(StepIx),
    /// Its compensation began while nobody knew whether it took effect.
    InDoubt(StepIx),
}

/// One path up to one state, as a rule sees it. Steps are named; a name that the plan does not have is a panic.
#[derive(Clone, Copy, Debug)]
pub struct Story<'a> {
    pub(super) plan: &'a SagaPlan,
    pub(super) state: &'a SagaState,
    pub(super) happened: &'a [Happened],
}

/// Something that happened, or did not, beside all else that did.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    story: Story<'a>,
    at: Option<usize>,
}

impl Moment<'_> {
    /// It happened.
    pub fn happened(self) -> bool {
        self.at.is_some()
    }

    /// It happened, and `step` had not taken effect by then.
    ///
    /// # Panics
    /// When there is no such step.
    pub fn before(self, step: &str) -> bool {
        let other = self.story.applied(step).at;
        self.at.is_some_and(|at| other.is_none_or(|other| at < other))
    }

    /// It happened, and `step` had taken effect by then.
    ///
    /// # Panics
    /// When there is no such step.
    pub fn after(self, step: &str) -> bool {
        let other = self.story.applied(step).at;
        self.at.is_some_and(|at| other.is_some_and(|other| at > other))
    }
}

impl<'a> Story<'a> {
    fn find(self, step: &str) -> StepIx {
        self.plan.find(step).unwrap_or_else(|| {
            let known: Vec<&str> = self.plan.steps.iter().map(|step| &*step.name).collect();
            panic!("`{}` has no step `{step}` (it has: {})", self.plan.workflow, known.join(", "))
        })
    }

    fn moment(self, what: Happened) -> Moment<'a> {
        Moment { story: self, at: self.happened.iter().position(|happened| *happened == what) }
    }

    /// When it became known that `step` took effect, in whole or in part.
    ///
    /// # Panics
    /// When there is no such step.
    pub fn applied(self, step: &str) -> Moment<'a> {
        self.moment(Happened::Applied(self.find(step)))
    }

    /// When `step` was undone.
    ///
    /// # Panics
    /// When there is no such step.
    pub fn undone(self, step: &str) -> Moment<'a> {
        self.moment(Happened::Undone(self.find(step)))
    }

    /// When the compensation of `step` began while nobody knew whether it had taken effect.
    ///
    /// # Panics
    /// When there is no such step.
    pub fn undone_in_doubt(self, step: &str) -> Moment<'a> {
        self.moment(Happened::InDoubt(self.find(step)))
    }

    /// Does `step` declare that its participant keeps a barrier?
    ///
    /// # Panics
    /// When there is no such step.
    pub fn keeps_barrier(self, step: &str) -> bool {
        self.plan.step(self.find(step)).undo.is_some_and(|undo| undo.in_doubt == InDoubt::Fence)
    }

    /// Has `step` an effect that stands?
    ///
    /// # Panics
    /// When there is no such step.
    pub fn in_place(self, step: &str) -> bool {
        let state = self.state.step(self.find(step));
        state.forward.has_effect() && state.undo.as_ref().is_none_or(|undo| undo.output.is_none())
    }

    /// May `step` have an effect that nobody knows of?
    ///
    /// # Panics
    /// When there is no such step.
    pub fn in_doubt(self, step: &str) -> bool {
        self.state.step(self.find(step)).forward.effect == Effect::Possible
    }

    /// Why `step`, or its compensation, waits for a person: `persistent`, `attempts-spent`, …
    ///
    /// # Panics
    /// When there is no such step.
    pub fn waits_for_person(self, step: &str) -> Option<&'static str> {
        let name = &self.plan.step(self.find(step)).name;
        let items = desk(self.plan, self.state);
        items.iter().find(|item| item.step() == &**name).map(|item| item.because.code())
    }

    /// Has the saga turned back?
    pub fn turned(self) -> bool {
        self.state.turned.is_some()
    }

    /// Where the saga stands as a whole.
    pub fn phase(self) -> Phase {
        self.state.phase
    }
}
