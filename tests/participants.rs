//! The shipped participants keep their promises, and the audit can find what breaks them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails where it stands")]

#[path = "participants/answers.rs"]
mod answers;
#[path = "participants/audit.rs"]
mod audit;
#[path = "participants/faults.rs"]
mod faults;
#[path = "../examples/participants/mod.rs"]
mod participants;
#[path = "participants/promises.rs"]
mod promises;
#[path = "participants/shop.rs"]
mod shop;
