//! The engine on the store in memory, under virtual time.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod gate;
mod workflow;

mod admission;
mod branches;
mod brought;
mod calls;
mod commands;
mod committing;
mod controls;
mod elsewhere;
mod ending;
mod expected;
mod happy;
mod health;
mod hints;
mod intake;
mod log;
mod mail;
mod operators;
mod outbox;
mod purge;
mod restart;
mod retrying;
mod settled;
mod starts;
mod store;
mod trace;
mod turning;
mod verbs;
