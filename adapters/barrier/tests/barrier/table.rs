//! Every row of the barrier's table, from the top: what came before, the call, its answer, and how many
//! lines the ledger then holds.

use amends_barrier::Closing;

use crate::service::{Does, FORWARD, Service, UNDO, call, other_input};

/// One thing that reaches the service.
#[derive(Debug, Clone, Copy)]
enum Op {
    /// Attempt n of the forward call.
    Forward(u32, Does),
    /// The same with another input.
    OtherForward(u32, Does),
    /// Attempt n of the compensation.
    Undo(u32, Does),
    OtherUndo(u32, Does),
    /// A query of the forward call, which may ask to fence.
    Query(Option<u32>),
    QueryUndo(Option<u32>),
    /// Attempt n of the forward call is closed out.
    Close(u32),
    /// The same with another input, and where the input cannot be told.
    OtherClose(u32),
    BlindClose(u32),
}

use Does::{Fail, Partly, Refuse, Succeed};
use Op::{BlindClose, Close, Forward, OtherClose, OtherForward, OtherUndo, Query, QueryUndo, Undo};

/// The answer as a person would write it down: short, and the same for calls and queries.
async fn deliver(service: &Service, op: Op) -> String {
    let answer = match op {
        Forward(attempt, does) => format!("{:?}", service.forward(call(FORWARD, attempt), does).await),
        OtherForward(attempt, does) => {
            format!("{:?}", service.forward(other_input(call(FORWARD, attempt)), does).await)
        }
        Undo(attempt, does) => {
            format!("{:?}", service.compensate(call(UNDO, attempt), FORWARD, does).await)
        }
        OtherUndo(attempt, does) => {
            format!("{:?}", service.compensate(other_input(call(UNDO, attempt)), FORWARD, does).await)
        }
        Query(fence) => format!("{:?}", service.query(FORWARD, fence).await),
        Close(attempt) => format!("{:?}", service.close_out(call(FORWARD, attempt).into()).await),
        OtherClose(attempt) => {
            format!("{:?}", service.close_out(other_input(call(FORWARD, attempt)).into()).await)
        }
        BlindClose(attempt) => {
            let closing = Closing { input_digest: None, ..call(FORWARD, attempt).into() };
            format!("{:?}", service.close_out(closing).await)
        }
        QueryUndo(fence) => format!("{:?}", service.query_compensation(UNDO, fence).await),
    };
    answer.replace('"', "'")
}

/// (what came before, the call, its answer, lines in the ledger)
type Case = (&'static [Op], Op, &'static str, i64);

async fn check(cases: &[Case]) {
    for (before, op, answer, lines) in cases {
        let service = Service::start().await;
        for earlier in *before {
            deliver(&service, *earlier).await;
        }
        assert_eq!(deliver(&service, *op).await, *answer, "{op:?} after {before:?}");
        assert_eq!(service.count("ledger").await, *lines, "ledger after {before:?} and {op:?}");
    }
}

#[tokio::test]
async fn another_input_under_a_kept_request_id_is_a_mismatch() {
    check(&[
        (&[Forward(1, Succeed)], OtherForward(1, Succeed), "Ok(Mismatch)", 1),
        (&[Forward(1, Refuse)], OtherForward(2, Succeed), "Ok(Mismatch)", 1),
        // Above "after its compensation", as the table has it.
        (&[Forward(1, Succeed), Undo(1, Succeed)], OtherForward(1, Succeed), "Ok(Mismatch)", 2),
        (&[Forward(1, Succeed), Undo(1, Succeed)], OtherUndo(1, Succeed), "Ok(Mismatch)", 2),
        (&[Undo(1, Succeed)], OtherUndo(1, Succeed), "Ok(Mismatch)", 0),
        // Nothing was kept, so there is nothing to differ from.
        (&[Forward(1, Fail)], OtherForward(2, Succeed), "Ok(Kept(Success('attempt 2')))", 1),
        (&[Query(Some(1))], OtherForward(2, Succeed), "Ok(Kept(Success('attempt 2')))", 1),
    ])
    .await;
}

#[tokio::test]
async fn a_forward_call_after_its_compensation_is_fenced_without_effect() {
    check(&[
        // The compensation overtook the call that it undoes.
        (&[Undo(1, Succeed)], Forward(1, Succeed), "Ok(Fenced(ForEver))", 0),
        (&[Undo(1, Succeed)], Forward(99, Succeed), "Ok(Fenced(ForEver))", 0),
        (&[Undo(1, Succeed), Undo(2, Succeed)], Forward(1, Succeed), "Ok(Fenced(ForEver))", 0),
        // Above "an answer is kept": what was undone is not reported as done.
        (&[Forward(1, Succeed), Undo(1, Succeed)], Forward(1, Succeed), "Ok(Fenced(ForEver))", 2),
        (&[Forward(1, Refuse), Undo(1, Succeed)], Forward(1, Succeed), "Ok(Fenced(ForEver))", 1),
        // A compensation that failed has not been.
        (&[Forward(1, Succeed), Undo(1, Fail)], Forward(2, Succeed), "Ok(Kept(Success('attempt 1')))", 1),
    ])
    .await;
}

