//! One row per message that became no saga.

use amends::ports::{Disposition, Fault, IntakeClosing, IntakeReason, IntakeRow, RawMessage};
use amends_core::{SagaId, Timestamp};
use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "intake")]
pub(crate) struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) id: Uuid,
    pub(crate) saga_id: Option<Uuid>,
    pub(crate) first_seen: i64,
    pub(crate) last_seen: i64,
    pub(crate) seen: i64,
    pub(crate) raw_size: i64,
    pub(crate) source: String,
    pub(crate) dedupe: String,
    pub(crate) position: Option<String>,
    pub(crate) event_id: Option<String>,
    pub(crate) code: String,
    pub(crate) reason: String,
    pub(crate) raw: Vec<u8>,
    pub(crate) raw_digest: Option<Vec<u8>>,
    pub(crate) closed_at: Option<i64>,
    pub(crate) disposition: Option<String>,
    pub(crate) closed_by: Option<String>,
    pub(crate) closed_because: Option<String>,
    pub(crate) closed_operation: Option<String>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub(crate) enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl TryFrom<Model> for IntakeRow {
    type Error = Fault;

    fn try_from(row: Model) -> Result<Self, Fault> {
        let id = row.id;
        let corrupt = |what: &str| Fault::Corrupt(format!("the message {id} in intake has {what}"));
        let count = |number: i64| u64::try_from(number).map_err(|_| corrupt("a negative count"));
        let digest = row.raw_digest.map(<[u8; 32]>::try_from).transpose();
        let closed = match (row.closed_at, row.disposition) {
            (None, _) => None,
            (Some(at), text) => Some(IntakeClosing {
                at: Timestamp(at),
                disposition: text
                    .as_deref()
                    .and_then(Disposition::of)
                    .ok_or_else(|| corrupt("no disposition that is known"))?,
                actor: row.closed_by.unwrap_or_default().into(),
                reason: row.closed_because.unwrap_or_default(),
                operation: row.closed_operation.unwrap_or_default().into(),
            }),
        };
        Ok(Self {
            id,
            source: row.source.into(),
            dedupe: row.dedupe.into(),
            position: row.position,
            event_id: row.event_id,
            saga: row.saga_id.map(SagaId),
            reason: IntakeReason { code: row.code, words: row.reason },
            raw: RawMessage {
                kept: row.raw,
                size: count(row.raw_size)?,
                digest: digest.map_err(|_| corrupt("a digest that is not 32 bytes"))?,
            },
            first_seen: Timestamp(row.first_seen),
            last_seen: Timestamp(row.last_seen),
            seen: count(row.seen)?,
            closed,
        })
    }
}
