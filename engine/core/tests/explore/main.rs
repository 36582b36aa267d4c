//! The machine explored state by state: every shape of a small workflow, everything the world can do to it.
//!
//! A search over distinct states. In each of them the world makes every move that the machine takes: every
//! answer of a running attempt, every finding of a query, news of attempts long over, a takeover, the next
//! timer, and every verb of a person. What goes well is free; everything else is one *trouble*, and a state is
//! explored with the fewest troubles that lead to it. Every new state keeps the laws ([`invariants`]), comes
//! back from its journal, and must have a way to an end on which nothing more goes wrong (liveness).
//!
//! The bounds, and what they hide:
//! - A path has at most as many troubles as the table says (`troubles`), whatever their kinds. What takes more
//!   faults than that to show is left to chance (`tests/it/laws.rs`).
//! - A budget has two attempts and two queries: rules that need a third (the doubling of delays up to their
//!   cap) are not seen here but in `tests/it/retry.rs`.
//! - Time passes only to the next timer, or not at all: a clock that jumps past several of them at once is left
//!   to chance.
//! - Times count by their order alone, and so do states that differ only in who owns the saga or in what persons
//!   were answered: repeating a one-time operation id is tested in `tests/it/person.rs`.
//! - A state that two paths lead to is explored from the first. The laws are told from the journal of that path;
//!   `EXPLORE=long` holds every other path against them too.
//! - Notes on desk items, sending again with an override and a requested compensation by policy are not asked
//!   for: they differ from what is asked for in a name only, or in who approved.
//! - Steps that the shape does not tell apart are merged, so that they have the same kind and settle alike.
//!
//! `EXPLORE=long cargo test --release -p amends-core --test explore -- --nocapture` goes one trouble further,
//! without a cut, and explores the shapes of four steps. What it counts it prints; only the short run is kept.

#[path = "../it/invariants.rs"]
mod invariants;
#[path = "../it/plan_text.rs"]
mod plan_text;
#[path = "../it/script.rs"]
#[expect(dead_code, reason = "shared with the other tests; here no script is read")]
mod script;
#[path = "../it/story.rs"]
#[expect(dead_code, reason = "shared with the other tests")]
mod story;

mod key;
mod moves;
mod search;
mod shapes;
