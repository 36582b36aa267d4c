//! One row per live incarnation.

use amends::ports::Peer;
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

/// A counter only says whether it moved: of any number.
impl From<Model> for Peer {
    fn from(row: Model) -> Self {
        let Model { incarnation, beat, node } = row;
        Self { incarnation: Incarnation(incarnation), beat: beat.cast_unsigned(), node }
    }
}
