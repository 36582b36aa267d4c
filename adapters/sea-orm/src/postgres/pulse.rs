//! The heartbeat's own connection.
//!
//! A beat that waits for a connection which fell silent (a fail-over, a firewall that forgot it) costs this node its
//! lease, long before the bounds of other calls have passed. So a beat has the time that its caller gives it,
//! connecting included; a connection that does not answer within that is closed, and the next beat opens
//! another. Nothing here is a transaction of several statements, so nothing can be left open when time is up.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use amends::ports::Fault;
use amends_core::Incarnation;
use sea_orm::sqlx;
use sea_orm::sqlx::postgres::PgConnection;

use super::open::Address;
use super::sql;
use crate::failure::Failure;

/// Beats on a connection of its own. Cheap to clone.
#[derive(Clone)]
pub(super) struct Pulse {
    address: Address,
    /// The connection between two beats. Who beats takes it; another beat at the same time opens its own.
    idle: Arc<Mutex<Option<PgConnection>>>,
}

impl Pulse {
    pub(super) fn new(address: Address) -> Self {
        Self { address, idle: Arc::default() }
    }

    /// Moves the counter, or finds in time that no answer comes.
    pub(super) async fn beat(&self, incarnation: Incarnation, within: Duration) -> Result<u64, Fault> {
        match tokio::time::timeout(within, self.beat_once(incarnation, within)).await {
            Ok(ended) => ended.map_err(Failure::into_fault),
            Err(_) => Err(Fault::Unavailable(format!("no answer to a heartbeat within {within:?}"))),
        }
    }

    async fn beat_once(&self, incarnation: Incarnation, within: Duration) -> Result<u64, Failure> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut connection = match idle {
            Some(connection) => connection,
            None => self.address.heartbeat(within).await.map_err(Failure::Fault)?,
        };
        let beat: Result<Option<i64>, sqlx::Error> =
            sqlx::query_scalar(sql::BEAT).bind(incarnation.0).fetch_optional(&mut connection).await;
        // One that has failed is closed by being dropped.
        let beat = beat?;
        *self.idle.lock().unwrap_or_else(PoisonError::into_inner) = Some(connection);
        Ok(beat.ok_or(Failure::Fault(Fault::Fenced))?.cast_unsigned())
    }

    /// Closes the connection, if there is one. The next beat would open another.
    pub(super) fn close(&self) {
        drop(self.idle.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}
