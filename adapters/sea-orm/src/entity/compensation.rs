//! One row per compensation.

use amends::ports::{CompensationParticulars, CompensationRow};
use amends_core::Timestamp;
use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "compensation")]
pub(crate) struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) id: Uuid,
    pub(crate) saga_id: Uuid,
    pub(crate) created_at: i64,
    pub(crate) ended_at: Option<i64>,
    pub(crate) step: String,
    pub(crate) business_key: String,
    pub(crate) reason_code: String,
    pub(crate) requested_by: String,
    pub(crate) approved_by: Option<String>,
    pub(crate) expected: Option<String>,
    pub(crate) proposed: Option<String>,
    pub(crate) affected: Option<String>,
    pub(crate) dry_run: Option<String>,
    pub(crate) result: Option<String>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub(crate) enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl From<Model> for CompensationRow {
    fn from(row: Model) -> Self {
        Self {
            id: row.id,
            step: row.step,
            business_key: row.business_key.into(),
            reason_code: row.reason_code,
            requested_by: row.requested_by,
            approved_by: row.approved_by,
            particulars: CompensationParticulars {
                expected: row.expected,
                proposed: row.proposed,
                affected: row.affected,
                dry_run: row.dry_run,
            },
            created_at: Timestamp(row.created_at),
            ended_at: row.ended_at.map(Timestamp),
            result: row.result,
        }
    }
}
