//! What can be shown of a saga: its steps, what waits for whom, its story and its picture.
//!
//! All of it is computed from the plan and the journal, so it can be had from a database without an engine.

mod deferral;
mod picture;
mod timeline;

use std::sync::Arc;

use amends_core::agenda::{DeskItem, Lane, Task, Wait, agenda, tasks};
use amends_core::event::{Failure, Recorded, TurnReason};
use amends_core::plan::{Source, StepKind};
use amends_core::state::{Action, Effect, Phase, Stage};
use amends_core::{ActionId, Json, SagaId, SagaPlan, SagaState, Timestamp, Transition};

use crate::authoring::{Handle, Payload};
use crate::controls::ControlInForce;
use crate::ports::{Label, Loaded};
pub use deferral::{Deferral, Missing};

/// One saga, as its journal tells it.
#[derive(Clone, Debug)]
pub struct SagaView {
    /// Its id.
    pub id: SagaId,
    /// Its business key.
    pub key: Arc<str>,
    /// On whose behalf it runs.
    pub tenant: Option<Arc<str>>,
    /// What its workflow said of its input when it was started.
    pub labels: Vec<Label>,
    /// Where it stands as a whole.
    pub phase: Phase,
    /// Why it turned back, if it has.
    pub turned: Option<TurnReason>,
    /// Why it cannot be run, if it was set aside.
    pub set_aside: Option<String>,
    /// When it was started.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// Its steps, in the order of their declaration.
    pub steps: Vec<StepView>,
    /// Its branches, in the order of their declaration.
    pub branches: Vec<BranchView>,
    /// What waits for a person.
    pub desk: Vec<DeskItem>,
    /// Why every part that is not settled is not moving by itself right now.
    pub waits: Vec<Wait>,
    /// Of what waits for a permit: which one is missing. Known only to the engine that has the saga in memory; but for
    /// a pause of the workflow, empty in a view made by another one, and in one made from rows alone.
    pub deferrals: Vec<Deferral>,
    plan: Arc<SagaPlan>,
    state: SagaState,
    journal: Vec<Transition>,
}

/// One step of one saga.
#[derive(Clone, Debug)]
pub struct StepView {
    /// Its name.
    pub name: Arc<str>,
    /// What it may do.
    pub kind: StepKind,
    /// The step itself.
    pub forward: ActionView,
    /// Its compensation, if it has one.
    pub compensation: Option<ActionView>,
}

/// One branch of one saga.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchView {
    /// Its name.
    pub name: Arc<str>,
    /// Does its condition hold? None while it is not decided.
    pub taken: Option<bool>,
}

/// One action of one saga.
#[derive(Clone, Debug)]
pub struct ActionView {
    /// Which one.
    pub action: ActionId,
    /// Where it stands.
    pub stage: Stage,
    /// What is known of its effect.
    pub effect: Effect,
    /// Attempts made.
    pub attempts: u32,
    /// Queries made.
    pub queries: u32,
    /// The last failure.
    pub failure: Option<Failure>,
    /// Its result.
    pub output: Option<Recorded>,
    /// What it was refused with.
    pub refusal: Option<Recorded>,
    /// Of a compensation: the state and version that it expects to find.
    pub expected: Option<Json>,
    /// Of a compensation that stopped as stale: what it found instead.
    pub found_instead: Option<Json>,
    /// Since when it stands there.
    pub since: Timestamp,
}

impl ActionView {
    fn of(id: ActionId, action: &Action) -> Self {
        Self {
            action: id,
            stage: action.stage,
            effect: action.effect,
            attempts: action.attempts,
            queries: action.queries,
            failure: action.failure.clone(),
            output: action.output.clone(),
            refusal: action.refusal.clone(),
            expected: action.expected.clone(),
            found_instead: action.found_instead.clone(),
            since: action.since,
        }
    }
}

impl SagaView {
    /// Reads a saga's rows. `now` is the time for which waits are told.
    ///
    /// # Errors
    /// When the journal cannot be read; the text says why.
    pub fn new(plan: Arc<SagaPlan>, loaded: &Loaded, now: Timestamp) -> Result<Self, String> {
        let Loaded { row, journal } = loaded;
        let (state, journal) = crate::worker::fold(&plan, journal)?;
        let agenda = agenda(&plan, &state, now.max(state.at));
        let steps = plan.steps.iter().zip(&state.steps).map(|(step, at)| StepView {
            name: step.name.clone(),
            kind: step.kind,
            forward: ActionView::of(ActionId::forward(step.name.clone()), &at.forward),
            compensation: at
                .undo
                .as_ref()
                .map(|undo| ActionView::of(ActionId::compensation(step.name.clone()), undo)),
        });
        let branches = plan.branches.iter().zip(&state.branches);
        let branches =
            branches.map(|(branch, taken)| BranchView { name: branch.name.clone(), taken: *taken });
        Ok(Self {
            id: state.id,
            key: state.key.clone(),
            tenant: state.tenant.clone(),
            labels: row.labels.clone(),
            phase: state.phase,
            turned: state.turned.clone(),
            set_aside: row.set_aside.clone(),
            started_at: state.started_at,
            ended_at: state.ended_at,
            steps: steps.collect(),
            branches: branches.collect(),
            desk: amends_core::agenda::desk(&plan, &state),
            waits: agenda.waits,
            deferrals: Vec::new(),
            plan,
            state,
            journal,
        })
    }

