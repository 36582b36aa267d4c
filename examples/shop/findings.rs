//! What the databases say at the end, put together for the report.

use std::collections::HashMap;

use amends::SagaView;
use amends::core::event::TurnReason;
use amends::core::state::Phase;
use amends::core::{JournalEvent, Json, SagaId, Timestamp};
use amends::ports::{SagaFilter, SagaQuery, SagaRow, WorkItemRow};
use amends_workflows::{Currency, Money, OrderPlaced, PaymentRequested, RefundRequested};
use anyhow::{Context as _, anyhow, bail};

use crate::desk::offers;
use crate::drive::{Facts, Started};
use crate::load::SagaName;
use crate::participants::{self, Ended, Finding};
use crate::plans::Plans;
use crate::report::{DeskRow, End, LineCounts, Outcome, Report, Verdict};
use crate::shop::gist;

/// What a page is read from.
pub struct Books<'a> {
    /// The sagas.
    pub query: &'a dyn SagaQuery,
    /// What they run by.
    pub plans: Plans,
    /// Where their effects are.
    pub effects: participants::Place,
    /// What waits is measured from here.
    pub now: Timestamp,
}

impl Books<'_> {
    /// One saga, closely.
    ///
    /// # Errors
    /// When it is not there, or cannot be read.
    pub async fn view(&self, saga: SagaId) -> anyhow::Result<SagaView> {
        let loaded = self.query.read(saga).await?.context("failed to read a saga that was just listed")?;
        let plan = self.plans.of_saga(&loaded.row.definition)?;
        SagaView::new(plan, &loaded, self.now).map_err(|reason| anyhow!(reason))
    }

    /// All sagas, or those of a phase.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn sagas(&self, phase: Option<Phase>) -> anyhow::Result<Vec<SagaRow>> {
        let phase = phase.map(|phase| phase.word().to_owned());
        let mut filter = SagaFilter { phase, limit: 1_000, ..SagaFilter::default() };
        let mut rows = Vec::new();
        loop {
            let page = self.query.list(&filter).await?;
            let Some(last) = page.last() else { return Ok(rows) };
            filter.after = Some(last.id);
            rows.extend(page);
        }
    }
}

/// Reads both databases.
///
/// # Errors
/// When one does not answer.
pub async fn report(
    books: &Books<'_>,
    facts: Facts,
    malformed: Vec<(usize, String)>,
) -> anyhow::Result<Report> {
    let mut report = Report::default();
    lines(&mut report, facts, malformed);
    let rows = books.sagas(None).await?;
    let mut desk: HashMap<SagaId, Vec<WorkItemRow>> = HashMap::new();
    for (saga, item) in books.query.desk(u32::MAX).await? {
        desk.entry(saga).or_default().push(item);
    }
    let (mut ended, now) = (Vec::new(), books.now);
    for row in rows {
        let items = desk.remove(&row.id).unwrap_or_default();
        let view = match &row.set_aside {
            None => Some(books.view(row.id).await?),
            Some(_) => None,
        };
        let claimed = view.as_ref().map_or(0, takeovers);
        report.taken_over.sagas += usize::from(claimed > 0);
        report.taken_over.times += claimed;
        *report.outcomes.entry(outcome(&row, view.as_ref(), &items)).or_default() += 1;
        let name = SagaName { workflow: row.definition.workflow.to_string(), key: row.key.to_string() };
        report.desk.extend(items.into_iter().map(|item| desk_row(&name, view.as_ref(), item, now)));
        ended.push(for_audit(&row, view.as_ref())?);
    }
    report.desk.sort_by(|a, b| (&a.saga, &a.action).cmp(&(&b.saga, &b.action)));
    let verdict =
        |Finding { rule, ok, detail }: Finding| Verdict { rule: rule.to_owned(), holds: ok, detail };
    report.audit = participants::audit(&books.effects, &ended).await?.into_iter().map(verdict).collect();
    Ok(report)
}

fn lines(report: &mut Report, facts: Facts, malformed: Vec<(usize, String)>) {
    let mut counts = LineCounts { operator: facts.operations.len(), ..LineCounts::default() };
    report.malformed = malformed;
    for (line, started) in facts.starts {
        match started {
            Started::New => counts.sagas += 1,
            Started::Duplicate => counts.duplicate += 1,
            Started::Conflict(saga) => report.conflicts.push((line, saga.to_string())),
            Started::Refused(why) => report.malformed.push((line, why)),
        }
    }
    report.malformed.sort();
    counts.conflict = report.conflicts.len();
    counts.malformed = report.malformed.len();
    report.lines = counts;
    report.operations = facts
        .operations
        .into_iter()
        .map(|(line, (operator, answer))| (line, operator.to_string(), answer))
        .collect();
}

