//! The last page without the work: whether all is well that other processes have done.

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use amends::SagaView;
use amends::core::SagaId;
use amends::core::state::Phase;
use amends::ports::{Clock as _, SagaQuery, SagaRow, SystemClock};

use crate::End;
use crate::args::Args;
use crate::drive::{Facts, Started, is_for_a_person};
use crate::findings::{self, Books};
use crate::load::{Event, Line, SagaName};
use crate::place::Place;
use crate::plans::Plans;
use crate::reader::Opened;
use crate::report::Verdict;
use crate::run::{lines, print_page};

/// How often it is looked whether all is quiet.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// How many names a broken rule tells.
const NAMES_SHOWN: usize = 5;

/// Waits until nothing is under way, for at most `within` seconds, and prints the page.
///
/// # Errors
/// When the lines or the databases cannot be read.
pub async fn audit(args: &Args, within: u32) -> anyhow::Result<End> {
    let place = Place::named(&args.database)?;
    // Without lines there is nothing to look for, and the rest can be said all the same.
    let lines = match (&args.orders, args.generated) {
        (None, None) => None,
        _ => Some(lines(args)?.1),
    };
    place.check().await?;
    let opened = Opened::at(&place).await?;
    let clock = SystemClock::new();
    let mut books = Books {
        query: &opened.reader,
        plans: Plans::without_participants().await?,
        effects: place.effects(),
        now: clock.now(),
    };
    let until = clock.now() + Duration::from_secs(within.into());
    let mut look = tokio::time::interval(LOOK_EVERY);
    let under_way = loop {
        look.tick().await;
        books.now = clock.now();
        let under_way = under_way(&books).await?;
        if under_way.is_empty() || books.now >= until {
            break under_way;
        }
    };
    let (good, malformed) = lines.map_or_else(Default::default, |lines| (lines.good, lines.malformed));
    let malformed = malformed.into_iter().map(|(line, malformed)| (line, malformed.to_string())).collect();
    let (facts, missing) = compare(books.query, &good).await?;
    let mut report = findings::report(&books, facts, malformed).await?;
    let looked_at = format!("{} of the lines", good.len());
    report.audit.push(verdict("every line that starts a saga has its saga", missing, looked_at));
    let sagas: usize = report.outcomes.values().sum();
    let rule = "every saga has ended, or stands on a desk with a reason";
    report.audit.push(verdict(rule, under_way, format!("{sagas} sagas")));
    report.tell_takeovers = true;
    print_page(&report)
}

/// The sagas that go on by themselves, or should: neither ended nor waiting for a person alone.
async fn under_way(books: &Books<'_>) -> anyhow::Result<Vec<String>> {
    let mut under_way = Vec::new();
    let on_desks: HashSet<SagaId> =
        books.query.desk(u32::MAX).await?.into_iter().map(|(saga, _)| saga).collect();
    for phase in [Phase::Running, Phase::Compensating] {
        for row in books.sagas(Some(phase)).await? {
            let waits = row.set_aside.is_some()
                || (on_desks.contains(&row.id) && waits_for_a_person(&books.view(row.id).await?));
            if !waits {
                under_way.push(name(&row).to_string());
            }
        }
    }
    Ok(under_way)
}

/// It stands on a desk, for a reason, and nothing else will happen.
fn waits_for_a_person(view: &SagaView) -> bool {
    let on_a_desk = view.desk.iter().all(|item| !item.because.code().is_empty()) && !view.desk.is_empty();
    let idle = !view.waits.is_empty() && view.waits.iter().all(is_for_a_person);
    view.ended_at.is_some() || (on_a_desk && idle)
}

/// What became of the lines, and those that nothing became of.
async fn compare(query: &dyn SagaQuery, lines: &[Line]) -> anyhow::Result<(Facts, Vec<String>)> {
    let (mut facts, mut missing, mut seen) = (Facts::default(), Vec::new(), BTreeSet::new());
    for Line { number, event } in lines {
        let Event::Start(start) = event else { continue };
        if !seen.insert(&start.saga) {
            facts.starts.insert(*number, Started::Duplicate);
        } else if query.find(&start.saga.workflow, &start.saga.key).await?.is_some() {
            facts.starts.insert(*number, Started::New);
        } else {
            missing.push(start.saga.to_string());
        }
    }
    Ok((facts, missing))
}

fn name(row: &SagaRow) -> SagaName {
    SagaName { workflow: row.definition.workflow.to_string(), key: row.key.to_string() }
}

fn verdict(rule: &str, broken_by: Vec<String>, looked_at: String) -> Verdict {
    let more = broken_by.len().saturating_sub(NAMES_SHOWN);
    let mut detail = broken_by[..broken_by.len() - more].join("; ");
    if more > 0 {
        detail += &format!("; and {more} more");
    }
    let holds = broken_by.is_empty();
    Verdict { rule: rule.to_owned(), holds, detail: if holds { looked_at } else { detail } }
}
