//! One saga, closely: where it stands, its graph and its timeline. The database is opened read-only.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use amends::core::{SagaId, SagaPlan, Timestamp};
use amends::ports::{Clock as _, Loaded, SagaQuery as _, SystemClock};
use amends::{Saga, SagaView};
use amends_sea_orm::{PostgresStore, SqlReader, SqliteStore};
use amends_workflows::{order_saga, payment_saga, policies::policies, refund_saga};
use anyhow::{Context as _, anyhow};
use tempfile::TempDir;

use crate::contents::{self, Contents};
use crate::desk::offers;
use crate::files::beside;
use crate::load::SagaName;
use crate::participants::{self, Participants};
use crate::place::Place;
use crate::report::HOW;
use crate::schemas::Schemas;
use crate::shop::unopened;
use crate::text::{self, counted, print, shown_page, wrapped};
use crate::{End, Unusable, waits};

/// Prints it.
///
/// # Errors
/// When there is no such database or saga, or it cannot be read.
pub async fn show(database: &str, saga: &str) -> anyhow::Result<End> {
    let Opened { reader, _copy } = match Place::named(database)? {
        Place::Files(files) => open_file(&files.database).await?,
        Place::Schemas(schemas) => open_schema(&schemas).await?,
    };
    let loaded = find(&reader, saga).await?;
    let plan = plan_of(&loaded).await?;
    let now = SystemClock::new().now();
    let view = SagaView::new(plan, &loaded, now).map_err(|reason| anyhow!(reason))?;
    print(&page(&view, now, text::width())).context("failed to print the saga")?;
    Ok(End::Good)
}

/// A database to read, and the folder of its copy where one was needed.
struct Opened {
    reader: SqlReader,
    _copy: Option<TempDir>,
}

/// Joins nobody: it only reads.
async fn open_schema(schemas: &Schemas) -> anyhow::Result<Opened> {
    match schemas.look().await? {
        Contents::Ours { used: true } => {}
        _ => {
            let then = "run the shop on it first, or give --database another one";
            return Err(Unusable::new("the shop has not run on this database yet", then).into());
        }
    }
    let reader = PostgresStore::open_read_only(&schemas.engine_url()).await.map_err(unopened)?;
    Ok(Opened { reader, _copy: None })
}

async fn open_file(database: &Path) -> anyhow::Result<Opened> {
    let path = database.display();
    match contents::look(database, &contents::ENGINE).await? {
        Contents::Ours { .. } => {}
        Contents::Nothing => {
            let what = match database.exists() {
                true => format!("nothing has run on {path} yet"),
                false => format!("the database {path} does not exist"),
            };
            return Err(
                Unusable::new(what, "run the shop on it first, or give --database another path").into()
            );
        }
        Contents::Foreign => {
            let what = format!("{path} is not a database of the shop");
            return Err(Unusable::new(what, "give --database the path of one").into());
        }
    }
    open(database).await
}

/// SQLite keeps small files beside a database in use. Where its folder cannot be written to, a database that was
/// closed in good order, and so is all in its one file, is read in a copy.
async fn open(database: &Path) -> anyhow::Result<Opened> {
    let fault = match SqliteStore::open_read_only(database).await {
        Ok(reader) => return Ok(Opened { reader, _copy: None }),
        Err(fault) if beside(database, "-wal").exists() => return Err(unopened(fault).into()),
        Err(fault) => fault,
    };
    let folder = tempfile::tempdir().context("failed to make a temporary folder")?;
    let copy = folder.path().join("copy.db");
    let mut from = File::open(database).map_err(|_| unopened(fault))?;
    let mut to = File::create(&copy).context("failed to copy the database")?;
    std::io::copy(&mut from, &mut to).context("failed to copy the database")?;
    let reader = SqliteStore::open_read_only(&copy).await.map_err(unopened)?;
    Ok(Opened { reader, _copy: Some(folder) })
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
    let nobody = participants::Place::File(folder.path().join("nobody"));
    let nobody = Participants::open(&nobody, 1.0, clock).await?.ports();
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

fn page(view: &SagaView, now: Timestamp, width: Option<usize>) -> String {
    let mut page = format!("SAGA  {}/{}  {}\n", view.plan().workflow, view.key, view.id);
    let ended = view.ended_at.map(|at| format!(", ended {at}")).unwrap_or_default();
    let desk = if view.desk.is_empty() { "" } else { ", on a desk" };
    page += &format!("{}{desk}  started {}{ended}\n", view.phase.word(), view.started_at);
    if let Some(reason) = &view.set_aside {
        page += &format!("{}\n", wrapped(&format!("set aside: {reason}"), width, 2));
    }
    page += &format!("\nGRAPH\n{}", view.picture());
    page += "\nTIMELINE\n";
    for line in view.timeline().lines() {
        page += &format!("{}\n", wrapped(line, width, 8));
    }
    let waits = if view.set_aside.is_none() { waits::lines(view, now) } else { Vec::new() };
    if !waits.is_empty() {
        page += "\nWAITS FOR\n";
    }
    for line in waits {
        page += &format!("{}\n", wrapped(&line, width, 2));
    }
    if !view.desk.is_empty() {
        page += "\nDESK\n";
    }
    let name = SagaName { workflow: view.plan().workflow.to_string(), key: view.key.to_string() };
    let mut todo = String::new();
    for item in &view.desk {
        let error = item.failure.as_ref().map(|failure| format!(", last error {}", failure.code));
        let line = format!(
            "{} on {} since {}: {} ({}, effect {}{})",
            item.name(),
            item.desk.word(),
            Timestamp::to_string(&item.since),
            item.because.code(),
            counted(item.attempts as usize, "attempt", "attempts"),
            item.effect.word(),
            error.unwrap_or_default(),
        );
        page += &format!("{}\n", wrapped(&line, width, 2));
        let action = item.name();
        let offers = offers(&name, view, &action, now);
        todo += &format!("  {action}: {}\n", offers.words());
        todo.extend(offers.lines.iter().map(|line| format!("    {line}\n")));
    }
    if !todo.is_empty() {
        page += &format!("\n{}\n{todo}", wrapped(HOW, width, 0));
    }
    shown_page(&page)
}
