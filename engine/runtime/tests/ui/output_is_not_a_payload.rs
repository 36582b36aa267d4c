//! A step's output has to be kept in the journal: serde alone does not name its schema.

use amends::prelude::*;

#[derive(serde::Serialize, serde::Deserialize)]
struct Reservation {
    items: u64,
}

struct ReserveStock;
impl Step for ReserveStock {
    type Input = u64;
    type Output = Reservation;
    type Refusal = Never;
    type Settle = ByRepeating;

    async fn run(&self, _: &StepContext, input: u64) -> Result<Reservation, StepError<Never>> {
        Ok(Reservation { items: input })
    }
}

fn main() {}
