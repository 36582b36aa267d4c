//! Production history, read by today's definition: the check before a release.

use amends::authoring::{Definition, Values};
use amends::ports::Loaded;
use amends_core::state::{Given, Phase, SagaState};
use amends_core::{JournalEvent, Transition, replay};

use crate::kept::plan_lines;

/// The journal of a saga, from wherever it is kept.
#[derive(Clone, Debug)]
pub struct FinishedJournal {
    /// What it says of the shape it ran with.
    shape: Shape,
    /// How it ended, if that is kept beside it.
    phase: Option<String>,
    journal: Vec<Transition>,
}

#[derive(Clone, Debug)]
enum Shape {
    Digest([u8; 32]),
    Lines(Vec<String>),
}

/// How a journal and today's definition differ. Each of them would set the saga aside, or change its story.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Differs {
    /// The journal itself cannot be read.
    #[error("failed to read the journal at row {row}: {reason}")]
    Unreadable {
        /// Which row, from 1; 0: the head.
        row: u64,
        /// Why.
        reason: String,
    },
    /// It ran with another shape. A changed shape takes a new version.
    #[error("failed to replay the journal: the shape has changed: {what}")]
    Shape {
        /// What is there and what was.
        what: String,
    },
    /// A fact that today's machine cannot have written.
    #[error("failed to replay the journal at row {seq}: {reason}")]
    Impossible {
        /// Which row.
        seq: u64,
        /// Why.
        reason: String,
    },
    /// A recorded value that today's types do not read.
    #[error("failed to read what was recorded for `{step}`: {reason}")]
    Undecodable {
        /// Of which step.
        step: String,
        /// Which place, and why.
        reason: String,
    },
    /// The facts come to another end today.
    #[error("failed to come to the same end: it was {kept}, today it is {today}")]
    AnotherEnd {
        /// As it is kept.
        kept: String,
        /// As it is replayed.
        today: &'static str,
    },
}

impl FinishedJournal {
    /// From JSON lines: first `{"plan": [...]}`, then one transition a line, as
    /// [`kept_journal`](crate::kept_journal) writes them.
    ///
    /// # Errors
    /// [`Differs::Unreadable`].
    pub fn from_lines(text: &str) -> Result<Self, Differs> {
        #[derive(serde::Deserialize)]
        struct Head {
            plan: Vec<String>,
        }
        let unreadable =
            |row| move |error: serde_json::Error| Differs::Unreadable { row, reason: error.to_string() };
        let mut lines = text.lines();
        let head: Head = serde_json::from_str(lines.next().unwrap_or_default()).map_err(unreadable(0))?;
        let rows = (1..).zip(lines);
        let journal = rows.map(|(row, line)| serde_json::from_str(line).map_err(unreadable(row)));
        Ok(Self { shape: Shape::Lines(head.plan), phase: None, journal: journal.collect::<Result<_, _>>()? })
    }

    /// From the rows of a store.
    ///
    /// # Errors
    /// [`Differs::Unreadable`].
    pub fn from_rows(loaded: &Loaded) -> Result<Self, Differs> {
        let transition = |row: &amends::ports::JournalRow| {
            let events: Vec<JournalEvent> = serde_json::from_str(&row.events)
                .map_err(|error| Differs::Unreadable { row: row.seq, reason: error.to_string() })?;
            let actor = row.actor.to_string();
            Ok(Transition { seq: row.seq, at: row.at, actor, id: row.transition, events })
        };
        Ok(Self {
            shape: Shape::Digest(loaded.row.definition.digest),
            phase: Some(loaded.row.phase.clone()),
            journal: loaded.journal.iter().map(transition).collect::<Result<_, _>>()?,
        })
    }
}

/// Replays a journal against today's definition: same shape, every fact possible, every recorded value readable by
/// today's types, the same end. Branches and shaping functions are facts of the journal and not run again, except
/// where a step's input has to be put together from recorded values.
///
/// ```
/// use amends::prelude::*;
/// use amends_testkit::{FinishedJournal, Ledger, Participant, World, kept_journal, replay_journal};
///
/// # let mut world = World::new();
/// # let ledger = Ledger::new(&mut world);
/// # let money: Participant<u32, u32, String> = Participant::new(&ledger, "money", |n| *n);
/// let (s, order) = SagaBuilder::<u32>::new("order", 1);
/// let (paid, s) = s.pivot("capture", money.step::<ByQuery, ByOperator>(), order);
/// let saga = s.finish(paid).unwrap();
/// # world.register(&saga);
/// # let ran = world.start(&saga, "order-1", 3);
/// # world.run_until_settled();
/// # let exported = kept_journal(&ran.view()); // here: what a release check was given from production
///
/// let definition = saga.resolve(&Policies::new()).unwrap();
/// let journal = FinishedJournal::from_lines(&exported).unwrap();
/// let phase = replay_journal(&definition, &journal).unwrap();
/// assert!(phase.is_ended());
/// ```
///
/// # Errors
/// How they differ: the first difference.
pub fn replay_journal(definition: &Definition, journal: &FinishedJournal) -> Result<Phase, Differs> {
    same_shape(definition, &journal.shape)?;
    let plan = &definition.plan;
    let state = replay(plan, &journal.journal)
        .map_err(|corrupt| Differs::Impossible { seq: corrupt.seq, reason: corrupt.reason })?;
    for (ix, node) in plan.indices().zip(definition.nodes.iter()) {
        let (step, at) = (plan.step(ix), state.step(ix));
        let undecodable = |reason| Differs::Undecodable { step: step.name.to_string(), reason };
        if let Some(output) = at.forward.value() {
            node.check_output(output).map_err(undecodable)?;
        }
        let given = |source: &_| {
            matches!(state.given(plan, *source), Ok(Given::Value(_) | Given::Present(_) | Given::Absent))
        };
        if at.forward.attempts > 0 && step.input.sources().iter().all(given) {
            let values = Values { plan, state: &state };
            node.prepare(values, at.shaped.as_ref()).map_err(|problem| undecodable(problem.reason))?;
        }
    }
    same_end(journal.phase.as_deref(), &state)?;
    Ok(state.phase)
}

fn same_shape(definition: &Definition, shape: &Shape) -> Result<(), Differs> {
    let plan = &definition.plan;
    let what = match shape {
        Shape::Digest(digest) if *digest == plan.digest.0 => return Ok(()),
        Shape::Digest(digest) => {
            let was = amends_core::plan::PlanDigest(*digest);
            format!("its digest was {was}, today it is {}", plan.digest)
        }
        Shape::Lines(lines) => {
            let today = plan_lines(plan);
            let differs = (0..lines.len().max(today.len())).find(|at| lines.get(*at) != today.get(*at));
            let Some(at) = differs else { return Ok(()) };
            let told =
                |lines: &[String]| lines.get(at).map_or("nothing".to_owned(), |line| format!("`{line}`"));
            format!("it had {}, today it has {}", told(lines), told(&today))
        }
    };
    Err(Differs::Shape { what })
}

fn same_end(kept: Option<&str>, state: &SagaState) -> Result<(), Differs> {
    let today = state.phase.word();
    match kept {
        Some(kept) if kept != today => Err(Differs::AnotherEnd { kept: kept.to_owned(), today }),
        _ => Ok(()),
    }
}
