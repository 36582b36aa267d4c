//! A step is given the output of another one that does not fit.

use amends::prelude::*;

struct CountItems;
impl Step for CountItems {
    type Input = u64;
    type Output = u64;
    type Refusal = Never;
    type Settle = ByRepeating;

    async fn run(&self, _: &StepContext, input: u64) -> Result<u64, StepError<Never>> {
        Ok(input)
    }
}

struct WriteLabel;
impl Step for WriteLabel {
    type Input = String;
    type Output = String;
    type Refusal = Never;
    type Settle = ByRepeating;

    async fn run(&self, _: &StepContext, input: String) -> Result<String, StepError<Never>> {
        Ok(input)
    }
}

impl Compensate for WriteLabel {
    type UndoSettle = ByRepeating;

    async fn compensate(
        &self,
        _: &StepContext,
        _: String,
        _: Forward<String>,
    ) -> Result<Undo, CompensationError> {
        Ok(Undo::Undone)
    }
}

impl Compensate for CountItems {
    type UndoSettle = ByRepeating;

    async fn compensate(&self, _: &StepContext, _: u64, _: Forward<u64>) -> Result<Undo, CompensationError> {
        Ok(Undo::Undone)
    }
}

fn main() {
    let (mut s, order) = SagaBuilder::<u64>::new("order", 1);
    let items = s.step("count", CountItems, order);
    let label = s.step("label", WriteLabel, items);
    let _ = s.finish(label);
}
