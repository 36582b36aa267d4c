//! A saga of a world, and what a test asks of it.

use std::marker::PhantomData;

use amends::SagaView;
use amends::authoring::{Handle, Payload};
use amends_core::SagaId;
use amends_core::agenda::Desk;
use amends_core::state::Phase;
use expect_test::Expect;

use super::Records;

/// A saga of a world. It stays readable whatever happens to the world's processes.
///
/// Everything that a test asserts is read from the committed journal, never from an engine's memory.
pub struct WorldSaga<O> {
    records: Records,
    id: SagaId,
    of: PhantomData<fn() -> O>,
}

impl<O> Clone for WorldSaga<O> {
    fn clone(&self) -> Self {
        Self { records: self.records.clone(), id: self.id, of: PhantomData }
    }
}

impl<O> From<&WorldSaga<O>> for SagaId {
    fn from(saga: &WorldSaga<O>) -> Self {
        saga.id
    }
}

impl<O> WorldSaga<O> {
    pub(super) fn new(records: Records, id: SagaId) -> Self {
        Self { records, id, of: PhantomData }
    }

    /// Its id.
    pub fn id(&self) -> SagaId {
        self.id
    }

    /// Everything that is recorded of it.
    pub fn view(&self) -> SagaView {
        self.records.view(self.id)
    }

    /// Every step took effect.
    ///
    /// # Panics
    /// When that is not so: with the timeline.
    #[track_caller]
    pub fn assert_completed(&self) {
        self.assert_phase(Phase::Completed);
    }

    /// It turned back, and every effect was undone.
    ///
    /// # Panics
    /// When that is not so: with the timeline.
    #[track_caller]
    pub fn assert_compensated(&self) {
        self.assert_phase(Phase::Compensated);
    }

    /// An action waits for a person: `reserve-stock`, or `reserve-stock/compensation`, for the reason of this
    /// code (`persistent`, `attempts-spent`, …).
    ///
    /// # Panics
    /// When that is not so: with the timeline and what does wait.
    #[track_caller]
    pub fn assert_on_desk(&self, desk: Desk, action: &str, because: &str) {
        let view = self.view();
        let action = if action.contains('/') { action.to_owned() } else { format!("{action}/forward") };
        let stands = view
            .desk
            .iter()
            .any(|item| item.desk == desk && item.name() == action && item.because.code() == because);
        let items = view
            .desk
            .iter()
            .map(|item| format!("{} on {} ({})", item.name(), item.desk.word(), item.because.code()));
        let items: Vec<String> = items.collect();
        assert!(
            stands,
            "`{action}` is not on the desk {} because of {because}; on desks: {items:?}\n\n{}",
            desk.word(),
            view.timeline()
        );
    }

    #[track_caller]
    fn assert_phase(&self, phase: Phase) {
        let view = self.view();
        assert!(
            view.phase == phase,
            "the saga is {}, not {}\n\n{}",
            view.phase.word(),
            phase.word(),
            view.timeline()
        );
    }

    /// The steps that were compensated with effect, in the order in which that succeeded.
    pub fn compensations(&self) -> Vec<String> {
        self.view().compensations().into_iter().map(str::to_owned).collect()
    }

    /// Attempts that a step's forward action has made.
    ///
    /// # Panics
    /// When there is no such step.
    pub fn attempts(&self, step: &str) -> u32 {
        self.view().step(step).unwrap_or_else(|| panic!("no step `{step}`")).forward.attempts
    }

    /// What a step gave; none as long as it has not succeeded. The definition may have been built again: the
    /// handle's workflow, step and schema count.
    pub fn output<T: Payload>(&self, of: Handle<T>) -> Option<T> {
        self.view().output(of)
    }

    /// Compares its story with a snapshot: one line per fact, in seconds since the start, without ids.
    ///
    /// # Panics
    /// When it differs.
    #[track_caller]
    pub fn timeline(&self, expected: Expect) {
        expected.assert_eq(&self.view().timeline());
    }
}
