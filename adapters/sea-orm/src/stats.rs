//! Counters of what was written, cheap enough to keep always.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use amends::ports::WriteStats;

/// [`WriteStats`] that the writer adds to and anybody reads.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    commits: AtomicU64,
    journal_rows: AtomicU64,
    saga_inserts: AtomicU64,
    saga_updates: AtomicU64,
    claims: AtomicU64,
    work_items: AtomicU64,
    compensations: AtomicU64,
    mail: AtomicU64,
    outbox: AtomicU64,
    splits: AtomicU64,
}

impl Counters {
    /// Adds what one transaction wrote, after its COMMIT.
    pub(crate) fn add(&self, wrote: &WriteStats) {
        self.commits.fetch_add(wrote.commits, Relaxed);
        self.journal_rows.fetch_add(wrote.journal_rows, Relaxed);
        self.saga_inserts.fetch_add(wrote.saga_inserts, Relaxed);
        self.saga_updates.fetch_add(wrote.saga_updates, Relaxed);
        self.claims.fetch_add(wrote.claims, Relaxed);
        self.work_items.fetch_add(wrote.work_items, Relaxed);
        self.compensations.fetch_add(wrote.compensations, Relaxed);
        self.mail.fetch_add(wrote.mail, Relaxed);
        self.outbox.fetch_add(wrote.outbox, Relaxed);
        self.splits.fetch_add(wrote.splits, Relaxed);
    }

    pub(crate) fn read(&self) -> WriteStats {
        WriteStats {
            commits: self.commits.load(Relaxed),
            journal_rows: self.journal_rows.load(Relaxed),
            saga_inserts: self.saga_inserts.load(Relaxed),
            saga_updates: self.saga_updates.load(Relaxed),
            claims: self.claims.load(Relaxed),
            work_items: self.work_items.load(Relaxed),
            compensations: self.compensations.load(Relaxed),
            mail: self.mail.load(Relaxed),
            outbox: self.outbox.load(Relaxed),
            splits: self.splits.load(Relaxed),
        }
    }
}
