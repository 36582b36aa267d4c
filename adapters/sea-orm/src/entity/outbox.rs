//! One row per message that is to be published.

use amends::ports::{Fault, OutboxKind, OutboxMessage, OutboxPlace, RefusedMessage};
use amends_core::{SagaId, Timestamp};
use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "outbox")]
pub(crate) struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) lane: i16,
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) kind: String,
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) saga_id: Uuid,
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) seq: i64,
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) n: i16,
    pub(crate) message_id: Uuid,
    pub(crate) written_at: i64,
    pub(crate) next_at: i64,
    pub(crate) refusals: i32,
    pub(crate) subject: String,
    pub(crate) headers: String,
    pub(crate) body: String,
    pub(crate) refused: Option<String>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub(crate) enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

/// The kind of this word.
pub(crate) fn kind(word: &str) -> Result<OutboxKind, Fault> {
    OutboxKind::of(word).ok_or_else(|| Fault::Corrupt(format!("a message of the kind `{word}`")))
}

impl TryFrom<Model> for OutboxMessage {
    type Error = Fault;

    fn try_from(row: Model) -> Result<Self, Fault> {
        let id = row.message_id;
        let negative = |_| Fault::Corrupt(format!("message {id} has a negative number"));
        let place = OutboxPlace {
            kind: kind(&row.kind)?,
            saga: SagaId(row.saga_id),
            seq: u64::try_from(row.seq).map_err(negative)?,
            n: u16::try_from(row.n).map_err(negative)?,
        };
        Ok(Self {
            place,
            id,
            written_at: Timestamp(row.written_at),
            subject: row.subject.into(),
            headers: row.headers,
            body: row.body,
            refusals: u32::try_from(row.refusals).map_err(negative)?,
        })
    }
}

impl TryFrom<Model> for RefusedMessage {
    type Error = Fault;

    fn try_from(mut row: Model) -> Result<Self, Fault> {
        let (reason, next_at) = (row.refused.take().unwrap_or_default(), Timestamp(row.next_at));
        Ok(Self { message: row.try_into()?, reason, next_at })
    }
}
