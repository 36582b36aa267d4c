//! The table of calls: what came before, the call, its answer, and how many lines the ledger then holds. It is the table of
//! `adapters/barrier/tests/barrier/table.rs`, on the wire.

use crate::caller::Caller;

/// What the participant is made to do.
#[derive(Debug, Clone, Copy)]
pub enum Does {
    Succeed,
    Partly,
    Refuse,
    Fail,
}

/// One call.
#[derive(Debug, Clone, Copy)]
pub struct Op {
    pub query: bool,
    /// A command for an operation that nobody knows.
    pub unknown: bool,
    /// A command of another version of the contract.
    pub stranger: bool,
    pub undo: bool,
    pub attempt: u32,
    pub does: Does,
    pub other_input: bool,
    pub fence_through: Option<u32>,
}

use Does::{Fail, Partly, Refuse, Succeed};

/// Attempt n of the forward call.
const fn forward(attempt: u32, does: Does) -> Op {
    let (query, unknown, stranger, undo) = (false, false, false, false);
    Op { query, unknown, stranger, undo, attempt, does, other_input: false, fence_through: None }
}

/// Attempt n of the forward call, for an operation that nobody knows.
const fn unknown(attempt: u32) -> Op {
    Op { unknown: true, ..forward(attempt, Succeed) }
}

/// Attempt n of the forward call, in another version of the contract.
const fn stranger(attempt: u32) -> Op {
    Op { stranger: true, ..forward(attempt, Succeed) }
}

/// Attempt n of the compensation.
const fn undo(attempt: u32, does: Does) -> Op {
    Op { undo: true, ..forward(attempt, does) }
}

/// The same with another input.
const fn other(op: Op) -> Op {
    Op { other_input: true, ..op }
}

/// A query of the forward call, which may ask to fence.
const fn query(fence_through: Option<u32>) -> Op {
    Op { query: true, fence_through, ..forward(1, Succeed) }
}

/// A query of the compensation.
const fn query_undo(fence_through: Option<u32>) -> Op {
    Op { undo: true, ..query(fence_through) }
}

type Case = (&'static [Op], Op, &'static str, i64);

