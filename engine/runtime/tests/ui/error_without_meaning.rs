//! A `?` that does not say whether the call may have taken effect.

use amends::prelude::*;

struct CountItems;
impl Step for CountItems {
    type Input = String;
    type Output = u64;
    type Refusal = Never;
    type Settle = ByRepeating;

    async fn run(&self, _: &StepContext, input: String) -> Result<u64, StepError<Never>> {
        let items: u64 = input.parse()?;
        Ok(items)
    }
}

fn main() {}
