//! Faults of the real connection, for tests of whatever stands on the store.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};

/// Makes the real writer connection fail; nothing is simulated. Cheap to clone; does nothing until told to.
///
/// *When to use*: to test that an engine survives what a database does on a bad day.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    lost_answers: AtomicU32,
    writes_refused: AtomicBool,
}

impl Faults {
    /// The next `count` transactions commit, then the connection is closed and the caller is told only that
    /// the store cannot be reached.
    pub fn lose_answers(&self, count: u32) {
        self.shared.lost_answers.store(count, SeqCst);
    }

    /// While set, the connection is `query_only`: SQLite itself refuses every write as on a read-only file.
    pub fn refuse_writes(&self, refused: bool) {
        self.shared.writes_refused.store(refused, SeqCst);
    }

    pub(super) fn loses_this_answer(&self) -> bool {
        let less = |count: u32| count.checked_sub(1);
        self.shared.lost_answers.fetch_update(SeqCst, SeqCst, less).is_ok()
    }

    pub(super) fn refuses_writes(&self) -> bool {
        self.shared.writes_refused.load(SeqCst)
    }
}