const TABLE: &[Case] = &[
    // Another input under a kept request id is a mismatch; above "after its compensation".
    (&[forward(1, Succeed)], other(forward(1, Succeed)), "mismatch mismatch", 1),
    (&[forward(1, Refuse)], other(forward(2, Succeed)), "mismatch mismatch", 0),
    (&[forward(1, Succeed), undo(1, Succeed)], other(forward(1, Succeed)), "mismatch mismatch", 2),
    (&[forward(1, Succeed), undo(1, Succeed)], other(undo(1, Succeed)), "mismatch mismatch", 2),
    (&[undo(1, Succeed)], other(undo(1, Succeed)), "mismatch mismatch", 0),
    // Nothing was kept, so there is nothing to differ from.
    (&[forward(1, Fail)], other(forward(2, Succeed)), "applied attempt 2", 1),
    (&[query(Some(1))], other(forward(2, Succeed)), "applied attempt 2", 1),
    // After its compensation a forward call is fenced without effect.
    (&[undo(1, Succeed)], forward(1, Succeed), "fenced for ever", 0),
    (&[undo(1, Succeed)], forward(99, Succeed), "fenced for ever", 0),
    (&[forward(1, Succeed), undo(1, Succeed)], forward(1, Succeed), "fenced for ever", 2),
    (&[forward(1, Refuse), undo(1, Succeed)], forward(1, Succeed), "fenced for ever", 0),
    (&[forward(1, Succeed), undo(1, Fail)], forward(2, Succeed), "applied attempt 1", 1),
    // A repeated call gets the kept answer.
    (&[forward(1, Succeed)], forward(2, Refuse), "applied attempt 1", 1),
    (&[forward(1, Partly)], forward(2, Succeed), "partial attempt 1", 1),
    (&[forward(1, Refuse)], forward(2, Succeed), "refused attempt 1", 0),
    (&[forward(1, Succeed), undo(1, Succeed)], undo(2, Succeed), "applied Undone", 2),
    (&[undo(1, Succeed)], undo(2, Succeed), "applied NothingToUndo", 0),
    (&[forward(1, Succeed), query(Some(3))], forward(2, Succeed), "applied attempt 1", 1),
    // A fence closes a request id up to an attempt, and never moves back.
    (&[query(Some(2))], forward(1, Succeed), "fenced 2", 0),
    (&[query(Some(2))], forward(2, Succeed), "fenced 2", 0),
    (&[query(Some(2))], forward(3, Succeed), "applied attempt 3", 1),
    (&[query(Some(2)), query(Some(1))], forward(2, Succeed), "fenced 2", 0),
    (&[forward(1, Succeed), query_undo(Some(1))], undo(1, Succeed), "fenced 1", 1),
    (&[forward(1, Succeed), query_undo(Some(1))], undo(2, Succeed), "applied Undone", 2),
    // An attempt that was answered without effect is closed out: it is answered so again, and later ones run.
    (&[forward(1, Fail)], forward(1, Succeed), "transient gateway-down", 0),
    (&[forward(2, Fail)], forward(1, Succeed), "transient gateway-down", 0),
    (&[forward(2, Fail)], forward(2, Succeed), "transient gateway-down", 0),
    (&[forward(2, Fail)], forward(3, Succeed), "applied attempt 3", 1),
    (&[forward(2, Fail)], other(forward(2, Succeed)), "transient gateway-down", 0),
    (&[unknown(1), forward(2, Fail)], forward(1, Succeed), "transient gateway-down", 0),
    (&[forward(1, Fail), forward(2, Succeed)], forward(1, Fail), "applied attempt 2", 1),
    (&[forward(1, Fail), query(Some(1))], forward(1, Succeed), "transient gateway-down", 0),
    (&[forward(1, Fail), query(Some(2))], forward(1, Succeed), "fenced 2", 0),
    (&[forward(1, Fail), query(Some(2))], forward(2, Succeed), "fenced 2", 0),
    (&[forward(2, Fail)], query(Some(1)), "fenced 2", 0),
    (&[unknown(1)], forward(1, Succeed), "persistent no-such-operation", 0),
    (&[unknown(1)], forward(2, Succeed), "applied attempt 2", 1),
    (&[stranger(1)], forward(1, Succeed), "persistent protocol", 0),
    (&[stranger(1)], forward(2, Succeed), "applied attempt 2", 1),
    // What is kept is answered by whoever would have failed.
    (&[forward(1, Succeed)], unknown(1), "applied attempt 1", 1),
    (&[forward(1, Refuse)], stranger(1), "refused attempt 1", 0),
    (&[undo(1, Succeed)], unknown(1), "fenced for ever", 0),
    (&[forward(1, Succeed)], other(unknown(1)), "mismatch mismatch", 1),
    // A compensation is not closed out: its next attempt is told what is kept.
    (&[forward(1, Succeed), undo(1, Fail)], undo(1, Succeed), "applied Undone", 2),
    // A first call runs, and keeps what it says.
    (&[], forward(1, Succeed), "applied attempt 1", 1),
    (&[], forward(1, Partly), "partial attempt 1", 1),
    (&[], forward(1, Refuse), "refused attempt 1", 0),
    (&[], forward(1, Fail), "transient gateway-down", 0),
    (&[query(None)], forward(1, Succeed), "applied attempt 1", 1),
    // A compensation undoes what took effect and nothing else.
    (&[], undo(1, Succeed), "applied NothingToUndo", 0),
    (&[forward(1, Fail)], undo(1, Succeed), "applied NothingToUndo", 0),
    (&[forward(1, Refuse)], undo(1, Succeed), "applied NothingToUndo", 0),
    (&[query(Some(4))], undo(1, Succeed), "applied NothingToUndo", 0),
    (&[forward(1, Partly)], undo(1, Succeed), "applied Undone", 2),
    (&[forward(1, Succeed)], undo(1, Fail), "transient gateway-down", 1),
    (&[forward(1, Succeed), undo(1, Fail)], undo(2, Succeed), "applied Undone", 2),
    // A query finds the kept answer, else fences if it is asked to, else says absent.
    (&[forward(1, Succeed)], query(None), "applied attempt 1", 1),
    (&[forward(1, Partly)], query(Some(1)), "partial attempt 1", 1),
    (&[forward(1, Refuse)], query(Some(1)), "refused attempt 1", 0),
    (&[forward(1, Succeed), undo(1, Succeed)], query(None), "applied attempt 1", 2),
    (&[forward(1, Succeed), undo(1, Succeed)], query_undo(None), "applied Undone", 2),
    (&[undo(1, Succeed)], query_undo(Some(1)), "applied NothingToUndo", 0),
    (&[], query(None), "absent", 0),
    (&[forward(1, Fail)], query(None), "absent", 0),
    (&[query(Some(1))], query(None), "absent", 0),
    (&[], query(Some(1)), "fenced 1", 0),
    (&[query(Some(3))], query(Some(1)), "fenced 3", 0),
    (&[undo(1, Succeed)], query(Some(1)), "fenced for ever", 0),
    (&[forward(1, Succeed)], query_undo(None), "absent", 1),
];

/// Holds a participant against the table.
pub async fn check(caller: &Caller) {
    for (number, (before, op, answer, lines)) in TABLE.iter().enumerate() {
        let case = format!("case-{number}");
        for earlier in *before {
            caller.deliver(&case, *earlier).await;
        }
        assert_eq!(caller.deliver(&case, *op).await, *answer, "{op:?} after {before:?}");
        assert_eq!(caller.lines(&case).await, *lines, "ledger after {before:?} and {op:?}");
    }
}