/// How often a saga went on with another owner, or another process, than before.
fn takeovers(view: &SagaView) -> usize {
    let events = view.journal().iter().flat_map(|transition| &transition.events);
    events.filter(|event| matches!(event, JournalEvent::Claimed { .. })).count()
}

fn outcome(row: &SagaRow, view: Option<&SagaView>, items: &[WorkItemRow]) -> Outcome {
    let (end, reason) = match (&row.set_aside, view) {
        (Some(reason), _) => (End::SetAside, reason.clone()),
        (None, Some(view)) if view.phase == Phase::Completed => (End::Completed, String::new()),
        (None, Some(view)) if view.phase == Phase::Compensated => (End::Compensated, why_turned(view)),
        (None, Some(view)) if view.phase == Phase::Closed => (End::Closed, left_in_place(view)),
        (None, _) if items.is_empty() => (End::UnderWay, row.phase.clone()),
        (None, _) => {
            let mut reasons: Vec<String> =
                items.iter().map(|item| format!("{}, {}", item.item, item.reason)).collect();
            reasons.sort();
            (End::OnADesk, reasons.join("; "))
        }
    };
    Outcome { workflow: row.definition.workflow.to_string(), end, reason }
}

/// What two people left as it was.
fn left_in_place(view: &SagaView) -> String {
    let closed = view.journal().iter().flat_map(|transition| &transition.events);
    let left = closed.filter_map(|event| match event {
        JournalEvent::Closed { effects_in_place, .. } => Some(effects_in_place),
        _ => None,
    });
    let left: Vec<&str> = left.flatten().map(|action| &*action.step).collect();
    if left.is_empty() {
        "nothing is left in place".to_owned()
    } else {
        format!("in place: {}", left.join(", "))
    }
}

/// Why a saga turned back, with the participant's own reason where there is one.
fn why_turned(view: &SagaView) -> String {
    match &view.turned {
        None => String::new(),
        Some(TurnReason::Refused { step }) => {
            let refusal = view.step(step).and_then(|step| step.forward.refusal.as_ref()?.value());
            match refusal.and_then(gist) {
                Some(gist) => format!("{step} refused: {gist}"),
                None => format!("{step} refused"),
            }
        }
        Some(TurnReason::Partial { step }) => format!("{step} took effect in part"),
        Some(TurnReason::Exhausted { step }) => format!("{step} gave up"),
        Some(TurnReason::Cancelled { by, reason }) => format!("cancelled by {by}: {reason}"),
        Some(TurnReason::Operator { by, reason }) => format!("turned back by {by}: {reason}"),
        Some(TurnReason::Deadline) => "its deadline passed".to_owned(),
        Some(TurnReason::Contradiction { step }) => format!("{step} was contradicted"),
    }
}

fn desk_row(saga: &SagaName, view: Option<&SagaView>, item: WorkItemRow, now: Timestamp) -> DeskRow {
    let error = [item.error_kind, item.error_code].into_iter().flatten().collect::<Vec<_>>().join(" ");
    // Nothing can be done about a saga that cannot be read.
    let offers = view.map(|view| offers(saga, view, &item.item, now)).unwrap_or_default();
    DeskRow {
        offers,
        saga: saga.to_string(),
        action: item.item,
        desk: item.desk.to_owned(),
        because: item.reason,
        since: item.since.to_string(),
        attempts: item.attempts,
        effect: item.effect.to_owned(),
        error,
    }
}

/// What the audit has to know of a saga: how it ended, and about how much money it is.
fn for_audit(row: &SagaRow, view: Option<&SagaView>) -> anyhow::Result<Ended> {
    let end = match &*row.phase {
        phase if phase == Phase::Completed.word() => participants::End::Completed,
        phase if phase == Phase::Compensated.word() => participants::End::Compensated,
        phase if phase == Phase::Closed.word() => participants::End::Closed,
        _ => participants::End::Open,
    };
    let amount = match view {
        Some(view) => amount(&row.definition.workflow, &view.state().input)?,
        // It cannot be read, so it has not ended, and no rule looks at its amount.
        None => Money::zero(Currency::Eur),
    };
    Ok(Ended { workflow: row.definition.workflow.to_string(), key: row.key.to_string(), end, amount })
}

fn amount(workflow: &str, input: &Json) -> anyhow::Result<Money> {
    Ok(match workflow {
        "order" => input.decode::<OrderPlaced>()?.total(),
        "payment" => input.decode::<PaymentRequested>()?.amount(),
        "refund" => input.decode::<RefundRequested>()?.amount,
        other => bail!("failed to audit the workflow `{other}`, which is none of the shop's"),
    })
}
