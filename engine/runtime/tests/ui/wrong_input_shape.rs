//! A step that takes a type of its own is given the handles of that type's parts.

use amends::prelude::*;

#[derive(serde::Serialize, serde::Deserialize)]
struct Parcel {
    weight: u64,
    label: String,
}
impl Payload for Parcel {
    const SCHEMA: &'static str = "parcel/1";
}

struct CheckParcel;
impl Step for CheckParcel {
    type Input = Parcel;
    type Output = bool;
    type Refusal = Never;
    type Settle = NoEffect;

    async fn run(&self, _: &StepContext, input: Parcel) -> Result<bool, StepError<Never>> {
        Ok(input.weight > 0 && !input.label.is_empty())
    }
}

fn main() {
    let (mut s, weight) = SagaBuilder::<u64>::new("order", 1);
    let label = s.read_fn("label", weight, |_, n| async move { Ok(n.to_string()) });
    let fits = s.read("check-parcel", CheckParcel, (weight, label));
    let _ = s.finish(fits);
}
