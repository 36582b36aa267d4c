//! The three shapes, with steps that return at once: what is measured is the engine.

use amends::prelude::*;
use serde::{Deserialize, Serialize};

/// A business payload of a usual size: with its event around it, a journal row of about 400 bytes.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
pub struct Parcel {
    pub order: String,
    pub note: String,
    pub minor_units: i64,
}

impl Payload for Parcel {
    const SCHEMA: &'static str = "bench-parcel/1";
}

/// What is run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Chain,
    Diamond,
    Compensation,
}

impl Shape {
    pub const ALL: [Self; 3] = [Self::Chain, Self::Diamond, Self::Compensation];

    pub fn name(self) -> &'static str {
        match self {
            Self::Chain => "chain 1>2>3>4",
            Self::Diamond => "diamond 1>(2|3)>4",
            Self::Compensation => "chain, 3 refused",
        }
    }

    pub fn define(self) -> Result<Saga<Parcel, Parcel>, PlanErrors> {
        let (mut s, input) = SagaBuilder::new("bench", 1);
        let one = s.step("one", Pass, input);
        let two = s.step("two", Pass, one);
        let four = match self {
            Self::Chain => {
                let three = s.step("three", Pass, two);
                s.step("four", Pass, three)
            }
            Self::Diamond => {
                let three = s.step("three", Pass, one);
                s.step("four", Pass, two.after(three))
            }
            Self::Compensation => {
                let three = s.step("three", Refuse, two);
                s.step("four", Pass, three)
            }
        };
        s.finish(four)
    }
}

/// One step: what is left of a saga when it is about its start.
pub fn one_step() -> Result<Saga<Parcel, Parcel>, PlanErrors> {
    let (mut s, input) = SagaBuilder::new("bench-start", 1);
    let only = s.step("only", Pass, input);
    s.finish(only)
}

struct Pass;

impl Step for Pass {
    type Input = Parcel;
    type Output = Parcel;
    type Refusal = String;
    type Settle = ByRepeating;

    async fn run(&self, _: &StepContext, input: Parcel) -> Result<Parcel, StepError<String>> {
        Ok(input)
    }
}

impl Compensate for Pass {
    type UndoSettle = ByRepeating;

    async fn compensate(
        &self,
        _: &StepContext,
        _: Parcel,
        _: Forward<Parcel>,
    ) -> Result<Undo, CompensationError> {
        Ok(Undo::Undone)
    }
}

struct Refuse;

impl Step for Refuse {
    type Input = Parcel;
    type Output = Parcel;
    type Refusal = String;
    type Settle = ByRepeating;

    async fn run(&self, _: &StepContext, _: Parcel) -> Result<Parcel, StepError<String>> {
        Err(StepError::Refused("not today".into()))
    }
}

impl Compensate for Refuse {
    type UndoSettle = ByRepeating;

    async fn compensate(
        &self,
        _: &StepContext,
        _: Parcel,
        _: Forward<Parcel>,
    ) -> Result<Undo, CompensationError> {
        Ok(Undo::NothingToUndo)
    }
}

/// The input of saga `n`.
pub fn input(n: usize) -> Parcel {
    Parcel { order: format!("order-{n:08}"), note: "x".repeat(200), minor_units: 12_990 }
}
