//! A step answers with a refusal that it does not declare.

use amends::prelude::*;

struct CountItems;
impl Step for CountItems {
    type Input = u64;
    type Output = u64;
    type Refusal = Never;
    type Settle = ByRepeating;

    async fn run(&self, _: &StepContext, input: u64) -> Result<u64, StepError<Never>> {
        if input == 0 {
            return Err(StepError::Refused("nothing ordered"));
        }
        Ok(input)
    }
}

fn main() {}
