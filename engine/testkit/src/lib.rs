//! Tests for workflows: a world with virtual time, participants with a ledger of what really happened, and
//! laws that try every failure at every place.
//!
//! A [`World`] runs the real engine on a store in memory, in one thread, from one seed; so a test is an
//! ordinary `#[test]`, waits take no time, and the same test tells the same story every time.
//!
//! It is *not* a model of the engine (nothing of it is doubled), *not* a mock of participants (they take effect
//! and keep their barrier, and misbehave where a script says so), and it proves nothing about real databases
//! and networks: their adapters have tests of their own, beginning with the conformance suite.
//!
//! ```
//! use amends::prelude::*;
//! use amends_testkit::{Ledger, Participant, Tried, World, explore, expect};
//!
//! struct Shop {
//!     stock: Participant<u32, String, Never>,
//!     payments: Participant<u32, String, String>,
//! }
//!
//! struct Order {
//!     saga: Saga<u32, String>,
//!     stock: Handle<String>,
//! }
//!
//! impl Shop {
//!     fn new(world: &mut World) -> Self {
//!         let ledger = Ledger::new(world);
//!         Self {
//!             stock: Participant::new(&ledger, "stock", |pieces| format!("{pieces} pieces")),
//!             payments: Participant::new(&ledger, "payments", |pieces| format!("{} EUR", pieces * 5)),
//!         }
//!     }
//! }
//!
//! impl Shop {
//!     fn order(&self) -> Result<Order, PlanErrors> {
//!         let (mut s, order) = SagaBuilder::<u32>::new("order", 1);
//!         let stock = s.step("reserve-stock", self.stock.step::<ByQuery, ByRepeating>(), order);
//!         let pay = self.payments.step::<ByRepeating, ByRepeating>();
//!         let (paid, s) = s.pivot("capture-payment", pay, order.after(stock));
//!         Ok(Order { saga: s.finish(paid)?, stock })
//!     }
//! }
//!
//! # fn declined_payment_releases_stock() {
//! let mut world = World::new();
//! let shop = Shop::new(&mut world);
//! let order = shop.order().unwrap();
//! world.register(&order.saga);
//! shop.payments.refuse_next("insufficient funds".to_owned());
//!
//! let saga = world.start(&order.saga, "order-42", 3);
//! world.run_until_settled();
//!
//! saga.assert_compensated();
//! assert_eq!(saga.output(order.stock), Some("3 pieces".to_owned()));
//! assert_eq!(saga.compensations(), ["reserve-stock"]);
//! assert!(shop.stock.in_place().is_empty());
//! saga.timeline(expect![[r#"
//!     +0.000s order 1 started for order-42
//!     +0.000s reserve-stock started (attempt 1)
//!     +0.000s reserve-stock succeeded
//!     +0.000s capture-payment started (attempt 1)
//!     +0.000s capture-payment refused "insufficient funds"
//!     +0.000s turned back (refused: capture-payment)
//!     +0.000s compensation of reserve-stock started (attempt 1)
//!     +0.000s compensation of reserve-stock succeeded
//!     +0.000s compensated
//! "#]]);
//! # }
//! # declined_payment_releases_stock();
//!
//! # fn laws() -> Tried {
//! explore(|world| {
//!     let shop = Shop::new(world);
//!     let order = shop.order().unwrap();
//!     world.register(&order.saga);
//!     world.start(&order.saga, "order-42", 3);
//!     shop
//! })
//! .every_step_fails()
//! .every_step_repeats()
//! .every_outcome_is_lost()
//! .every_compensation_repeats()
//! .crash_at_every_commit()
//! .check(|world, shop| {
//!     let (held, paid) = (shop.stock.in_place().len(), shop.payments.in_place().len());
//!     assert!(held == paid || !world.all_ended(), "{held} reservations, {paid} payments");
//! })
//! # }
//! # assert!(laws().struck > 30);
//! ```

// The public interface is:
pub mod conformance;

mod world;

mod cluster;

mod ledger;
mod participant;

pub mod broker;

mod definition;

mod faults;
mod laws;

pub mod simulation;

mod kept;

pub use cluster::{Cluster, NodeId, Wire};
pub use definition::{
    DefinitionExploration, Differs, Explored, FinishedJournal, Moment, Story, Violation, explore_definition,
    replay_journal,
};
pub use expect_test::{Expect, expect};
pub use faults::{Call, Fault, FaultKind};
pub use kept::kept_journal;
pub use laws::{Exploration, Tried, explore};
pub use ledger::{Effected, Entry, Ledger};
pub use participant::{Acceptance, CallPlan, Participant, ParticipantStep, QueryPlan, Script, UndoPlan};
pub use world::{Side, World, WorldSaga};
