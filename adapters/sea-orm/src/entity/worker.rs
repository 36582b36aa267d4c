//! One row per live incarnation.

use amends::ports::{Fault, Peer};
use amends_core::Incarnation;
use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "worker")]
pub(crate) struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) incarnation: Uuid,
    pub(crate) beat: i64,
    pub(crate) node: String,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub(crate) enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl TryFrom<Model> for Peer {
    type Error = Fault;

    fn try_from(row: Model) -> Result<Self, Fault> {
        let Model { incarnation, beat, node } = row;
        let beat = u64::try_from(beat)
            .map_err(|_| Fault::Corrupt(format!("worker {incarnation} has a counter of {beat}")))?;
        Ok(Self { incarnation: Incarnation(incarnation), beat, node })
    }
}
