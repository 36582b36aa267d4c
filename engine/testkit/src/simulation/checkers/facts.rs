//! I1 to I5: what the facts of one saga's journal must be.

use super::{Checker, Step};

/// One of the invariants that the observer of the core's tests tells from a journal: I1 no second transmission in
/// doubt, I2 everything undone once and in reverse, I3 everything done, I4 nothing undone that never was, I5
/// budgets, delays and deadlines. What the observer says of no invariant in particular is reported with I3, as the
/// saga's course.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    invariant: &'static str,
}

impl Facts {
    /// One checker for each of the five.
    pub const ALL: [Self; 5] = [
        Self { invariant: "I1" },
        Self { invariant: "I2" },
        Self { invariant: "I3" },
        Self { invariant: "I4" },
        Self { invariant: "I5" },
    ];

    fn is_mine(self, broken: &str) -> bool {
        let named = broken.split(':').next().filter(|word| word.len() == 2 && word.starts_with('I'));
        named.map_or(self.invariant == "I3", |named| named == self.invariant)
    }
}

impl Checker for Facts {
    fn invariant(&self) -> &'static str {
        self.invariant
    }

    fn observe(&mut self, step: &Step<'_>) -> Result<(), String> {
        let Step::Transitioned(transitioned) = step else { return Ok(()) };
        let broken = transitioned.broken.as_deref().filter(|broken| self.is_mine(broken));
        broken.map_or(Ok(()), |broken| Err(broken.to_owned()))
    }
}
