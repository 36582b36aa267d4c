//! Who is told when it is worth looking.

use amends_core::Incarnation;

use crate::ports::Hints;

/// The hints that somebody takes.
#[derive(Debug, Default)]
pub(super) struct Listeners(Vec<(Incarnation, Hints)>);

impl Listeners {
    pub(super) fn add(&mut self, incarnation: Incarnation) -> Hints {
        self.0.retain(|(_, hints)| !hints.is_forgotten());
        let hints = Hints::default();
        self.0.push((incarnation, hints.clone()));
        hints
    }

    /// To the owner of a saga; to everybody if it has none.
    pub(super) fn hint(&self, owner: Option<Incarnation>) {
        let concerned = self.0.iter().filter(|(of, _)| owner.is_none_or(|owner| owner == *of));
        concerned.for_each(|(_, hints)| hints.give());
    }
}
