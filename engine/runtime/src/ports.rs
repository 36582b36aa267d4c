//! What the engine needs from the outside: a store, a clock.

mod clock;
mod rows;
mod store;

pub use clock::{Clock, SystemClock};
pub use rows::{
    CompensationChange, DefinitionRef, ItemChange, JournalRow, NewSaga, Release, SagaChange, SagaRow,
    WorkItemRow,
};
pub use store::{Claim, Commit, Fault, Loaded, SagaFilter, SagaQuery, SagaStore, StoreCounts, Verdict};
