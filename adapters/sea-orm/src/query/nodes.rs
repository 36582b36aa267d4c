//! Who is alive, and who owns what.

use amends::ports::{Fault, Peer};
use amends_core::{Incarnation, SagaId};
use sea_orm::{ColumnTrait, EntityTrait, FromQueryResult as _, QueryFilter, QueryOrder, QuerySelect};
use uuid::Uuid;

use super::{Queries, fault, readable};
use crate::entity::{saga, worker};

impl Queries {
    pub(crate) async fn peers(&self) -> Result<Vec<Peer>, Fault> {
        let all = worker::Entity::find().order_by_asc(worker::Column::Incarnation);
        Ok(readable(&self.rows(&all).await?, "a live node", |row| {
            Ok(Peer::from(worker::Model::from_query_result(row, "").map_err(fault)?))
        }))
    }

    pub(crate) async fn mine(
        &self,
        incarnation: Incarnation,
        after: Option<SagaId>,
        limit: u32,
    ) -> Result<Vec<SagaId>, Fault> {
        let mut owned = saga::Entity::find()
            .select_only()
            .column(saga::Column::Id)
            .filter(saga::Column::Owner.eq(incarnation.0));
        if let Some(after) = after {
            owned = owned.filter(saga::Column::Id.gt(after.0));
        }
        let page = owned.order_by_asc(saga::Column::Id).limit(u64::from(limit));
        let ids: Vec<Uuid> = page.into_tuple().all(&self.db).await.map_err(fault)?;
        Ok(ids.into_iter().map(SagaId).collect())
    }
}
