//! Reads, each within bounds.
//!
//! What can fail beyond what the database says: *a connection falls silent* (a fail-over, a firewall that forgot
//! it): no error comes, perhaps for ever. After `answer_within` the read ends as unavailable, and later ones go
//! by connections of their own: the silent ones would not return to their pool.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use amends::ports::Fault;
use sea_orm::SqlxPostgresConnector;

use super::PostgresSettings;
use super::open::Address;
use super::runner::BEYOND_STATEMENT_TIMEOUT;
use crate::query::SqlReader;

/// The connections that read. Cheap to clone.
#[derive(Clone)]
pub(super) struct Readers {
    current: Arc<Mutex<Arc<SqlReader>>>,
    address: Address,
    settings: Arc<PostgresSettings>,
    answer_within: Duration,
}

impl Readers {
    /// Connects.
    pub(super) async fn connect(address: Address, settings: &PostgresSettings) -> Result<Self, Fault> {
        let first = SqlReader::new(address.readers(settings).await?);
        Ok(Self {
            current: Arc::new(Mutex::new(Arc::new(first))),
            address,
            settings: Arc::new(settings.clone()),
            answer_within: settings.connection_wait + settings.statement_timeout + BEYOND_STATEMENT_TIMEOUT,
        })
    }

    /// Reads, or finds within bounds that no answer comes.
    pub(super) async fn read<T, F>(&self, read: impl FnOnce(Arc<SqlReader>) -> F) -> Result<T, Fault>
    where
        F: Future<Output = Result<T, Fault>>,
    {
        let reader = self.current();
        match tokio::time::timeout(self.answer_within, read(reader.clone())).await {
            Ok(ended) => ended,
            Err(_) => {
                self.replace(&reader);
                Err(Fault::Unavailable(format!("no answer within {:?}", self.answer_within)))
            }
        }
    }

    /// Waits for reads that are under way; later ones fail.
    pub(super) async fn close(&self) {
        self.current().close().await;
    }

    fn current(&self) -> Arc<SqlReader> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Once for all reads that found the same connections silent. The old ones close as far as they still can,
    /// and nobody waits for that.
    fn replace(&self, silent: &Arc<SqlReader>) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&current, silent) {
            let pool = self.address.later_readers(&self.settings);
            *current = Arc::new(SqlReader::new(SqlxPostgresConnector::from_sqlx_postgres_pool(pool)));
            let silent = silent.clone();
            tokio::spawn(async move { silent.close().await });
        }
    }
}
