//! A saga's input has to be kept in the journal.

use amends::prelude::*;

struct OrderPlaced;

fn main() {
    let _ = SagaBuilder::<OrderPlaced>::new("order", 1);
}