#[tokio::test]
async fn a_repeated_call_gets_the_kept_answer() {
    check(&[
        (&[Forward(1, Succeed)], Forward(2, Refuse), "Ok(Kept(Success('attempt 1')))", 1),
        (&[Forward(1, Partly)], Forward(2, Succeed), "Ok(Kept(Partial(Some('attempt 1'))))", 1),
        (&[Forward(1, Refuse)], Forward(1, Succeed), "Ok(Kept(Refused('attempt 1')))", 1),
        (&[Forward(1, Succeed), Undo(1, Succeed)], Undo(2, Succeed), "Ok(Kept(Undone))", 2),
        (&[Undo(1, Succeed)], Undo(1, Succeed), "Ok(Kept(NothingToUndo))", 0),
        // Above "attempt ≤ fenced": a query that found an answer fenced nothing.
        (&[Forward(1, Succeed), Query(Some(3))], Forward(2, Succeed), "Ok(Kept(Success('attempt 1')))", 1),
    ])
    .await;
}

#[tokio::test]
async fn a_fence_closes_a_request_id_up_to_an_attempt() {
    check(&[
        (&[Query(Some(2))], Forward(1, Succeed), "Ok(Fenced(Through(2)))", 0),
        (&[Query(Some(2))], Forward(2, Succeed), "Ok(Fenced(Through(2)))", 0),
        (&[Query(Some(2))], Forward(3, Succeed), "Ok(Kept(Success('attempt 3')))", 1),
        (&[Query(Some(2)), Forward(3, Fail)], Forward(2, Succeed), "Ok(Fenced(Through(2)))", 0),
        (&[Query(Some(1)), Query(Some(2))], Forward(2, Succeed), "Ok(Fenced(Through(2)))", 0),
        // A fence never moves back.
        (&[Query(Some(2)), Query(Some(1))], Forward(2, Succeed), "Ok(Fenced(Through(2)))", 0),
        // What a query said of a compensation's attempts holds as well.
        (&[Forward(1, Succeed), QueryUndo(Some(1))], Undo(1, Succeed), "Ok(Fenced(Through(1)))", 1),
        (&[Forward(1, Succeed), QueryUndo(Some(1))], Undo(2, Succeed), "Ok(Kept(Undone))", 2),
    ])
    .await;
}

#[tokio::test]
async fn an_attempt_that_was_closed_out_is_answered_so_again_and_later_ones_run() {
    check(&[
        (&[], Close(1), "Ok(ClosedOut('busy 1'))", 0),
        (&[Forward(1, Fail), Close(1)], Forward(1, Succeed), "Ok(ClosedOut('busy 1'))", 0),
        (&[Close(1)], OtherForward(1, Succeed), "Ok(ClosedOut('busy 1'))", 0),
        (&[Close(2)], Forward(1, Succeed), "Ok(ClosedOut('busy 2'))", 0),
        (&[Close(2)], Forward(2, Succeed), "Ok(ClosedOut('busy 2'))", 0),
        (&[Close(2)], Forward(3, Succeed), "Ok(Kept(Success('attempt 3')))", 1),
        (&[BlindClose(1)], Forward(1, Succeed), "Ok(ClosedOut('busy 1'))", 0),
        // The later one is what the fence stands at, and its words are those that are kept.
        (&[Close(1), Close(2)], Forward(1, Succeed), "Ok(ClosedOut('busy 2'))", 0),
        (&[Close(2), Close(1)], Forward(2, Succeed), "Ok(ClosedOut('busy 2'))", 0),
        (&[Close(2)], Close(1), "Ok(ClosedOut('busy 2'))", 0),
        (&[Close(1), Query(Some(1))], Forward(1, Succeed), "Ok(ClosedOut('busy 1'))", 0),
        (&[Close(1), Query(Some(2))], Forward(1, Succeed), "Ok(Fenced(Through(2)))", 0),
        (&[Close(1), Query(Some(2))], Forward(2, Succeed), "Ok(Fenced(Through(2)))", 0),
        (&[Close(1), Undo(1, Succeed)], Forward(1, Succeed), "Ok(Fenced(ForEver))", 0),
        // To a query it is a fence like any other, and to a compensation nothing at all.
        (&[Close(2)], Query(None), "Ok(Absent)", 0),
        (&[Close(2)], Query(Some(1)), "Ok(Fenced(Through(2)))", 0),
        (&[Close(2)], Undo(1, Succeed), "Ok(Kept(NothingToUndo))", 0),
        // A query's fence is enough.
        (&[Query(Some(2))], Close(1), "Ok(ClosedOut('busy 1'))", 0),
        (&[Query(Some(2)), Close(1)], Forward(1, Succeed), "Ok(Fenced(Through(2)))", 0),
        (&[Query(Some(2)), Close(2)], Forward(2, Succeed), "Ok(ClosedOut('busy 2'))", 0),
    ])
    .await;
}

