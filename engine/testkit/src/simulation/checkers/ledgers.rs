//! I11: what participants really did.

use std::collections::BTreeSet;

use amends::SagaView;
use amends_core::ActionId;

use super::{Checker, End, Moment, Step};
use crate::laws::checks::balanced;
use crate::ledger::Ledger;

/// At most one effect per request id; and in the end what is recorded is what happened, except where a query
/// lied, a person said so, or clocks run so far ahead that no settle window holds.
pub struct Ledgers {
    ledger: Ledger,
    lied_about: BTreeSet<String>,
    windows_hold: bool,
}

impl Ledgers {
    /// Watches this ledger. Of these business keys queries tell lies, so what is recorded may be wrong. If no
    /// settle window holds, that can be so of every one.
    pub fn new(ledger: Ledger, lied_about: BTreeSet<String>, windows_hold: bool) -> Self {
        Self { ledger, lied_about, windows_hold }
    }

    fn settled(&self, moment: &Moment<'_>, end: &End) -> Result<(), String> {
        for loaded in &end.stored {
            let Some(told) = moment.sagas.get(&loaded.row.id) else { continue };
            if !self.windows_hold || self.lied_about.contains(&*loaded.row.key) {
                continue;
            }
            let view = SagaView::new(told.plan.clone(), loaded, moment.now)?;
            balanced(&view, &self.ledger)
                .map_err(|broken| format!("{}: {broken}\n\n{}", loaded.row.key, view.timeline()))?;
        }
        Ok(())
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
            _ => return Ok(()),
        };
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
