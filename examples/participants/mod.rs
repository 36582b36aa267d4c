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

use amends::ports::Clock;
use amends_workflows::names::Sku;
use amends_workflows::ports;
use sea_orm::{ConnectionTrait, DbErr};

pub use audit::{End, Ended, Finding, audit};
pub use fault::{InvalidFault, Kind, PlannedFault};
pub use place::Place;

use service::Service;

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
        Ok(Self { service: Service::open(place, pace, clock).await? })
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
        let service = Arc::new(self.service.clone());
        ports::Participants {
            inventory: service.clone(),
            payments: service.clone(),
            ledger: service.clone(),
            shipping: service.clone(),
            risk: service.clone(),
            sales: service.clone(),
            notifications: service.clone(),
            receipts: service,
        }
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
