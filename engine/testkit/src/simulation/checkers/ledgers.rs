//! I11: what participants really did.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use amends::SagaView;
use amends_core::{ActionId, JournalEvent, SagaId};

use super::{Checker, End, Moment, Step};
use crate::laws::checks::balanced;
use crate::ledger::Ledger;
use crate::simulation::history::Transitioned;
use crate::simulation::messages::Noted;

/// At most one effect per request id; and in the end what is recorded is what happened, except where a query
/// lied, a person said so, or a saga itself went over to a node whose clock is too far ahead.
pub struct Ledgers {
    ledger: Ledger,
    lied_about: BTreeSet<String>,
    clocks: Option<BTreeMap<SagaId, Owners>>,
}

impl Ledgers {
    /// Watches this ledger. Of these business keys queries tell lies, so what is recorded may be wrong.
    pub fn new(ledger: Ledger, lied_about: BTreeSet<String>) -> Self {
        Self { ledger, lied_about, clocks: None }
    }

    /// Clocks of nodes differ. A saga that goes over to a node whose clock is ahead of its last one's cannot know
    /// that less time has passed: what is recorded of it may be wrong, and is not compared.
    #[must_use]
    pub fn with_clocks_that_differ(mut self) -> Self {
        self.clocks = Some(BTreeMap::new());
        self
    }

    fn is_compared(&self, saga: SagaId, key: &str) -> bool {
        let jumped = |clocks: &BTreeMap<SagaId, Owners>| clocks.get(&saga).is_some_and(|of| of.jumped);
        !self.lied_about.contains(key) && !self.clocks.as_ref().is_some_and(jumped)
    }

    fn settled(&self, moment: &Moment<'_>, end: &End) -> Result<(), String> {
        for loaded in &end.stored {
            let Some(told) = moment.sagas.get(&loaded.row.id) else { continue };
            if !self.is_compared(loaded.row.id, &loaded.row.key) {
                continue;
            }
            let view = SagaView::new(told.plan.clone(), loaded, moment.now)?;
            balanced(&view, &self.ledger)
                .map_err(|broken| format!("{}: {broken}\n\n{}", loaded.row.key, view.timeline()))?;
        }
        Ok(())
    }
}

/// The most that a clock may be ahead of the last owner's: what is left of a settle window after everything late.
const JUMP_MAX: Duration = Duration::from_secs(5);

/// How far a saga's journal was ahead of the time of the simulation, in microseconds: the most of the last owner's
/// rows, and of the present owner's. A row can be committed late, so each alone may show less than the owner's clock.
#[derive(Default)]
struct Owners {
    last: Option<i64>,
    present: Option<i64>,
    jumped: bool,
}

impl Owners {
    fn observe(&mut self, transitioned: &Transitioned<'_>) {
        let Some(row) = transitioned.journal.last() else { return };
        if row.events.iter().any(|event| matches!(event, JournalEvent::Claimed { .. })) {
            self.last = self.present.take();
        }
        let ahead = row.at.0 - transitioned.at.0;
        let present = self.present.map_or(ahead, |most| most.max(ahead));
        self.present = Some(present);
        let jump = self.last.map_or(0, |last| u64::try_from(present - last).unwrap_or(0));
        self.jumped |= Duration::from_micros(jump) > JUMP_MAX;
    }
}

impl Checker for Ledgers {
    fn invariant(&self) -> &'static str {
        "I11"
    }

    fn observe(&mut self, step: &Step<'_>) -> Result<(), String> {
        let transitioned = match step {
            Step::Settled(moment, end) => return self.settled(moment, end),
            Step::Transitioned(transitioned) => transitioned,
            Step::Message(Noted::Lied { key }) => {
                self.lied_about.insert(key.clone());
                return Ok(());
            }
            _ => return Ok(()),
        };
        if let Some(clocks) = &mut self.clocks {
            clocks.entry(transitioned.after.id).or_default().observe(transitioned);
        }
        for step in &transitioned.plan.steps {
            for action in [ActionId::forward(step.name.clone()), ActionId::compensation(step.name.clone())] {
                let times = self.ledger.effects(action.request_id(transitioned.after.id));
                if times > 1 {
                    let key = &transitioned.after.key;
                    return Err(format!("{action} of {key} took effect {times} times under one request id"));
                }
            }
        }
        Ok(())
    }
}
