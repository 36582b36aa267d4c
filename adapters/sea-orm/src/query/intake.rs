//! Messages that became no saga.

use amends::ports::{Fault, INTAKE_PAGE_MAX, IntakeFilter, IntakeRow};
use sea_orm::{ColumnTrait, EntityTrait, FromQueryResult as _, QueryFilter, QueryOrder, QuerySelect};
use uuid::Uuid;

use super::{Queries, fault, readable};
use crate::entity::intake;

impl Queries {
    pub(crate) async fn list_intake(&self, filter: &IntakeFilter) -> Result<Vec<IntakeRow>, Fault> {
        let mut page = intake::Entity::find();
        if let Some(source) = &filter.source {
            page = page.filter(intake::Column::Source.eq(source.as_str()));
        }
        if let Some(code) = &filter.code {
            page = page.filter(intake::Column::Code.eq(code.as_str()));
        }
        if !filter.closed_too {
            page = page.filter(intake::Column::ClosedAt.is_null());
        }
        if let Some(after) = filter.after {
            page = page.filter(intake::Column::Id.gt(after));
        }
        let limit = u64::from(filter.limit.min(INTAKE_PAGE_MAX));
        let rows = self.rows(&page.order_by_asc(intake::Column::Id).limit(limit)).await?;
        Ok(readable(&rows, "a message in intake", |row| {
            IntakeRow::try_from(intake::Model::from_query_result(row, "").map_err(fault)?)
        }))
    }

    pub(crate) async fn read_intake(&self, id: Uuid) -> Result<Option<IntakeRow>, Fault> {
        let found = intake::Entity::find_by_id(id).one(&self.db).await.map_err(fault)?;
        found.map(IntakeRow::try_from).transpose()
    }
}
