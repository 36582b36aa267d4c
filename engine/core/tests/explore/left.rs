//! What may still go wrong on a path.

/// Longer than all short waits of a path together, shorter than retentions and deadlines. Microseconds.
pub(crate) const FAR: i64 = 100_000_000;

/// What a move takes from what is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cost {
    Free,
    /// A bad answer or finding, a crash, what cannot be built, news of a transmission that is open.
    Fault,
    Contradiction,
    Wish,
    Pause,
    Verb,
}

/// What is left of a path's bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Left {
    pub(crate) contradictions: u8,
    pub(crate) wishes: u8,
    pub(crate) pauses: u8,
    pub(crate) verbs: u8,
    /// Of all these together.
    pub(crate) together: u8,
    /// Do deadlines pass? Else time goes on by waits that are shorter than [`FAR`] only.
    pub(crate) deadlines: bool,
    /// Are faults (bad answers and findings, crashes, late news) counted among those that come together?
    pub(crate) faults_count: bool,
}

impl Left {
    /// So much of what a path may bring beside faults, and any number of faults.
    pub(crate) fn faults_free(together: u8) -> Self {
        Self {
            contradictions: 1,
            wishes: 1,
            pauses: 1,
            verbs: 2,
            together,
            deadlines: true,
            faults_count: false,
        }
    }

    /// So many troubles on a path, faults among them, and no deadline passes.
    pub(crate) fn troubles(together: u8) -> Self {
        Self { deadlines: false, faults_count: true, ..Self::faults_free(together) }
    }

    /// What is left once `cost` is paid; none if it cannot be paid.
    pub(crate) fn after(self, cost: Cost) -> Option<Self> {
        let mut left = self;
        match cost {
            Cost::Free => return Some(self),
            Cost::Fault if !self.faults_count => return Some(self),
            Cost::Fault => {}
            Cost::Contradiction => left.contradictions = left.contradictions.checked_sub(1)?,
            Cost::Wish => left.wishes = left.wishes.checked_sub(1)?,
            Cost::Pause => left.pauses = left.pauses.checked_sub(1)?,
            Cost::Verb => left.verbs = left.verbs.checked_sub(1)?,
        }
        left.together = self.together.checked_sub(1)?;
        if left.together == 0 {
            left = left.nothing();
        }
        Some(left)
    }

    fn nothing(self) -> Self {
        Self { contradictions: 0, wishes: 0, pauses: 0, verbs: 0, together: 0, ..self }
    }

    pub(crate) fn pays(self, cost: Cost) -> bool {
        self.after(cost).is_some()
    }

    /// At least as much is left of everything. How much may come together follows from the rest, unless
    /// faults count.
    fn covers(self, other: Self) -> bool {
        self.contradictions >= other.contradictions
            && self.wishes >= other.wishes
            && self.pauses >= other.pauses
            && self.verbs >= other.verbs
            && self.depth() >= other.depth()
    }

    fn depth(self) -> u8 {
        if self.faults_count { self.together } else { 0 }
    }

    /// Its bit in a [`Front`]: 24 ways to have something of each kind left, for each number of troubles left; the
    /// last bit if there is none.
    fn bit(self) -> u128 {
        let kinds = self.contradictions + 2 * self.wishes + 4 * self.pauses + 8 * self.verbs;
        match self.depth().checked_sub(1) {
            Some(more) => 1 << (kinds + 24 * more),
            None if self.faults_count => 1 << NOTHING,
            None => 1 << kinds,
        }
    }
}

/// The bit of nothing left, where faults count.
const NOTHING: u8 = 127;

/// With what left a state was reached: of two ways, the one with more left of everything covers the other.
#[derive(Clone, Copy, Default)]
pub(crate) struct Front(u128);

impl Front {
    pub(crate) fn covers(self, left: Left) -> bool {
        let mut ways = self.0;
        while ways != 0 {
            let n = ways.trailing_zeros() as u8;
            ways &= ways - 1;
            let (kinds, together) = if n == NOTHING { (0, 0) } else { (n % 24, 1 + n / 24) };
            let (contradictions, wishes) = (kinds & 1, kinds >> 1 & 1);
            let other =
                Left { contradictions, wishes, pauses: kinds >> 2 & 1, verbs: kinds >> 3, together, ..left };
            let other = if left.faults_count { other } else { Left { together: left.together, ..other } };
            if other.covers(left) {
                return true;
            }
        }
        false
    }

    /// Adds a way that is not covered; was it the first?
    pub(crate) fn add(&mut self, left: Left) -> bool {
        let first = self.0 == 0;
        self.0 |= left.bit();
        first
    }
}
