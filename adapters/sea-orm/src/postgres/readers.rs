//! Reads, each within bounds.
//!
//! What can fail beyond what the database says: *a connection falls silent* (a fail-over, a firewall that forgot
//! it): no error comes, perhaps for ever. After `answer_within` the read ends as unavailable, and later ones go
//! by connections of their own: the silent ones would not return to their pool.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use amends::ports::{
    CompensationRow, DeskFilter, DeskGroup, DeskPage, DeskQuery, Fault, Loaded, SagaFilter, SagaPage,
    SagaQuery, SagaRow, StoreCounts, WorkItemRow,
};
use amends_core::SagaId;
use async_trait::async_trait;
use sea_orm::SqlxPostgresConnector;

use super::PostgresSettings;
use super::open::Address;
use super::runner::BEYOND_STATEMENT_TIMEOUT;
use crate::failure::NO_CONNECTION;
use crate::query::Queries;

/// The connections that read. Cheap to clone.
#[derive(Clone)]
pub(super) struct Readers {
    current: Arc<Mutex<Arc<Queries>>>,
    address: Address,
    settings: Arc<PostgresSettings>,
    answer_within: Duration,
}

impl Readers {
    /// Connects.
    pub(super) async fn connect(address: Address, settings: &PostgresSettings) -> Result<Self, Fault> {
        let first = Queries::new(address.readers(settings).await?);
        Ok(Self {
            current: Arc::new(Mutex::new(Arc::new(first))),
            address,
            settings: Arc::new(settings.clone()),
            answer_within: settings.connection_wait + settings.statement_timeout + BEYOND_STATEMENT_TIMEOUT,
        })
    }

    /// Reads, or finds within bounds that no answer comes.
    pub(super) async fn within_bounds<T, F>(&self, read: impl FnOnce(Arc<Queries>) -> F) -> Result<T, Fault>
    where
        F: Future<Output = Result<T, Fault>>,
    {
        let reader = self.current();
        match tokio::time::timeout(self.answer_within, read(reader.clone())).await {
            // One that fell silent while it was idle is found out when it is wanted, and stays in its place.
            Ok(Err(Fault::Unavailable(reason))) if reason == NO_CONNECTION => {
                self.replace(&reader);
                Err(Fault::Unavailable(reason))
            }
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

    fn current(&self) -> Arc<Queries> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Once for all reads that found the same connections silent. The old ones close as far as they still can,
    /// and nobody waits for that.
    fn replace(&self, silent: &Arc<Queries>) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&current, silent) {
            let pool = self.address.later_readers(&self.settings);
            *current = Arc::new(Queries::new(SqlxPostgresConnector::from_sqlx_postgres_pool(pool)));
            let silent = silent.clone();
            tokio::spawn(async move { silent.close().await });
        }
    }
}

#[async_trait]
impl SagaQuery for Readers {
    async fn find(&self, workflow: &str, key: &str) -> Result<Option<SagaRow>, Fault> {
        self.within_bounds(|reader| async move { reader.find(workflow, key).await }).await
    }

    async fn read(&self, saga: SagaId) -> Result<Option<Loaded>, Fault> {
        self.within_bounds(|reader| async move { reader.read(saga).await }).await
    }

    async fn list(&self, filter: &SagaFilter) -> Result<SagaPage, Fault> {
        self.within_bounds(|reader| async move { reader.list(filter).await }).await
    }

    async fn desk(&self, limit: u32) -> Result<Vec<(SagaId, WorkItemRow)>, Fault> {
        self.within_bounds(|reader| async move { reader.desk(limit).await }).await
    }

    async fn compensations(&self, saga: SagaId) -> Result<Vec<CompensationRow>, Fault> {
        self.within_bounds(|reader| async move { reader.compensations(saga).await }).await
    }

    async fn counts(&self) -> Result<StoreCounts, Fault> {
        self.within_bounds(|reader| async move { reader.counts().await }).await
    }
}

#[async_trait]
impl DeskQuery for Readers {
    async fn desk_page(&self, filter: &DeskFilter) -> Result<DeskPage, Fault> {
        self.within_bounds(|reader| async move { reader.desk_page(filter).await }).await
    }

    async fn desk_groups(&self, filter: &DeskFilter) -> Result<Vec<DeskGroup>, Fault> {
        self.within_bounds(|reader| async move { reader.desk_groups(filter).await }).await
    }
}
