//! What nodes say of themselves, and which sagas are open.

use std::time::Duration;

use amends::ports::{DefinitionRef, Fault, NodeProfile, NodeRow, OpenSagas};
use amends_core::{Incarnation, SagaId, Timestamp};
use sea_orm::{ConnectionTrait as _, DbBackend, QueryResult, Statement};
use uuid::Uuid;

use super::{Queries, fault, readable};

/// The nodes that have a `worker` row.
pub(crate) const LIVE_NODES: &str = "SELECT n.incarnation, n.node, n.started_at, n.build, n.host, \
    n.definitions, n.lease FROM node n JOIN worker w ON w.incarnation = n.incarnation ORDER BY n.incarnation";

/// More definitions than anybody has.
const DEFINITIONS_MAX: u32 = 10_000;

fn corrupt(reason: String) -> Fault {
    Fault::Corrupt(reason)
}

/// The rows of [`LIVE_NODES`], each by itself. A node that says of itself what cannot be read is one that has said
/// nothing of that.
pub(crate) fn live_nodes(rows: &[QueryResult]) -> Vec<NodeRow> {
    readable(rows, "a live node", node_row)
}

fn node_row(row: &QueryResult) -> Result<NodeRow, Fault> {
    let incarnation: Uuid = row.try_get_by_index(0).map_err(fault)?;
    let text = |at: usize| row.try_get_by_index::<Option<String>>(at).map_err(|error| error.to_string());
    let definitions = |text: Option<String>| match text {
        Some(text) => NodeProfile::read_definitions(&text),
        None => Ok(Vec::new()),
    };
    let lease: Option<i64> = row.try_get_by_index(6).map_err(fault)?;
    let lease = lease.map(|lease| u64::try_from(lease).map_err(|_| format!("{lease} microseconds")));
    Ok(NodeRow {
        incarnation: Incarnation(incarnation),
        node: row.try_get_by_index(1).map_err(fault)?,
        started_at: Timestamp(row.try_get_by_index(2).map_err(fault)?),
        profile: NodeProfile {
            build: said(incarnation, "build", text(3)),
            host: said(incarnation, "host", text(4)),
            definitions: said(incarnation, "definitions", text(5).and_then(definitions)),
            lease: said(incarnation, "lease", lease.transpose()).map(Duration::from_micros),
        },
    })
}

fn said<T: Default>(node: Uuid, what: &str, read: Result<T, String>) -> T {
    read.unwrap_or_else(|reason| {
        tracing::error!(%node, what, %reason, "what a node says of itself cannot be read");
        T::default()
    })
}

/// The lease as the column holds it.
pub(crate) fn micros(lease: Duration) -> i64 {
    i64::try_from(lease.as_micros()).unwrap_or(i64::MAX)
}

/// Of the live nodes, those that an incarnation with this profile cannot stand beside.
pub(crate) fn with_other_lease(
    nodes: Vec<NodeRow>,
    incarnation: Incarnation,
    profile: &NodeProfile,
) -> Vec<NodeRow> {
    let Some(mine) = profile.lease else { return Vec::new() };
    let other = |row: &NodeRow| {
        row.incarnation != incarnation && row.profile.lease.is_some_and(|lease| micros(lease) != micros(mine))
    };
    nodes.into_iter().filter(other).collect()
}

impl Queries {
    pub(crate) async fn joined(&self, incarnation: Incarnation) -> Result<bool, Fault> {
        let row = "SELECT 1 FROM node WHERE incarnation = $1";
        let backend = self.db.get_database_backend();
        let statement = Statement::from_sql_and_values(backend, row, [incarnation.0.into()]);
        Ok(self.db.query_one_raw(statement).await.map_err(fault)?.is_some())
    }

    pub(crate) async fn live_nodes(&self) -> Result<Vec<NodeRow>, Fault> {
        let statement = Statement::from_string(self.db.get_database_backend(), LIVE_NODES);
        Ok(live_nodes(&self.db.query_all_raw(statement).await.map_err(fault)?))
    }

    pub(crate) async fn open_sagas(&self) -> Result<Vec<OpenSagas>, Fault> {
        let backend = self.db.get_database_backend();
        // PostgreSQL knows no least uuid before version 18; their texts have the same order.
        let oldest = if backend == DbBackend::Postgres { "min(id::text)::uuid" } else { "min(id)" };
        let sql = format!(
            "SELECT workflow, version, digest, count(*), {oldest} FROM saga \
             WHERE phase IN ('running', 'compensating') AND ended_at IS NULL AND set_aside_at IS NULL \
             GROUP BY workflow, version, digest ORDER BY workflow, version, digest LIMIT {DEFINITIONS_MAX}"
        );
        let rows = self.db.query_all_raw(Statement::from_string(backend, sql)).await.map_err(fault)?;
        Ok(readable(&rows, "open sagas", open_sagas))
    }
}

fn open_sagas(row: &QueryResult) -> Result<OpenSagas, Fault> {
    let workflow: String = row.try_get_by_index(0).map_err(fault)?;
    let version: i32 = row.try_get_by_index(1).map_err(fault)?;
    let digest: Vec<u8> = row.try_get_by_index(2).map_err(fault)?;
    let sagas: i64 = row.try_get_by_index(3).map_err(fault)?;
    let oldest: Uuid = row.try_get_by_index(4).map_err(fault)?;
    let wrong = |what: &str| corrupt(format!("sagas of {workflow} version {version} have {what}"));
    Ok(OpenSagas {
        definition: DefinitionRef {
            version: u32::try_from(version).map_err(|_| wrong("a negative version"))?,
            digest: digest.try_into().map_err(|_| wrong("a digest that is not 32 bytes long"))?,
            workflow: workflow.as_str().into(),
        },
        sagas: u64::try_from(sagas).map_err(|_| wrong("a negative count"))?,
        oldest: SagaId(oldest),
    })
}
