//! Small steps for the tests of definitions.

use amends::prelude::*;

/// A step of any phase: repeats, cannot refuse, can be undone.
#[derive(Clone, Default)]
pub(crate) struct Work(pub(crate) Contract);

impl Step for Work {
    type Input = u64;
    type Output = u64;
    type Refusal = Never;
    type Settle = ByRepeating;

    fn contract(&self) -> Contract {
        self.0.clone()
    }

    async fn run(&self, _: &StepContext, input: u64) -> Result<u64, StepError<Never>> {
        Ok(input + 1)
    }
}

impl Compensate for Work {
    type UndoSettle = ByRepeating;

    async fn compensate(&self, _: &StepContext, _: u64, _: Forward<u64>) -> Result<Undo, CompensationError> {
        Ok(Undo::Undone)
    }
}

pub(crate) fn work() -> Work {
    Work::default()
}
