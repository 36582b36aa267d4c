//! One row per transition.

use amends::ports::{Fault, JournalRow};
use amends_core::{Timestamp, TransitionId};
use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "journal")]
pub(crate) struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) saga_id: Uuid,
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) seq: i64,
    pub(crate) transition_id: Uuid,
    pub(crate) at: i64,
    pub(crate) actor: String,
    pub(crate) events: String,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub(crate) enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl TryFrom<Model> for JournalRow {
    type Error = Fault;

    fn try_from(row: Model) -> Result<Self, Fault> {
        let seq = u64::try_from(row.seq).map_err(|_| {
            Fault::Corrupt(format!("saga {} has a journal row with sequence {}", row.saga_id, row.seq))
        })?;
        Ok(Self {
            seq,
            at: Timestamp(row.at),
            actor: row.actor.into(),
            transition: TransitionId(row.transition_id),
            events: row.events,
        })
    }
}
