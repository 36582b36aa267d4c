//! The point of no return cannot be skipped.

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
    let (mut s, order) = SagaBuilder::<u64>::new("order", 1);
    let captured = s.when("paid", order.map(|amount| amount > 3), |b| {
        let (captured, _) = b.pivot("capture", Capture, order);
        captured
    });
    let _ = s.finish(captured);
}
