//! A step after the pivot that can refuse.

use amends::prelude::*;

struct Capture;
impl Step for Capture {
    type Input = u64;
    type Output = u64;
    type Refusal = Never;
    type Settle = ByRepeating;

    async fn run(&self, _: &StepContext, input: u64) -> Result<u64, StepError<Never>> {
        Ok(input)
    }
}

struct Ship;
impl Step for Ship {
    type Input = u64;
    type Output = u64;
    type Refusal = String;
    type Settle = ByRepeating;

    async fn run(&self, _: &StepContext, input: u64) -> Result<u64, StepError<String>> {
        Ok(input)
    }
}

fn main() {
    let (s, order) = SagaBuilder::<u64>::new("order", 1);
    let (captured, mut s) = s.pivot("capture", Capture, order);
    let parcel = s.retriable("ship", Ship, captured);
    let _ = s.finish(parcel);
}
