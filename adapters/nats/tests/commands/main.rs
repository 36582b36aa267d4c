//! Commands, replies and events on a bad day: real servers, a real file under the engine, and a service that keeps its
//! barrier and its effects in a file of its own.
//!
//! Each test breaks something and then holds everything against [`World::audit`](world::World::audit): one saga for each
//! order, one effect for each request id, nothing left with the broker, and every delivery accounted for.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod audit;
mod service;
mod world;

mod cluster;
mod deleted;
mod full;
mod hands;
mod killed;
mod late;
mod lost;
mod nodes;
mod process;
mod replies;
mod restart;
mod slow;
mod too_slow;
mod window;
