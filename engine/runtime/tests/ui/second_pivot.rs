//! There is one point of no return.

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

fn main() {
    let (s, order) = SagaBuilder::<u64>::new("order", 1);
    let (captured, s) = s.pivot("capture", Capture, order);
    let (again, s) = s.pivot("capture-again", Capture, captured);
    let _ = s.finish(again);
}
