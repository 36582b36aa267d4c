//! What people have set for everybody.

use amends::ports::ControlRow;
use amends_core::Timestamp;
use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "control")]
pub(crate) struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) key: String,
    pub(crate) value: String,
    pub(crate) actor: String,
    pub(crate) reason: String,
    pub(crate) operation_id: String,
    pub(crate) at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub(crate) enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl From<Model> for ControlRow {
    fn from(row: Model) -> Self {
        let Model { key, value, actor, reason, operation_id, at } = row;
        Self { key: key.into(), value, actor, reason, operation_id, at: Timestamp(at) }
    }
}
