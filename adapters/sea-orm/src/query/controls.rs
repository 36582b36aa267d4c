//! What people have set for everybody.

use amends::ports::{CONTROLS_MAX, ControlRow, Fault, StoredOrder};
use sea_orm::{EntityTrait, QueryOrder, QuerySelect};

use super::{Queries, fault};
use crate::entity::{control, control_order};

impl Queries {
    pub(crate) async fn ordered(&self, operation_id: &str) -> Result<Option<StoredOrder>, Fault> {
        let found = control_order::Entity::find_by_id(operation_id).one(&self.db).await.map_err(fault)?;
        Ok(found.map(StoredOrder::from))
    }

    pub(crate) async fn controls(&self) -> Result<Vec<ControlRow>, Fault> {
        // Orders that came at one instant may go a little beyond the bound.
        let all =
            control::Entity::find().order_by_asc(control::Column::Key).limit(2 * u64::from(CONTROLS_MAX));
        let rows = all.all(&self.db).await.map_err(fault)?;
        Ok(rows.into_iter().map(ControlRow::from).collect())
    }
}
