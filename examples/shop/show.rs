//! One saga, closely: where it stands, its graph and its timeline. The database is opened read-only.

use amends::SagaView;
use amends::core::{SagaId, Timestamp};
use amends::ports::{Clock as _, Loaded, SagaQuery as _, SystemClock};
use amends_sea_orm::SqlReader;
use anyhow::{Context as _, anyhow};

use crate::desk::offers;
use crate::load::SagaName;
use crate::place::Place;
use crate::plans::Plans;
use crate::reader::Opened;
use crate::report::HOW;
use crate::text::{self, counted, print, shown_page, wrapped};
use crate::{End, Unusable, waits};

/// Prints it.
///
/// # Errors
/// When there is no such database or saga, or it cannot be read.
pub async fn show(database: &str, saga: &str) -> anyhow::Result<End> {
    let opened = Opened::at(&Place::named(database)?).await?;
    let loaded = find(&opened.reader, saga).await?;
    let plan = Plans::without_participants().await?.of_saga(&loaded.row.definition)?;
    let now = SystemClock::new().now();
    let view = SagaView::new(plan, &loaded, now).map_err(|reason| anyhow!(reason))?;
    print(&page(&view, now, text::width())).context("failed to print the saga")?;
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