#[tokio::test]
async fn closing_an_attempt_out_gives_what_another_hand_did_meanwhile() {
    check(&[
        (&[Forward(1, Succeed)], Close(1), "Ok(Kept(Success('attempt 1')))", 1),
        (&[Forward(1, Partly)], Close(1), "Ok(Kept(Partial(Some('attempt 1'))))", 1),
        (&[Forward(1, Refuse)], Close(1), "Ok(Kept(Refused('attempt 1')))", 1),
        (&[Forward(2, Succeed)], Close(1), "Ok(Kept(Success('attempt 2')))", 1),
        (&[Close(1), Forward(2, Succeed)], Close(1), "Ok(Kept(Success('attempt 2')))", 1),
        (&[Forward(1, Succeed)], OtherClose(1), "Ok(Mismatch)", 1),
        (&[Forward(1, Succeed)], BlindClose(1), "Ok(Kept(Success('attempt 1')))", 1),
        // Of a call that took effect and was undone, "no effect" would be a lie.
        (&[Forward(1, Succeed), Undo(1, Succeed)], Close(1), "Ok(Fenced(ForEver))", 2),
        (&[Forward(1, Succeed), Undo(1, Succeed)], BlindClose(1), "Ok(Fenced(ForEver))", 2),
        (&[Undo(1, Succeed)], Close(1), "Ok(Fenced(ForEver))", 0),
    ])
    .await;
}

#[tokio::test]
async fn a_first_forward_call_runs_and_keeps_what_it_says() {
    check(&[
        (&[], Forward(1, Succeed), "Ok(Kept(Success('attempt 1')))", 1),
        (&[], Forward(1, Partly), "Ok(Kept(Partial(Some('attempt 1'))))", 1),
        (&[], Forward(1, Refuse), "Ok(Kept(Refused('attempt 1')))", 1),
        (&[], Forward(1, Fail), "Err(NotNow)", 0),
        (&[Forward(1, Fail)], Forward(1, Succeed), "Ok(Kept(Success('attempt 1')))", 1),
        (&[Query(None)], Forward(1, Succeed), "Ok(Kept(Success('attempt 1')))", 1),
    ])
    .await;
}

#[tokio::test]
async fn a_compensation_undoes_what_took_effect_and_nothing_else() {
    check(&[
        (&[], Undo(1, Succeed), "Ok(Kept(NothingToUndo))", 0),
        (&[Forward(1, Fail)], Undo(1, Succeed), "Ok(Kept(NothingToUndo))", 0),
        (&[Forward(1, Refuse)], Undo(1, Succeed), "Ok(Kept(NothingToUndo))", 1),
        (&[Query(Some(4))], Undo(1, Succeed), "Ok(Kept(NothingToUndo))", 0),
        (&[Forward(1, Succeed)], Undo(1, Succeed), "Ok(Kept(Undone))", 2),
        (&[Forward(1, Partly)], Undo(1, Succeed), "Ok(Kept(Undone))", 2),
        (&[Forward(1, Succeed)], Undo(1, Fail), "Err(NotNow)", 1),
        (&[Forward(1, Succeed), Undo(1, Fail)], Undo(2, Succeed), "Ok(Kept(Undone))", 2),
    ])
    .await;
}

#[tokio::test]
async fn a_query_finds_the_kept_answer() {
    check(&[
        (&[Forward(1, Succeed)], Query(None), "Ok(Kept(Success('attempt 1')))", 1),
        (&[Forward(1, Partly)], Query(Some(1)), "Ok(Kept(Partial(Some('attempt 1'))))", 1),
        (&[Forward(1, Refuse)], Query(Some(1)), "Ok(Kept(Refused('attempt 1')))", 1),
        (&[Forward(1, Succeed), Undo(1, Succeed)], Query(None), "Ok(Kept(Success('attempt 1')))", 2),
        (&[Forward(1, Succeed), Undo(1, Succeed)], QueryUndo(None), "Ok(Kept(Undone))", 2),
        (&[Undo(1, Succeed)], QueryUndo(Some(1)), "Ok(Kept(NothingToUndo))", 0),
    ])
    .await;
}

#[tokio::test]
async fn a_query_that_finds_nothing_fences_if_asked_and_else_says_absent() {
    check(&[
        (&[], Query(None), "Ok(Absent)", 0),
        (&[Forward(1, Fail)], Query(None), "Ok(Absent)", 0),
        (&[Query(Some(1))], Query(None), "Ok(Absent)", 0),
        (&[], Query(Some(1)), "Ok(Fenced(Through(1)))", 0),
        (&[Query(Some(3))], Query(Some(1)), "Ok(Fenced(Through(3)))", 0),
        (&[Undo(1, Succeed)], Query(Some(1)), "Ok(Fenced(ForEver))", 0),
        (&[Forward(1, Succeed)], QueryUndo(None), "Ok(Absent)", 1),
        (&[Forward(1, Succeed), Undo(1, Fail)], QueryUndo(Some(1)), "Ok(Fenced(Through(1)))", 1),
    ])
    .await;
}