    /// What may begin and is held by the pause of the workflow.
    pub(crate) fn held_by(&self, pause: &Arc<ControlInForce>, now: Timestamp) -> Vec<Deferral> {
        let (tasks, _) = tasks(&self.plan, &self.state, now.max(self.state.at));
        let held = tasks.into_iter().filter_map(|task| match task {
            Task::Start { action, lane, .. } if self.state.paused.is_none() => Some((action, lane)),
            _ => None,
        });
        let deferral = |(action, lane): (ActionId, Lane)| {
            let ready = self.state.action(&self.plan, &action).map_or(self.state.at, |action| action.since);
            let step = self.plan.find(&action.step).map(|ix| self.plan.step(ix));
            Deferral {
                lane,
                since: ready.max(pause.since),
                dependency: step.and_then(|step| step.contract.dependency.as_deref().map(Arc::from)),
                missing: Missing::Paused(pause.clone()),
                action,
            }
        };
        held.map(deferral).collect()
    }

    /// The workflow's shape.
    pub fn plan(&self) -> &SagaPlan {
        &self.plan
    }

    /// The state that the journal folds to.
    pub fn state(&self) -> &SagaState {
        &self.state
    }

    /// The journal.
    pub fn journal(&self) -> &[Transition] {
        &self.journal
    }

    /// The step of this name.
    pub fn step(&self, name: &str) -> Option<&StepView> {
        self.steps.iter().find(|step| *step.name == *name)
    }

    /// The recorded result of a step, as the text that came.
    pub fn output_json(&self, step: &str) -> Option<&Json> {
        self.step(step)?.forward.output.as_ref()?.value()
    }

    /// What a handle stands for, in this saga: none if it was not recorded, or does not decode. A handle reads
    /// by workflow, version, step and schema, so a test may build its definition again.
    pub fn output<T: Payload>(&self, handle: Handle<T>) -> Option<T> {
        let origin = handle.origin();
        if origin.workflow() != (&*self.plan.workflow, self.plan.version) {
            return None;
        }
        let (source, schema) = match origin.source {
            Source::SagaInput => (Source::SagaInput, &self.plan.input_schema),
            Source::Step(_) => {
                let ix = self.plan.find(origin.name())?;
                (Source::Step(ix), &self.plan.step(ix).schemas.output)
            }
            Source::Branch(_) => {
                let ix = self.plan.find_branch(origin.name())?;
                (Source::Branch(ix), &self.plan.branch(ix).schema)
            }
        };
        let given = self.state.given(&self.plan, source).ok()?;
        if *schema == T::schema() { T::recall(&given).ok() } else { None }
    }

    /// The steps that were compensated with effect, in the order in which that succeeded.
    pub fn compensations(&self) -> Vec<&str> {
        let done = |step: &&StepView| {
            step.compensation
                .as_ref()
                .is_some_and(|undo| undo.stage == Stage::Succeeded && undo.effect == Effect::Applied)
        };
        let mut steps: Vec<(usize, &StepView)> = self
            .steps
            .iter()
            .filter(done)
            .map(|step| {
                (timeline::settled_at(&self.journal, &ActionId::compensation(step.name.clone())), step)
            })
            .collect();
        steps.sort_by_key(|(at, _)| *at);
        steps.into_iter().map(|(_, step)| &*step.name).collect()
    }

    /// The saga's story, one line per fact, in seconds since its start. Deterministic: no ids, no wall times.
    /// What came from outside (keys, refusals, evidence) cannot break a line: control characters are written out.
    pub fn timeline(&self) -> String {
        timeline::text(&self.journal, self.started_at)
    }

    /// The workflow's graph as a Mermaid flowchart, coloured by where each step stands.
    pub fn mermaid(&self) -> String {
        picture::mermaid(&self.plan, &self.state)
    }

    /// The workflow's graph as text, one line per step: what it waits for and where it stands.
    pub fn picture(&self) -> String {
        picture::text(&self.plan, &self.state)
    }
}
