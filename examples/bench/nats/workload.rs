//! What is run over NATS: events that start sagas, and sagas whose steps are commands.

use amends::prelude::*;
use amends_nats::{Commands, Trigger};

use crate::workload::{Parcel, input};

/// The stream of events, and the subject that they are published to.
pub const STREAM: &str = "BENCH_EVENTS";
pub const SUBJECT: &str = "bench.parcel.sent";

/// The installation, the engine, and the service that takes its commands, as the wire knows them.
pub const PREFIX: &str = "amends-bench";
pub const ENGINE: &str = "bench";
pub const SERVICE: &str = "bench";

/// Event `n` as plain JSON; its id goes into a header.
pub fn event(n: usize) -> String {
    serde_json::to_string(&input(n)).expect("a parcel is JSON")
}

/// Each event starts a saga of this workflow, by its id.
pub fn trigger(saga: &Saga<Parcel, Parcel>) -> Trigger<Parcel, Parcel> {
    Trigger::on(STREAM, SUBJECT).workflow(saga)
}

/// Four steps in a row, each a command to the same service.
pub fn four_commands(commands: &Commands) -> anyhow::Result<Saga<Parcel, Parcel>> {
    let step = |operation| commands.step::<Parcel, Parcel, String>(SERVICE, operation);
    let (mut s, input) = SagaBuilder::<Parcel>::new("bench-commands", 1);
    let one = s.step("one", step("one")?, input);
    let two = s.step("two", step("two")?, one);
    let three = s.step("three", step("three")?, two);
    let four = s.step("four", step("four")?, three);
    Ok(s.finish(four)?)
}
