//! What nodes say of themselves, and which sagas are open.

use std::time::Duration;

use amends::ports::{DefinitionRef, Fault, NodeProfile, NodeRow, OpenSagas};
use amends_core::{Incarnation, SagaId, Timestamp};
use sea_orm::{ConnectionTrait as _, DbBackend, QueryResult, Statement};
use uuid::Uuid;

use super::{Queries, fault};

/// The nodes that have a `worker` row.
pub(crate) const LIVE_NODES: &str = "SELECT n.incarnation, n.node, n.started_at, n.build, n.host, \
    n.definitions, n.lease FROM node n JOIN worker w ON w.incarnation = n.incarnation ORDER BY n.incarnation";

/// More definitions than anybody has.
const DEFINITIONS_MAX: u32 = 10_000;

fn corrupt(reason: String) -> Fault {
    Fault::Corrupt(reason)
}

/// A row of [`LIVE_NODES`].
pub(crate) fn node_row(row: &QueryResult) -> Result<NodeRow, Fault> {
    let incarnation: Uuid = row.try_get_by_index(0).map_err(fault)?;
    let definitions: Option<String> = row.try_get_by_index(5).map_err(fault)?;
    let lease: Option<i64> = row.try_get_by_index(6).map_err(fault)?;
    let lease = lease.map(|lease| {
        let micros = u64::try_from(lease);
        micros.map_err(|_| corrupt(format!("node {incarnation} has a lease of {lease} microseconds")))
    });
    Ok(NodeRow {
        incarnation: Incarnation(incarnation),
        node: row.try_get_by_index(1).map_err(fault)?,
        started_at: Timestamp(row.try_get_by_index(2).map_err(fault)?),
        profile: NodeProfile {
            build: row.try_get_by_index(3).map_err(fault)?,
            host: row.try_get_by_index(4).map_err(fault)?,
            definitions: match definitions {
                Some(text) => NodeProfile::read_definitions(&text).map_err(corrupt)?,
                None => Vec::new(),
            },
            lease: lease.transpose()?.map(Duration::from_micros),
        },
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
        let rows = self.db.query_all_raw(statement).await.map_err(fault)?;
        rows.iter().map(node_row).collect()
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
        rows.iter().map(open_sagas).collect()
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
