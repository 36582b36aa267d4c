//! Against real servers.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod world;

mod broker;
mod command_permissions;
mod connecting;
mod consumers;
mod dropped;
mod endings;
mod killed;
mod numbers;
mod outages;
mod owners;
mod permissions;
mod redelivery;
mod serving;
