//! Why the barrier could not answer.

use sea_orm::DbErr;
use uuid::Uuid;

/// Why the barrier could not answer. The variants differ in what is known of the effect.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The database failed before the commit. Roll the transaction back (SQLite may have done so itself,
    /// and would run later statements outside of it): this call then had no effect, and may come again.
    #[error("use the barrier's database")]
    Database(#[from] DbErr),
    /// The database failed while committing: the call may or may not have taken effect. Ask with a query
    /// or repeat the call; never report it as without effect.
    #[error("commit: the effect is unknown until it is asked for")]
    Commit(#[source] DbErr),
    /// The value has no JSON form, so the answer could not be kept and the call had no effect. It will be
    /// so again: the participant's code is at fault.
    #[error("write the value as JSON")]
    Unwritable(#[source] serde_json::Error),
    /// An answer is kept, and what it stands for has happened, but it is not of the type asked for: the
    /// service changed its types, or asked for a compensation's answer under a forward call's id.
    #[error("read the answer kept for request {request_id}")]
    Unreadable {
        /// Whose answer it is.
        request_id: Uuid,
        /// What does not fit.
        #[source]
        source: serde_json::Error,
    },
}
