//! What nodes say of themselves.

use amends::ports::{Fault, Introduced, NodeProfile, NodeRegistry, NodeRow, OpenSagas};
use amends_core::Incarnation;
use async_trait::async_trait;
use sea_orm::QueryResult;
use sea_orm::sqlx;
use sea_orm::sqlx::postgres::PgConnection;

use super::PostgresStore;
use super::runner::detached;
use super::sql;
use crate::failure::Failure;
use crate::query::registry::{LIVE_NODES, live_nodes, micros, with_other_lease};
use crate::unit::Unit;

/// Writes down what an incarnation says of itself, unless a live one has another lease. In a transaction; one waits
/// for the other, and looks in a statement of its own after that.
struct Introduce {
    incarnation: Incarnation,
    profile: NodeProfile,
}

#[async_trait]
impl Unit<PgConnection> for Introduce {
    /// None, if it is not alive. Not a failure of the transaction: its connection would be closed, and the lock kept
    /// until the server notices.
    type Done = Option<Introduced>;

    async fn run(&self, connection: &mut PgConnection) -> Result<Option<Introduced>, Failure> {
        sqlx::query(sql::ONE_INTRODUCTION).execute(&mut *connection).await?;
        let rows = sqlx::query(LIVE_NODES).fetch_all(&mut *connection).await?;
        let nodes = live_nodes(&rows.into_iter().map(QueryResult::from).collect::<Vec<_>>());
        if nodes.iter().all(|row| row.incarnation != self.incarnation) {
            return Ok(None);
        }
        let others = with_other_lease(nodes, self.incarnation, &self.profile);
        if !others.is_empty() {
            return Ok(Some(Introduced::OtherLease(others)));
        }
        let NodeProfile { build, host, lease, .. } = &self.profile;
        sqlx::query(sql::NODE_INTRODUCES)
            .bind(self.incarnation.0)
            .bind(build.as_deref())
            .bind(host.as_deref())
            .bind(self.profile.definitions_text())
            .bind(lease.map(micros))
            .execute(connection)
            .await?;
        Ok(Some(Introduced::Welcome))
    }
}

#[async_trait]
impl NodeRegistry for PostgresStore {
    async fn introduce(&self, incarnation: Incarnation, profile: &NodeProfile) -> Result<Introduced, Fault> {
        let (watch, introduce) = (self.watch.clone(), Introduce { incarnation, profile: profile.clone() });
        let introduced =
            detached(async move { watch.transact(&introduce).await.map_err(Failure::into_fault) });
        introduced.await?.ok_or(Fault::Fenced)
    }

    async fn joined(&self, incarnation: Incarnation) -> Result<bool, Fault> {
        self.reader.within_bounds(|reader| async move { reader.joined(incarnation).await }).await
    }

    async fn live_nodes(&self) -> Result<Vec<NodeRow>, Fault> {
        self.reader.within_bounds(|reader| async move { reader.live_nodes().await }).await
    }

    async fn open_sagas(&self) -> Result<Vec<OpenSagas>, Fault> {
        self.reader.within_bounds(|reader| async move { reader.open_sagas().await }).await
    }
}
