//! Lists for people: sagas and desk entries, filtered, in pages. Each row is read by itself, so that one that is damaged
//! hides no other.

use amends::ports::{
    Damaged, DeskCursor, DeskEntry, DeskFilter, DeskGroup, DeskPage, Fault, PAGE_MAX, SagaFilter, SagaPage,
    SagaRow, WorkItemRow,
};
use amends_core::{SagaId, Timestamp};
use sea_orm::sea_query::{Expr, ExprTrait as _, Func, Order, SelectStatement, UnionType};
use sea_orm::{
    ColumnTrait, Condition, ConnectionTrait, EntityTrait, FromQueryResult as _, QueryFilter, QueryOrder,
    QueryResult, QuerySelect, QueryTrait, Select,
};
use uuid::Uuid;

use super::{Queries, fault};
use crate::entity::{saga, work_item};

impl Queries {
    pub(crate) async fn list_sagas(&self, filter: &SagaFilter) -> Result<SagaPage, Fault> {
        let limit = Ord::min(filter.limit, PAGE_MAX);
        let page = sagas(filter).order_by_asc(saga::Column::Id).limit(u64::from(limit));
        let rows = self.rows(&page).await?;
        let mut read = SagaPage::default();
        for row in &rows {
            match saga::Model::from_query_result(row, "").map_err(fault).and_then(SagaRow::try_from) {
                Ok(row) => read.rows.push(row),
                Err(fault) => read.damaged.push(damaged(row, "id", &fault)),
            }
        }
        let last = rows.last().filter(|_| rows.len() == limit as usize);
        read.next = last.and_then(|row| row.try_get("", "id").ok()).map(SagaId);
        Ok(read)
    }

    pub(crate) async fn page_of_entries(&self, filter: &DeskFilter) -> Result<DeskPage, Fault> {
        let limit = Ord::min(filter.limit, PAGE_MAX);
        let mut page = entries(filter);
        if let Some(DeskCursor { since, saga, item }) = &filter.after {
            let cursor = [work_item::Column::Since, work_item::Column::SagaId, work_item::Column::Item];
            let place = Expr::tuple(cursor.map(Expr::col));
            let after = Expr::tuple([Expr::val(since.0), Expr::val(saga.0), Expr::val(item.as_str())]);
            page = page.filter(place.gt(after));
        }
        let page = page
            .order_by_asc(work_item::Column::Since)
            .order_by_asc(work_item::Column::SagaId)
            .order_by_asc(work_item::Column::Item)
            .limit(u64::from(limit));
        let rows = self.rows(&page).await?;
        let mut read = DeskPage::default();
        for row in &rows {
            match entry(row) {
                Ok(entry) => read.entries.push(entry),
                Err(fault) => read.damaged.push(damaged(row, "saga_id", &fault)),
            }
        }
        read.next = rows.last().filter(|_| rows.len() == limit as usize).and_then(cursor);
        Ok(read)
    }

    pub(crate) async fn groups_of_entries(&self, filter: &DeskFilter) -> Result<Vec<DeskGroup>, Fault> {
        let by = [
            work_item::Column::Desk,
            work_item::Column::Fingerprint,
            work_item::Column::Workflow,
            work_item::Column::Step,
        ];
        let mut groups = entries(filter)
            .select_only()
            .columns(by)
            .column_as(work_item::Column::Item.count(), "entries")
            .column_as(work_item::Column::Since.min(), "oldest");
        for column in by {
            groups = groups.group_by(column);
        }
        groups = groups.order_by(work_item::Column::Item.count(), Order::Desc);
        for column in by {
            groups = groups.order_by_asc(column);
        }
        let rows = self.rows(&groups.limit(u64::from(Ord::min(filter.limit, PAGE_MAX)))).await?;
        rows.iter().map(group).collect()
    }

    pub(super) async fn rows<E: EntityTrait>(&self, select: &Select<E>) -> Result<Vec<QueryResult>, Fault> {
        let statement = select.build(self.db.get_database_backend());
        self.db.query_all_raw(statement).await.map_err(fault)
    }
}

