//! Private nats-servers for tests.
//!
//! Each [`Server`] is a real process on free ports of the loopback interface, with its JetStream files in a folder of
//! its own, and goes with its value. It can be stopped in order, killed, frozen and started again on the same port
//! and files. [`Cluster`] is three of them that form a cluster. A [`Wire`] leads to a server and can stand still.
//!
//! All calls block, for a tenth of a second at most where nothing is wrong. The program is the one that
//! `AMENDS_TEST_NATS_SERVER` names (`tests/run` sets it), the one that an earlier `tests/run` downloaded, or the one
//! in `PATH`.

mod cluster;
mod output;
mod program;
mod server;
mod wire;

pub use cluster::Cluster;
pub use program::program;
pub use server::{Server, ServerBuilder};
pub use wire::Wire;
