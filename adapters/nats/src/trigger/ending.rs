//! How the deliveries of a trigger end.

use crate::taking::Totals;

/// How a delivery ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It started a saga.
    Saga,
    /// Its saga was there already.
    Duplicate,
    /// Its key stands for another input.
    Conflict,
    /// It is too old to be told from a repetition.
    Refused,
    /// No saga could be made of it.
    Intake,
    /// Our own code failed; it comes again.
    Failed,
    /// This process ends; it comes again, here or elsewhere.
    Returned,
}

/// How many deliveries a trigger has taken on this node since it was started, and how they ended.
///
/// A *delivery* is one message handed to us once: the same message may come again, which is another delivery and then
/// mostly a duplicate. `deliveries` is always the sum of all endings and of `in_hand`. Every *message* ends at last as
/// exactly one of saga, duplicate, conflict, refused and intake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Deliveries taken.
    pub deliveries: u64,
    /// Those that started a saga.
    pub sagas: u64,
    /// Those whose saga was there already, with the same input.
    pub duplicates: u64,
    /// Those whose key stands for another input: in intake, with the code `conflict`.
    pub conflicts: u64,
    /// Those that are older than what is remembered: in intake, with the code `refused`.
    pub refused: u64,
    /// Those of which no saga could be made: in intake.
    pub intake: u64,
    /// Those on which our own code failed. They come again.
    pub failed: u64,
    /// Those given back because this process ends. They come again.
    pub returned: u64,
    /// Those being worked on.
    pub in_hand: u64,
    /// Among all that ended, those whose acknowledgement nobody confirmed. They may come again, as duplicates.
    pub unconfirmed: u64,
}

impl From<Totals> for Counters {
    fn from(totals: Totals) -> Self {
        let of = |ending: Ending| totals.endings[ending as usize];
        Self {
            deliveries: totals.deliveries,
            sagas: of(Ending::Saga),
            duplicates: of(Ending::Duplicate),
            conflicts: of(Ending::Conflict),
            refused: of(Ending::Refused),
            intake: of(Ending::Intake),
            failed: of(Ending::Failed),
            returned: of(Ending::Returned),
            in_hand: totals.in_hand,
            unconfirmed: totals.unconfirmed,
        }
    }
}

impl Counters {
    /// Deliveries that have ended, in whatever way.
    pub fn ended(&self) -> u64 {
        let Self { sagas, duplicates, conflicts, refused, intake, failed, returned, .. } = *self;
        sagas + duplicates + conflicts + refused + intake + failed + returned
    }
}
