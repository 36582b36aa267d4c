//! The participant's barrier: one row per request id, in the participant's own SQL transaction.
//!
//! A saga engine repeats itself: an answer is lost and the call comes again, a compensation overtakes
//! the call it undoes, a query asks what became of either. A service that changes something for a saga
//! keeps a *barrier*, so that every one of these meets one row that knows what happened. It is
//! *not* an engine, *not* a client of one, and needs none of it at run time; it is *not* a lock
//! service; and it guards only effects that are written in the same transaction as its row.
//!
//! A call that can be in two hands at once, as with a broker that delivers again, is closed out before it is
//! answered that nothing took effect: see [`close_out`]. That is one more transaction, of the failing path only.
//!
//! The first row that fits, from the top:
//!
//! | call | answer |
//! |---|---|
//! | [`forward`] or [`compensate`] with another input digest than the kept one | [`Answer::Mismatch`], no effect |
//! | [`forward`] after its compensation | [`Answer::Fenced`] with [`Fence::ForEver`], no effect |
//! | [`forward`] or [`compensate`], an answer is kept | [`Answer::Kept`] with that answer, no further effect |
//! | [`forward`] with an attempt that is fenced, where [`close_out`] did it | [`Answer::ClosedOut`] with what was said then, no effect |
//! | [`forward`] or [`compensate`] with an attempt that is fenced | [`Answer::Fenced`], no effect |
//! | [`forward`] | the body runs; its [`Outcome`] is kept; its error rolls back and keeps nothing |
//! | [`compensate`], no success or partial of the forward call kept | [`Undo::NothingToUndo`], and the forward call is fenced for ever |
//! | [`compensate`] | the body runs; its [`Undo`] is kept; its error rolls back and keeps nothing |
//! | [`query`] or [`query_compensation`], an answer is kept | [`Finding::Kept`] with that answer |
//! | a query that asks to fence | waits for a running call, fences, [`Finding::Fenced`] |
//! | [`close_out`], an answer is kept, or the call is closed for ever | that, as [`forward`] would say it |
//! | [`close_out`] | waits for a running call, fences, keeps what is said, [`Answer::ClosedOut`] |
//! | a query | [`Finding::InProgress`] if it is known that a call runs, else [`Finding::Absent`] |
//!
//! ```
//! use amends_barrier::{Answer, Call, Error, Outcome, Undo, compensate, digest, forward, in_transaction};
//! use sea_orm::{ConnectionTrait, Database};
//! use uuid::Uuid;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! // Once, at start or in a migration.
//! let db = Database::connect("sqlite::memory:").await?;
//! amends_barrier::install(&db).await?;
//! db.execute_unprepared("CREATE TABLE charge (request_id TEXT, cents INTEGER)").await?;
//!
//! // A charge comes in, and its answer is lost: the same request comes again.
//! let charge = Call { request_id: Uuid::from_u128(1), attempt: 1, input_digest: digest(&4_200)? };
//! for _ in 0..2 {
//!     let answer = in_transaction(&db, async |txn| {
//!         forward(txn, charge, || async {
//!             txn.execute_unprepared("INSERT INTO charge VALUES ('1', 4200)").await?;
//!             Ok::<_, Error>(Outcome::<String, ()>::Success("charge-1".to_owned()))
//!         })
//!         .await
//!     })
//!     .await?;
//!     assert_eq!(answer, Answer::Kept(Outcome::Success("charge-1".to_owned())));
//! }
//! assert_eq!(db.query_all_raw(sea_orm::Statement::from_string(
//!     sea_orm::DbBackend::Sqlite, "SELECT * FROM charge")).await?.len(), 1);
//!
//! // The saga turns back.
//! let refund = Call { request_id: Uuid::from_u128(2), ..charge };
//! let answer = in_transaction(&db, async |txn| {
//!     compensate(txn, refund, charge.request_id, || async {
//!         txn.execute_unprepared("INSERT INTO charge VALUES ('2', -4200)").await?;
//!         Ok::<_, Error>(Undo::Undone)
//!     })
//!     .await
//! })
//! .await?;
//! assert_eq!(answer, Answer::Kept(Undo::Undone));
//! # Ok(())
//! # }
//! ```
//!
//! # Guarantees
//!
//! - At most one kept answer, and so at most one effect, per request id, however often, in whatever order
//!   and however concurrently calls arrive. Calls of one request id wait for each other on its row.
//! - The effect and the kept answer are one commit: after a crash both exist, or neither.
//! - A body that fails leaves nothing, even where the caller then commits its transaction: it runs inside
//!   a savepoint that also holds the row.
//! - Once a compensation has answered, its forward call never takes effect any more.
//! - [`Finding::Fenced`] and [`Answer::Fenced`] are final for the attempts they cover; a later attempt of
//!   the same request id runs, unless the fence is for ever.
//! - Of a call that [`close_out`] has closed out, no transmission up to its attempt takes effect any more, in
//!   whatever hand it is. A call that failed and is not closed out may still take effect elsewhere.
//!
//! # Not guaranteed
//!
//! - Anything outside the transaction: an e-mail sent or another service called by a body happens again
//!   when the transaction rolls back and the call comes again.
//! - Anything after the rows are purged. A forward call whose row is gone runs again, and its compensation
//!   answers [`Undo::NothingToUndo`] although there was something; see [`purge_older_than`] for how long
//!   rows must be kept.
//! - At most one compensation per forward call. It is one per *compensation's* request id: whoever orders
//!   two compensations of one call under two ids gets both.
//! - [`Finding::InProgress`] for every running call. The row of a first call is invisible until it
//!   commits; only a query that asks to fence waits for it. An [`Finding::Absent`] says no more than that
//!   nothing is committed.
//! - That a call whose *commit* failed had no effect: [`Error::Commit`] is the one error after which the
//!   caller must ask.
//!
//! # Databases
//!
//! SQLite and PostgreSQL share every line. The row is inserted or, if it exists, locked in one statement
//! (`INSERT … ON CONFLICT DO UPDATE … RETURNING`). On SQLite the whole transaction is the lock: begin it
//! `IMMEDIATE`, as [`in_transaction`] does, for one that has read before its first write fails at once
//! when another writer came between. A query that does not fence needs no such transaction, and in WAL
//! mode it waits for nobody. On PostgreSQL the row is the lock; use READ COMMITTED (its
//! default). The tests of this crate run on both: the whole table on SQLite, who waits for whom on PostgreSQL too.

mod answer;
mod call;
mod close_out;
mod compensate;
mod error;
mod forward;
mod query;
mod row;
mod rules;
mod transaction;

// The public interface is:
pub use answer::{Answer, Fence, Finding, Outcome, Undo};
pub use call::{Call, digest};
pub use close_out::{Closing, close_out};
pub use compensate::compensate;
pub use error::Error;
pub use forward::forward;
pub use query::{query, query_compensation};
pub use row::{install, purge_older_than};
pub use transaction::in_transaction;
