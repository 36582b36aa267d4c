//! One saga, closely: where it stands, its graph and its timeline. The database is opened read-only.

use std::sync::Arc;

use amends::core::{SagaId, SagaPlan, Timestamp};
use amends::ports::{Clock as _, Loaded, SagaQuery as _, SystemClock};
use amends::{Saga, SagaView};
use amends_sea_orm::{SqlReader, SqliteStore};
use amends_workflows::{order_saga, payment_saga, policies::policies, refund_saga};
use anyhow::{Context as _, anyhow};

use crate::files::Files;
use crate::participants::Participants;
use crate::shop::unopened;
use crate::{End, Unusable, print};

/// Prints it.
///
/// # Errors
/// When there is no such database or saga, or it cannot be read.
pub async fn show(database: &str, saga: &str) -> anyhow::Result<End> {
    let files = Files::named(database)?;
    let reader = SqliteStore::open_read_only(&files.database).await.map_err(unopened)?;
    let loaded = find(&reader, saga).await?;
    let plan = plan_of(&loaded).await?;
    let view = SagaView::new(plan, &loaded, SystemClock::new().now()).map_err(|reason| anyhow!(reason))?;
    print(&page(&view)).context("failed to print the saga")?;
    Ok(End::Good)
}

/// By id, by `workflow/key`, or by key alone.
async fn find(reader: &SqlReader, saga: &str) -> anyhow::Result<Loaded> {
    if let Ok(id) = saga.parse::<uuid::Uuid>()
        && let Some(loaded) = reader.read(SagaId(id)).await?
    {
        return Ok(loaded);
    }
    let named = saga.split_once('/').into_iter();
    for (workflow, key) in named.chain(WORKFLOWS.map(|workflow| (workflow, saga))) {
        if let Some(row) = reader.find(workflow, key).await? {
            return reader.read(row.id).await?.context("failed to read a saga that was just found");
        }
    }
    Err(Unusable::new(
        format!("there is no saga `{saga}` in this database"),
        "give its id, its key, or workflow/key as in order/O-1001",
    )
    .into())
}

const WORKFLOWS: [&str; 3] = ["order", "payment", "refund"];

/// The shape that the saga runs by. Nobody is called, so the participants here stand on an empty file of
/// their own, and those of the database are left alone.
async fn plan_of(loaded: &Loaded) -> anyhow::Result<Arc<SagaPlan>> {
    let folder = tempfile::tempdir().context("failed to make a temporary folder")?;
    let clock = Arc::new(SystemClock::new());
    let nobody = Participants::open(&folder.path().join("nobody"), 1.0, clock).await?.ports();
    let wanted = &loaded.row.definition;
    let plan = match &*wanted.workflow {
        "order" => resolved(&order_saga(&nobody)?.saga)?,
        "payment" => resolved(&payment_saga(&nobody)?.saga)?,
        "refund" => resolved(&refund_saga(&nobody)?.saga)?,
        other => {
            return Err(Unusable::new(format!("the shop has no workflow `{other}`"), "show another").into());
        }
    };
    if (plan.version, plan.digest.0) != (wanted.version, wanted.digest) {
        return Err(Unusable::new(
            format!("{} version {} of this database has another shape", wanted.workflow, wanted.version),
            "show it with the program that began it",
        )
        .into());
    }
    Ok(plan)
}

fn resolved<I, O>(saga: &Saga<I, O>) -> anyhow::Result<Arc<SagaPlan>> {
    Ok(saga.resolve(&policies(1.0))?.plan)
}

fn page(view: &SagaView) -> String {
    let mut page = format!("SAGA  {}/{}  {}\n", view.plan().workflow, view.key, view.id);
    let ended = view.ended_at.map(|at| format!(", ended {at}")).unwrap_or_default();
    page += &format!("{}  started {}{ended}\n", view.phase.word(), view.started_at);
    if let Some(reason) = &view.set_aside {
        page += &format!("set aside: {reason}\n");
    }
    page += &format!("\nGRAPH\n{}", view.picture());
    page += &format!("\nTIMELINE\n{}", view.timeline());
    if !view.desk.is_empty() {
        page += "\nDESK\n";
    }
    for item in &view.desk {
        let error = item.failure.as_ref().map(|failure| format!(", last error {}", failure.code));
        page += &format!(
            "{} on {} since {}: {} ({} attempts, effect {}{})\n",
            item.name(),
            item.desk.word(),
            Timestamp::to_string(&item.since),
            item.because.code(),
            item.attempts,
            item.effect.word(),
            error.unwrap_or_default(),
        );
    }
    page
}
