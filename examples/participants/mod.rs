//! The shipped participants: a warehouse, a payment gateway with its books, a carrier, a risk check and
//! two senders of letters, in one SQLite file of their own beside the engine's, or in a schema of their own on
//! PostgreSQL.
//!
//! They are *not* doubles. Each call is one transaction through the barrier of `amends-barrier`, so a
//! repeat meets its kept answer, a late call its fence, and a query the truth; and everything they do can be
//! counted with SQL afterwards, which is what the [`audit`] does. What makes them unlike a real service is that
//! their bad days are planned: see [`PlannedFault`].
//!
//! A participant lives on when its caller stops listening: every call works in a tokio task of its own, as
//! it would in another process. A SIGKILL of the process ends both, and that is fine as well: a transaction
//! is committed or it is not.

#![allow(dead_code, unused_imports, reason = "each program that includes this folder uses a part of it")]

mod audit;
mod fault;
mod inventory;
mod letters;
mod payments;
mod place;
mod risk;
mod sales;
mod schema;
mod service;
mod shipping;
mod sql;

use std::sync::Arc;
use std::time::Duration;

use amends::ports::Clock;
use amends_barrier as barrier;
use amends_workflows::names::Sku;
use amends_workflows::ports::{
    self, Inventory, Ledger, Notifications, Payments, Receipts, Risk, Sales, Shipping,
};
use sea_orm::{ConnectionTrait, DbErr};
use serde_json::Value;
use uuid::Uuid;

pub use audit::{End, Ended, Finding, audit};
pub use fault::{InvalidFault, Kind, PlannedFault};
pub use place::Place;

use service::{Part, Service};

/// What has not happened so long after it was sent does not happen any more, at this pace.
pub fn settle_window(pace: f64) -> Duration {
    service::SETTLE_WINDOW.mul_f64(pace)
}

/// All participants of the shop, at one place.
#[derive(Clone)]
pub struct Participants {
    service: Service,
}

impl Participants {
    /// Opens the place, and makes what is missing there. All waits are multiplied by `pace`.
    ///
    /// # Errors
    /// When it cannot be reached or its tables cannot be made.
    pub async fn open(place: &Place, pace: f64, clock: Arc<dyn Clock>) -> Result<Self, DbErr> {
        Ok(Self { service: Service::open(place, pace, clock, Part::Alone).await? })
    }

    /// The same, for a place at which other processes plan bad days, too.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn serve(place: &Place, pace: f64, clock: Arc<dyn Clock>) -> Result<Self, DbErr> {
        Ok(Self { service: Service::open(place, pace, clock, Part::Server).await? })
    }

    /// Comes to a place at which another process serves, to plan bad days: nothing is made there, and what was taken
    /// to be done later is left to that process.
    ///
    /// # Errors
    /// When it cannot be reached, or nobody has served there yet.
    pub async fn visit(place: &Place, pace: f64, clock: Arc<dyn Clock>) -> Result<Self, DbErr> {
        Ok(Self { service: Service::open(place, pace, clock, Part::Visitor).await? })
    }

    /// Removes their tables from the first schema of the connection's `search_path`.
    ///
    /// # Errors
    /// When the database fails, or something that is not theirs builds on them.
    pub async fn remove(db: &impl ConnectionTrait) -> Result<(), DbErr> {
        schema::remove(db).await
    }

    /// The same participants as the workflows see them.
    pub fn ports(&self) -> ports::Participants {
        ports::Participants::called(self.all())
    }

    /// All of them in one.
    pub fn all(
        &self,
    ) -> Arc<impl Inventory + Payments + Ledger + Shipping + Risk + Sales + Notifications + Receipts + use<>>
    {
        Arc::new(self.service.clone())
    }

    /// Puts `pieces` of each on the shelf, once: a SKU that the warehouse knows keeps what it has.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn stock_up(&self, levels: &[(Sku, u32)]) -> Result<(), DbErr> {
        inventory::stock_up(&self.service, levels).await
    }

    /// Plans the bad days of one business key, once: a fault that is planned stays as it is.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn plan(&self, business_key: &str, faults: &[PlannedFault]) -> Result<(), DbErr> {
        self.service.plan(business_key, faults).await
    }

    /// Closes an attempt of a forward call out that is to be answered in these words, which say that nothing took effect.
    /// Gives what is to be answered.
    ///
    /// # Errors
    /// When the database fails: then it may not be said that nothing took effect.
    pub async fn close_out(
        &self,
        request_id: Uuid,
        attempt: u32,
        said: &str,
    ) -> Result<barrier::Answer<barrier::Outcome<Value, Value>>, barrier::Error> {
        self.service.close_out(request_id, attempt, said).await
    }

    /// Compares what happened here with how the sagas ended. See [`audit`].
    ///
    /// # Errors
    /// When the database fails.
    pub async fn audit(&self, ended: &[Ended]) -> Result<Vec<Finding>, DbErr> {
        audit::audit(self.service.place(), ended).await
    }

    /// Lets go of the place.
    ///
    /// # Errors
    /// When a connection cannot be closed.
    pub async fn close(&self) -> Result<(), DbErr> {
        self.service.close().await
    }
}
