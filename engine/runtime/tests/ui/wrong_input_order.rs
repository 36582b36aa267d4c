//! A step is given two outputs in the wrong order.

use amends::prelude::*;

struct Ship;
impl Step for Ship {
    type Input = (u64, String);
    type Output = u64;
    type Refusal = Never;
    type Settle = ByRepeating;

    async fn run(&self, _: &StepContext, input: (u64, String)) -> Result<u64, StepError<Never>> {
        Ok(input.0)
    }
}

impl Compensate for Ship {
    type UndoSettle = ByRepeating;

    async fn compensate(
        &self,
        _: &StepContext,
        _: (u64, String),
        _: Forward<u64>,
    ) -> Result<Undo, CompensationError> {
        Ok(Undo::Undone)
    }
}

struct WriteLabel;
impl Step for WriteLabel {
    type Input = u64;
    type Output = String;
    type Refusal = Never;
    type Settle = NoEffect;

    async fn run(&self, _: &StepContext, input: u64) -> Result<String, StepError<Never>> {
        Ok(input.to_string())
    }
}

fn main() {
    let (mut s, order) = SagaBuilder::<u64>::new("order", 1);
    let label = s.read("label", WriteLabel, order);
    let parcel = s.step("ship", Ship, (label, order));
    let _ = s.finish(parcel);
}
