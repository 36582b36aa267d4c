//! What the databases say at the end, put together for the report.

use std::collections::HashMap;

use amends::SagaView;
use amends::core::event::TurnReason;
use amends::core::state::Phase;
use amends::core::{JournalEvent, Json, SagaId, Timestamp};
use amends::ports::{SagaFilter, SagaRow, WorkItemRow};
use amends_workflows::{Currency, Money, OrderPlaced, PaymentRequested, RefundRequested};
use anyhow::bail;

use crate::desk::offers;
use crate::drive::{Facts, Started};
use crate::load::SagaName;
use crate::participants::{self, Ended, Finding};
use crate::report::{DeskRow, End, LineCounts, Outcome, Report, Verdict};
use crate::shop::{Shop, gist};

/// Reads both databases.
///
/// # Errors
/// When one does not answer.
pub async fn report(shop: &Shop, facts: Facts, malformed: Vec<(usize, String)>) -> anyhow::Result<Report> {
    let mut report = Report::default();
    lines(&mut report, facts, malformed);
    let rows = all(shop).await?;
    let mut desk: HashMap<SagaId, Vec<WorkItemRow>> = HashMap::new();
    for (saga, item) in shop.engine.query().desk(u32::MAX).await? {
        desk.entry(saga).or_default().push(item);
    }
    let (mut ended, now) = (Vec::new(), shop.engine.now());
    for row in rows {
        let items = desk.remove(&row.id).unwrap_or_default();
        let view = match &row.set_aside {
            None => Some(shop.engine.inspect(row.id).await?),
            Some(_) => None,
        };
        *report.outcomes.entry(outcome(&row, view.as_ref(), &items)).or_default() += 1;
        let name = SagaName { workflow: row.definition.workflow.to_string(), key: row.key.to_string() };
        report.desk.extend(items.into_iter().map(|item| desk_row(&name, view.as_ref(), item, now)));
        ended.push(for_audit(&row, view.as_ref())?);
    }
    report.desk.sort_by(|a, b| (&a.saga, &a.action).cmp(&(&b.saga, &b.action)));
    let verdict =
        |Finding { rule, ok, detail }: Finding| Verdict { rule: rule.to_owned(), holds: ok, detail };
    report.audit = shop.participants.audit(&ended).await?.into_iter().map(verdict).collect();
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

async fn all(shop: &Shop) -> anyhow::Result<Vec<SagaRow>> {
    let mut filter = SagaFilter { limit: 1_000, ..SagaFilter::default() };
    let mut rows = Vec::new();
    loop {
        let page = shop.engine.query().list(&filter).await?;
        let Some(last) = page.last() else { return Ok(rows) };
        filter.after = Some(last.id);
        rows.extend(page);
    }
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
