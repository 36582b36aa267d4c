//! Every order about what people set for everybody.

use amends::ports::{ControlOrder, StoredOrder};
use amends_core::Timestamp;
use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "control_order")]
pub(crate) struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) operation_id: String,
    pub(crate) key: String,
    pub(crate) value: Option<String>,
    pub(crate) actor: String,
    pub(crate) reason: String,
    pub(crate) at: i64,
    pub(crate) changed: bool,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub(crate) enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl From<Model> for StoredOrder {
    fn from(row: Model) -> Self {
        let Model { operation_id, key, value, actor, reason, at, changed } = row;
        let order = ControlOrder { operation_id, key: key.into(), value, actor, reason, at: Timestamp(at) };
        Self { order, changed }
    }
}
