//! The test kit tries itself: its stories are told the same every time, its laws hold where they should, and
//! fail where they should.

mod shop;

mod branches;
mod clocks;
mod controls;
mod crashes;
mod definition;
mod determinism;
mod journals;
mod laws_can_fail;
mod laws_hold;
mod leases;
mod mail;
mod nodes;
mod participants;
mod replays;
mod stories;
