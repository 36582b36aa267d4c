//! One row per saga.

use amends::ports::{DefinitionRef, Fault, Label, SagaRow};
use amends_core::{Incarnation, SagaId, Timestamp};
use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "saga")]
pub(crate) struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) id: Uuid,
    pub(crate) owner: Option<Uuid>,
    pub(crate) wake_at: Option<i64>,
    pub(crate) started_at: i64,
    pub(crate) ended_at: Option<i64>,
    pub(crate) version: i32,
    pub(crate) open_actions: i32,
    pub(crate) workflow: String,
    pub(crate) key: String,
    pub(crate) digest: Vec<u8>,
    pub(crate) input_digest: Vec<u8>,
    pub(crate) phase: String,
    pub(crate) outcome: Option<String>,
    pub(crate) set_aside: Option<String>,
    pub(crate) tenant: Option<String>,
    pub(crate) labels: Option<String>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub(crate) enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

fn digest(bytes: Vec<u8>, id: Uuid) -> Result<[u8; 32], Fault> {
    let length = bytes.len();
    bytes.try_into().map_err(|_| Fault::Corrupt(format!("saga {id} has a digest of {length} bytes, not 32")))
}

fn count(number: i32, id: Uuid) -> Result<u32, Fault> {
    u32::try_from(number).map_err(|_| Fault::Corrupt(format!("saga {id} has a negative count {number}")))
}

impl TryFrom<Model> for SagaRow {
    type Error = Fault;

    fn try_from(row: Model) -> Result<Self, Fault> {
        let id = row.id;
        let definition = DefinitionRef {
            workflow: row.workflow.into(),
            version: count(row.version, id)?,
            digest: digest(row.digest, id)?,
        };
        Ok(Self {
            id: SagaId(id),
            definition,
            key: row.key.into(),
            input_digest: digest(row.input_digest, id)?,
            phase: row.phase,
            outcome: row.outcome,
            owner: row.owner.map(Incarnation),
            wake_at: row.wake_at.map(Timestamp),
            open_actions: count(row.open_actions, id)?,
            started_at: Timestamp(row.started_at),
            ended_at: row.ended_at.map(Timestamp),
            set_aside: row.set_aside,
            tenant: row.tenant.map(Into::into),
            labels: Label::read(row.labels.as_deref())
                .map_err(|reason| Fault::Corrupt(format!("saga {id}: {reason}")))?,
        })
    }
}
