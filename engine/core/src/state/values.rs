//! What a source stands for in one saga: recorded outputs, chosen by recorded decisions.

use super::SagaState;
use crate::event::Omitted;
use crate::json::Json;
use crate::plan::{Merge, SagaPlan, Source};

/// The recorded value that a source stands for.
///
/// A value that a branch may give is told apart from one that is there in any case, so that no value (not even
/// one whose JSON is `null`) is taken for a side that was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given<'a> {
    /// The value, as it was recorded.
    Value(&'a Json),
    /// The branch was taken, and gives this.
    Present(Box<Given<'a>>),
    /// The branch was not taken.
    Absent,
}

impl Given<'_> {
    /// The value as JSON. `null` says that a branch was not taken.
    pub fn json(&self) -> Json {
        match self {
            Self::Value(json) => (*json).clone(),
            Self::Present(given) => given.json(),
            Self::Absent => Json::parse("null").expect("null is JSON"),
        }
    }
}

/// Why a source stands for nothing (yet).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Missing<'a> {
    /// The step took effect, and its result could not be recorded.
    #[error("the result of `{step}` was not recorded ({})", .omitted.reason)]
    Omitted {
        /// The step.
        step: &'a str,
        /// What is known of its result.
        omitted: &'a Omitted,
    },
    /// The step has not succeeded.
    #[error("`{step}` has no result")]
    NoResult {
        /// The step.
        step: &'a str,
    },
    /// The branch is not decided.
    #[error("the branch `{branch}` is not decided")]
    Undecided {
        /// The branch.
        branch: &'a str,
    },
}

impl SagaState {
    /// What `source` stands for.
    ///
    /// # Errors
    /// When it stands for nothing: a result was omitted or is not there, or a branch is not decided.
    pub fn given<'a>(&'a self, plan: &'a SagaPlan, source: Source) -> Result<Given<'a>, Missing<'a>> {
        match source {
            Source::SagaInput => Ok(Given::Value(&self.input)),
            Source::Step(ix) => {
                let (step, action) = (&*plan.step(ix).name, &self.step(ix).forward);
                match (action.value(), action.omitted()) {
                    (Some(value), _) => Ok(Given::Value(value)),
                    (None, Some(omitted)) => Err(Missing::Omitted { step, omitted }),
                    (None, None) => Err(Missing::NoResult { step }),
                }
            }
            Source::Branch(ix) => {
                let branch = plan.branch(ix);
                let taken = self.branches[ix.0].ok_or(Missing::Undecided { branch: &branch.name })?;
                match (branch.gives, branch.gives.of(taken)) {
                    (_, None) => Ok(Given::Absent),
                    (Merge::When(_), Some(source)) => Ok(Given::Present(Box::new(self.given(plan, source)?))),
                    (Merge::Either { .. }, Some(source)) => self.given(plan, source),
                }
            }
        }
    }
}
