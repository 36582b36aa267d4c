//! Stores that stand in front of another one: to measure it, to listen to it, or to make it fail.

use amends_core::Timestamp;
use async_trait::async_trait;
use uuid::Uuid;

use super::intake::{Closing, Filed, IntakeClosing, IntakeFilter, IntakePut, IntakeRow, IntakeStore};
use super::purge::PurgeStore;
use super::store::{Fault, Store};

/// What a call does to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It looks.
    Reads,
    /// It may change something.
    Writes,
}

/// A store that hands calls on to the one behind it. Whoever implements this has the ports that are nobody's main
/// business ([`IntakeStore`], [`PurgeStore`]) without writing them out.
#[async_trait]
pub trait Forward: Send + Sync + 'static {
    /// The store behind.
    fn behind(&self) -> &dyn Store;

    /// A call is on its way, named as its method is. Whatever fails here did not reach the store behind.
    ///
    /// # Errors
    /// What the caller is to be told instead.
    async fn on_the_way(&self, _call: &'static str, _access: Access) -> Result<(), Fault> {
        Ok(())
    }

    /// The store behind has answered. Whatever fails here has taken effect.
    ///
    /// # Errors
    /// What the caller is to be told instead.
    fn on_the_way_back(&self, _call: &'static str, _access: Access) -> Result<(), Fault> {
        Ok(())
    }
}

#[async_trait]
impl<F: Forward> IntakeStore for F {
    async fn put_intake(&self, put: &IntakePut, open_max: u32) -> Result<Filed, Fault> {
        self.on_the_way("put_intake", Access::Writes).await?;
        let filed = self.behind().put_intake(put, open_max).await?;
        self.on_the_way_back("put_intake", Access::Writes).map(|()| filed)
    }

    async fn list_intake(&self, filter: &IntakeFilter) -> Result<Vec<IntakeRow>, Fault> {
        self.on_the_way("list_intake", Access::Reads).await?;
        self.behind().list_intake(filter).await
    }

    async fn read_intake(&self, id: Uuid) -> Result<Option<IntakeRow>, Fault> {
        self.on_the_way("read_intake", Access::Reads).await?;
        self.behind().read_intake(id).await
    }

    async fn close_intake(&self, id: Uuid, closing: &IntakeClosing) -> Result<Closing, Fault> {
        self.on_the_way("close_intake", Access::Writes).await?;
        let closed = self.behind().close_intake(id, closing).await?;
        self.on_the_way_back("close_intake", Access::Writes).map(|()| closed)
    }
}

#[async_trait]
impl<F: Forward> PurgeStore for F {
    async fn purge(&self, ended_before: Timestamp, now: Timestamp, limit: u32) -> Result<u32, Fault> {
        self.on_the_way("purge", Access::Writes).await?;
        let purged = self.behind().purge(ended_before, now, limit).await?;
        self.on_the_way_back("purge", Access::Writes).map(|()| purged)
    }

    async fn forget(&self, ended_before: Timestamp, limit: u32) -> Result<u32, Fault> {
        self.on_the_way("forget", Access::Writes).await?;
        let forgotten = self.behind().forget(ended_before, limit).await?;
        self.on_the_way_back("forget", Access::Writes).map(|()| forgotten)
    }

    async fn purge_intake(&self, closed_before: Timestamp, limit: u32) -> Result<u32, Fault> {
        self.on_the_way("purge_intake", Access::Writes).await?;
        let purged = self.behind().purge_intake(closed_before, limit).await?;
        self.on_the_way_back("purge_intake", Access::Writes).map(|()| purged)
    }

    async fn purge_orders(&self, given_before: Timestamp, limit: u32) -> Result<u32, Fault> {
        self.on_the_way("purge_orders", Access::Writes).await?;
        let purged = self.behind().purge_orders(given_before, limit).await?;
        self.on_the_way_back("purge_orders", Access::Writes).map(|()| purged)
    }
}
