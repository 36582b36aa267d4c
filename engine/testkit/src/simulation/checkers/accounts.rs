//! I7, for messages: each comes to an end that somebody can name.

use std::collections::{BTreeMap, BTreeSet};

use super::{Checker, End, Moment, Step};
use crate::simulation::messages::{EVENTS, Ending, Noted};

/// Every message that the broker has acknowledged was in the end a saga, a duplicate, a conflict, refused or put into
/// intake; a command was carried out, a reply was told. What is said to be in intake is there, and what is
/// said to be a saga is one. No message is two of these.
#[derive(Clone, Debug, Default)]
pub struct Accounts {
    open: BTreeSet<(&'static str, u64)>,
    events: BTreeMap<u64, Ending>,
}

/// The endings that may follow each other: a saga and its duplicates; and what was one before it was forgotten.
fn fit(before: &Ending, next: &Ending) -> bool {
    use Ending::{Conflict, Duplicate, Intake, Refused, Saga};
    match (before, next) {
        (Saga(one), Saga(other)) => one == other,
        (Saga(one) | Duplicate(Some(one)), Duplicate(Some(other))) => one == other,
        (Saga(_) | Duplicate(_), Duplicate(_) | Refused) | (Duplicate(_), Saga(_)) => true,
        (Conflict, Conflict | Refused) | (Refused, Refused) | (Intake, Intake) => true,
        _ => false,
    }
}

impl Accounts {
    fn noted(&mut self, noted: &Noted) -> Result<(), String> {
        match noted {
            Noted::Stored { stream, sequence } => drop(self.open.insert((stream, *sequence))),
            Noted::Ended { stream, sequence, ending, .. } if ending.is_final() => {
                self.open.remove(&(*stream, *sequence));
                if *stream == EVENTS
                    && let Some(before) = self.events.insert(*sequence, ending.clone())
                    && !fit(&before, ending)
                {
                    return Err(format!("the event at {sequence} was {before:?}, and is {ending:?}"));
                }
            }
            Noted::Ended { .. } | Noted::Delivered { .. } | Noted::Lied { .. } => {}
        }
        Ok(())
    }

    fn settled(&self, moment: &Moment<'_>, end: &End) -> Result<(), String> {
        if let Some((stream, sequence)) = self.open.first() {
            let all = self.open.len();
            return Err(format!(
                "of {all} messages nobody can say what became, first of {sequence} in {stream}"
            ));
        }
        for (sequence, ending) in &self.events {
            let position = sequence.to_string();
            match ending {
                Ending::Saga(saga) | Ending::Duplicate(Some(saga)) if !moment.sagas.contains_key(saga) => {
                    return Err(format!("the event at {sequence} is the saga {saga}, which there is not"));
                }
                ending if ending.is_in_intake() => {
                    let is_there =
                        |row: &amends::ports::IntakeRow| *row.source == *EVENTS && *row.dedupe == *position;
                    if !end.intake.iter().any(is_there) {
                        return Err(format!("the event at {sequence} is {ending:?}, and not in intake"));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

impl Checker for Accounts {
    fn invariant(&self) -> &'static str {
        "I7"
    }

    fn observe(&mut self, step: &Step<'_>) -> Result<(), String> {
        match step {
            Step::Message(noted) => self.noted(noted),
            Step::Settled(moment, end) => self.settled(moment, end),
            _ => Ok(()),
        }
    }
}
