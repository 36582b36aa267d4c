//! What nodes on the file say of themselves. Inside an open transaction, which holds the write lock.

use amends::ports::{Fault, Introduced, NodeProfile, NodeRegistry, NodeRow, OpenSagas};
use amends_core::Incarnation;
use async_trait::async_trait;
use sea_orm::QueryResult;
use sea_orm::sqlx;
use sea_orm::sqlx::sqlite::SqliteConnection;

use super::SqliteStore;
use super::owners::fence;
use super::sql;
use crate::failure::Failure;
use crate::query::registry::{LIVE_NODES, live_nodes, micros, with_other_lease};
use crate::unit::Unit;

/// Writes down what an incarnation says of itself, unless a live one has another lease.
struct Introduce {
    incarnation: Incarnation,
    profile: NodeProfile,
}

#[async_trait]
impl Unit<SqliteConnection> for Introduce {
    type Done = Introduced;

    async fn run(&self, connection: &mut SqliteConnection) -> Result<Introduced, Failure> {
        fence(connection, self.incarnation).await?;
        let rows = sqlx::query(LIVE_NODES).fetch_all(&mut *connection).await?;
        let nodes = live_nodes(&rows.into_iter().map(QueryResult::from).collect::<Vec<_>>());
        let others = with_other_lease(nodes, self.incarnation, &self.profile);
        if !others.is_empty() {
            return Ok(Introduced::OtherLease(others));
        }
        let NodeProfile { build, host, lease, .. } = &self.profile;
        sqlx::query(sql::NODE_INTRODUCES)
            .bind(build.clone())
            .bind(host.clone())
            .bind(self.profile.definitions_text())
            .bind(lease.map(micros))
            .bind(self.incarnation.0)
            .execute(&mut *connection)
            .await?;
        Ok(Introduced::Welcome)
    }
}

#[async_trait]
impl NodeRegistry for SqliteStore {
    async fn introduce(&self, incarnation: Incarnation, profile: &NodeProfile) -> Result<Introduced, Fault> {
        let introduce = Introduce { incarnation, profile: profile.clone() };
        self.transact(introduce).await.map_err(Failure::into_fault)
    }

    async fn joined(&self, incarnation: Incarnation) -> Result<bool, Fault> {
        self.reader.joined(incarnation).await
    }

    async fn live_nodes(&self) -> Result<Vec<NodeRow>, Fault> {
        self.reader.live_nodes().await
    }

    async fn open_sagas(&self) -> Result<Vec<OpenSagas>, Fault> {
        self.reader.open_sagas().await
    }
}
