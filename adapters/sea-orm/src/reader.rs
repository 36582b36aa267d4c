//! Reading a store beside those who work on it.

use std::fmt;
use std::sync::Arc;

use amends::ports::{
    CompensationRow, DeskFilter, DeskGroup, DeskPage, DeskQuery, Fault, Loaded, SagaFilter, SagaPage,
    SagaQuery, SagaRow, StoreCounts, WorkItemRow,
};
use amends_core::SagaId;
use async_trait::async_trait;

/// Reads a store without writing to it: no lock, no effect on those who write. Cheap to clone.
#[derive(Clone)]
pub struct SqlReader(Arc<dyn Reads>);

/// Everything that can be read beside those who work.
pub(crate) trait Reads: SagaQuery + DeskQuery {}

impl<R: SagaQuery + DeskQuery> Reads for R {}

impl SqlReader {
    pub(crate) fn new(reads: impl Reads) -> Self {
        Self(Arc::new(reads))
    }
}

impl fmt::Debug for SqlReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqlReader").finish_non_exhaustive()
    }
}

#[async_trait]
impl SagaQuery for SqlReader {
    async fn find(&self, workflow: &str, key: &str) -> Result<Option<SagaRow>, Fault> {
        self.0.find(workflow, key).await
    }

    async fn read(&self, saga: SagaId) -> Result<Option<Loaded>, Fault> {
        self.0.read(saga).await
    }

    async fn list(&self, filter: &SagaFilter) -> Result<SagaPage, Fault> {
        self.0.list(filter).await
    }

    async fn desk(&self, limit: u32) -> Result<Vec<(SagaId, WorkItemRow)>, Fault> {
        self.0.desk(limit).await
    }

    async fn compensations(&self, saga: SagaId) -> Result<Vec<CompensationRow>, Fault> {
        self.0.compensations(saga).await
    }

    async fn counts(&self) -> Result<StoreCounts, Fault> {
        self.0.counts().await
    }
}

#[async_trait]
impl DeskQuery for SqlReader {
    async fn desk_page(&self, filter: &DeskFilter) -> Result<DeskPage, Fault> {
        self.0.desk_page(filter).await
    }

    async fn desk_groups(&self, filter: &DeskFilter) -> Result<Vec<DeskGroup>, Fault> {
        self.0.desk_groups(filter).await
    }
}