fn sagas(filter: &SagaFilter) -> Select<saga::Entity> {
    let is =
        |column: saga::Column, wanted: &Option<String>| wanted.as_deref().map(|wanted| column.eq(wanted));
    let is_open = matches!(filter.phase.as_deref(), Some("running" | "compensating"));
    let workflow = filter.workflow.as_deref().map(|workflow| {
        if !is_open {
            return saga::Column::Workflow.eq(workflow);
        }
        // Hidden from the index of workflows: of all sagas of one few are open, and those have an index of their own.
        Expr::expr(Func::coalesce([Expr::col(saga::Column::Workflow), Expr::val("")])).eq(workflow)
    });
    let mut all = Condition::all()
        .add_option(workflow)
        .add_option(is(saga::Column::Phase, &filter.phase))
        .add_option(is(saga::Column::Tenant, &filter.tenant))
        .add_option(filter.started_from.map(|from| saga::Column::StartedAt.gte(from.0)))
        .add_option(filter.started_before.map(|before| saga::Column::StartedAt.lt(before.0)))
        .add_option(filter.after.map(|after| saga::Column::Id.gt(after.0)));
    if is_open {
        all = all.add(saga::Column::EndedAt.is_null()); // What the index of open sagas says.
    }
    if filter.set_aside {
        all = all.add(saga::Column::SetAside.is_not_null());
    }
    if filter.asks_for_entries() || filter.needing_attention {
        all = all.add(saga::Column::Id.in_subquery(needing_attention(filter)));
    }
    saga::Entity::find().filter(all)
}

/// The ids of sagas with such an entry on a desk; without reason and step, those that were set aside as well.
fn needing_attention(filter: &SagaFilter) -> SelectStatement {
    let is = |column: work_item::Column, wanted: &Option<String>| {
        wanted.as_deref().map(|wanted| column.eq(wanted))
    };
    let such = Condition::all()
        .add_option(is(work_item::Column::Reason, &filter.reason))
        .add_option(is(work_item::Column::Step, &filter.step));
    let entries = work_item::Entity::find().select_only().column(work_item::Column::SagaId).filter(such);
    let mut ids = entries.into_query();
    if !filter.asks_for_entries() {
        let aside = saga::Entity::find().select_only().column(saga::Column::Id);
        ids.union(UnionType::All, aside.filter(saga::Column::SetAside.is_not_null()).into_query());
    }
    ids
}

fn entries(filter: &DeskFilter) -> Select<work_item::Entity> {
    let is = |column: work_item::Column, wanted: &Option<String>| {
        wanted.as_deref().map(|wanted| column.eq(wanted))
    };
    let of_tenant = filter.tenant.as_deref().map(|tenant| {
        let sagas = saga::Entity::find().select_only().column(saga::Column::Id);
        work_item::Column::SagaId.in_subquery(sagas.filter(saga::Column::Tenant.eq(tenant)).into_query())
    });
    let all = Condition::all()
        .add_option(is(work_item::Column::Desk, &filter.desk))
        .add_option(is(work_item::Column::Workflow, &filter.workflow))
        .add_option(is(work_item::Column::Step, &filter.step))
        .add_option(is(work_item::Column::Reason, &filter.reason))
        .add_option(is(work_item::Column::Fingerprint, &filter.fingerprint))
        .add_option(filter.since_from.map(|from| work_item::Column::Since.gte(from.0)))
        .add_option(filter.since_before.map(|before| work_item::Column::Since.lt(before.0)))
        .add_option(of_tenant);
    work_item::Entity::find().filter(all)
}

fn entry(row: &QueryResult) -> Result<DeskEntry, Fault> {
    let model = work_item::Model::from_query_result(row, "").map_err(fault)?;
    Ok(DeskEntry { saga: SagaId(model.saga_id), item: WorkItemRow::try_from(model)? })
}

fn cursor(row: &QueryResult) -> Option<DeskCursor> {
    let since = Timestamp(row.try_get("", "since").ok()?);
    let saga = SagaId(row.try_get("", "saga_id").ok()?);
    Some(DeskCursor { since, saga, item: row.try_get("", "item").ok()? })
}

/// It has arrived and cannot be read: whatever the fault is called, it is the row's.
fn damaged(row: &QueryResult, id: &str, fault: &Fault) -> Damaged {
    let reason = match fault {
        Fault::Corrupt(reason) | Fault::Unavailable(reason) => reason.clone(),
        other => other.to_string(),
    };
    Damaged { saga: SagaId(row.try_get("", id).unwrap_or(Uuid::nil())), reason }
}

fn group(row: &QueryResult) -> Result<DeskGroup, Fault> {
    let text = |column: &str| row.try_get::<String>("", column).map_err(fault);
    let entries: i64 = row.try_get("", "entries").map_err(fault)?;
    Ok(DeskGroup {
        desk: text("desk")?,
        workflow: text("workflow")?,
        step: text("step")?,
        fingerprint: text("fingerprint")?,
        entries: u64::try_from(entries).map_err(|_| Fault::Corrupt(format!("a count of {entries}")))?,
        oldest: Timestamp(row.try_get("", "oldest").map_err(fault)?),
    })
}
