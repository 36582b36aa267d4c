//! What a store has written since it was opened, for benchmarks and for gates on counts.

/// Commits and rows written since the store was opened. Refused and repeated commits write nothing and
/// count nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteStats {
    /// Transactions that wrote journal rows.
    pub commits: u64,
    /// Rows inserted into `journal`.
    pub journal_rows: u64,
    /// Rows inserted into `saga`.
    pub saga_inserts: u64,
    /// Rows of `saga` updated by a commit (a change of phase, or a release).
    pub saga_updates: u64,
    /// Rows of `saga` updated by a claim.
    pub claims: u64,
    /// Rows of `work_item` put or removed.
    pub work_items: u64,
    /// Rows of `compensation` inserted or updated.
    pub compensations: u64,
    /// Rows of `mail` posted or consumed.
    pub mail: u64,
    /// Rows of `outbox` written, removed or noted as refused.
    pub outbox: u64,
    /// Batches that were split because the store refused the content of one of their commits.
    pub splits: u64,
}
