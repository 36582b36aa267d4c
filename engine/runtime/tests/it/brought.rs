//! Replies to a saga in memory become durable with the transition that decides them, and mean what they mean by mail.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use amends::core::event::{Failure, FailureKind, Recorded};
use amends::core::machine::Attempted;
use amends::core::plan::Settle;
use amends::core::{ActionId, Json, RequestId, SagaId};
use amends::engine::Reply;
use amends::memory::MemoryStore;
use amends::ports::{RandomIds, SagaMail as _, SagaQuery as _, Store, WORK_ITEM_TEXT_BYTES_MAX};
use amends::{Engine, Limits, Outcome, SagaHandle};
use uuid::Uuid;

use crate::gate::GatedStore;
use crate::workflow::{
    Log, Step, begin, builder, engine, failure, next_engine, pass, step, timeline, workflow,
};

/// A step whose outcome nobody knows but who replies.
fn lost(name: &'static str, log: &Log) -> Step {
    step(name, log)
        .plan(|plan| plan.settle = Settle::ByOperator)
        .runs(|_| async { Attempted::Unknown(failure(FailureKind::Unknown, "lost")) })
}

fn value(text: &str) -> Recorded {
    Recorded::Value(Json::parse(text).unwrap())
}

fn success() -> Attempted {
    Attempted::Succeeded(value("7"))
}

fn request(saga: SagaId, step: &'static str) -> RequestId {
    ActionId::forward(step).request_id(saga)
}

async fn reply(engine: &Engine, saga: SagaId, attempt: u32, answer: Attempted) -> Reply {
    engine.reply(saga, request(saga, "a"), Some(attempt), answer, "broker").await.unwrap()
}

/// An engine on a store with a gate, and its saga, which waits for a reply.
async fn waiting(limits: Limits) -> (Arc<GatedStore>, Engine, SagaHandle) {
    let (store, log) = (GatedStore::new(), Log::default());
    let definition = workflow(vec![lost("a", &log)]);
    let engine = builder(&store, &definition).limits(limits).start().await.unwrap();
    let saga = begin(&engine, "k").await;
    saga.settled().await.unwrap();
    (store, engine, saga)
}

fn brings(engine: &Engine, saga: SagaId, attempt: u32, answer: Attempted) -> tokio::task::JoinHandle<Reply> {
    let engine = engine.clone();
    tokio::spawn(async move { reply(&engine, saga, attempt, answer).await })
}

/// A code is somebody else's text: whatever it holds, and however long it is, the saga goes to a person and not aside.
#[tokio::test(start_paused = true)]
async fn a_reply_with_a_code_that_no_index_takes_is_recorded_and_shown() {
    let (store, engine, saga) = waiting(Limits::default()).await;
    let code = format!("a\0b{}", "é".repeat(5_000));
    let failure = Failure { message: "\0".to_owned(), ..failure(FailureKind::Persistent, &code) };
    reply(&engine, saga.id(), 1, Attempted::Persistent(failure)).await;
    saga.settled().await.unwrap();
    let view = saga.view().await.unwrap();
    let known = view.desk[0].failure.as_ref().unwrap();
    assert!(known.code.starts_with("a\u{fffd}bé") && known.message == "\u{fffd}", "{known:?}");
    let desk = store.desk(10).await.unwrap();
    let [(_, row)] = &desk[..] else { panic!("{desk:?}") };
    let shown = row.error_code.as_deref().unwrap();
    assert!(shown.starts_with("a\u{fffd}bé") && shown.len() <= WORK_ITEM_TEXT_BYTES_MAX, "{shown}");
    assert!(row.fingerprint.len() <= 3 * WORK_ITEM_TEXT_BYTES_MAX, "{}", row.fingerprint);
}

/// How many mails were posted, how many there are, and how many of them are decided.
async fn mail(store: &GatedStore, saga: SagaId) -> (u32, usize, usize) {
    let all = store.inner.mail_of(saga, 100).await.unwrap();
    let decided = all.iter().filter(|mail| mail.consumed_seq.is_some() && mail.answer.is_some()).count();
    (store.posts.load(Ordering::SeqCst), all.len(), decided)
}

#[tokio::test(start_paused = true)]
async fn a_reply_to_a_saga_in_memory_is_one_commit_and_is_kept_as_mail_is() {
    let (store, engine, saga) = waiting(Limits::default()).await;
    let batches = store.batches.lock().unwrap().len();
    assert_eq!(reply(&engine, saga.id(), 1, success()).await, Reply::Taken);
    assert_eq!(store.batches.lock().unwrap().len(), batches + 1);
    assert_eq!(mail(&store, saga.id()).await, (0, 1, 1), "nothing was posted");
    assert_eq!(saga.outcome().await.unwrap(), Outcome::Completed(Json::parse("7").unwrap()));
    assert_eq!(reply(&engine, saga.id(), 1, success()).await, Reply::TakenBefore, "after its end too");
    assert_eq!(mail(&store, saga.id()).await.1, 1);
}

#[tokio::test(start_paused = true)]
async fn whoever_brings_a_reply_is_answered_once_it_is_durable() {
    let (store, engine, saga) = waiting(Limits::default()).await;
    store.close();
    let brought = brings(&engine, saga.id(), 1, success());
    pass(Duration::from_millis(900)).await;
    assert!(!brought.is_finished(), "it is decided, and not durable");
    store.open();
    assert_eq!(brought.await.unwrap(), Reply::Taken);
    assert_eq!(mail(&store, saga.id()).await, (0, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_waits_for_long_is_posted_and_its_transition_consumes_the_post() {
    let (store, engine, saga) = waiting(Limits::default()).await;
    store.close();
    assert_eq!(brings(&engine, saga.id(), 1, success()).await.unwrap(), Reply::Taken);
    assert_eq!(mail(&store, saga.id()).await, (1, 1, 0), "durable, and not decided");
    assert_eq!(reply(&engine, saga.id(), 1, success()).await, Reply::TakenBefore);
    store.open();
    assert!(matches!(saga.outcome().await, Ok(Outcome::Completed(_))));
    pass(Duration::from_secs(5)).await;
    assert_eq!(mail(&store, saga.id()).await, (2, 1, 1));
    assert_eq!(store.inner.read(saga.id()).await.unwrap().unwrap().journal.len(), 3, "decided once");
}

#[tokio::test(start_paused = true)]
async fn many_copies_of_a_reply_at_once_are_taken_once() {
    let (store, engine, saga) = waiting(Limits::default()).await;
    store.close();
    let copies: Vec<_> = (0..8).map(|_| brings(&engine, saga.id(), 1, success())).collect();
    pass(Duration::from_millis(100)).await;
    assert!(copies.iter().all(|copy| !copy.is_finished()), "none is answered before it is durable");
    store.open();
    let mut taken = 0;
    for copy in copies {
        taken += u32::from(copy.await.unwrap() == Reply::Taken);
    }
    assert_eq!((taken, mail(&store, saga.id()).await), (1, (0, 1, 1)));
    assert_eq!(store.inner.read(saga.id()).await.unwrap().unwrap().journal.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn no_more_replies_wait_in_memory_than_may_wait_unread() {
    let (store, engine, saga) = waiting(Limits { mail_open_max: 2, ..Limits::default() }).await;
    store.close();
    let brought: Vec<_> = (1..=3).map(|n| brings(&engine, saga.id(), n, success())).collect();
    pass(Duration::from_millis(100)).await;
    assert_eq!(mail(&store, saga.id()).await, (1, 1, 0), "the third went by mail at once");
    store.open();
    for brought in brought {
        assert_eq!(brought.await.unwrap(), Reply::Taken);
    }
    pass(Duration::from_secs(2)).await;
    assert_eq!(mail(&store, saga.id()).await, (1, 3, 3));

    let (store, engine, saga) = waiting(Limits::default()).await;
    store.close();
    let large = Attempted::Succeeded(Recorded::Value(Json::encode(&"x".repeat(700_000)).unwrap()));
    let brought: Vec<_> = (1..=2).map(|n| brings(&engine, saga.id(), n, large.clone())).collect();
    pass(Duration::from_millis(100)).await;
    assert_eq!(mail(&store, saga.id()).await, (1, 1, 0), "nor more bytes than one largest reply");
    store.open();
    for brought in brought {
        assert_eq!(brought.await.unwrap(), Reply::Taken);
    }
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_meets_the_commit_that_gives_its_saga_up_goes_by_mail() {
    let (store, engine, saga) = waiting(Limits::default()).await;
    store.close();
    let ending = brings(&engine, saga.id(), 1, success());
    pass(Duration::from_millis(10)).await;
    let refused = Attempted::Refused(value("\"no\""));
    let late = brings(&engine, saga.id(), 1, refused);
    pass(Duration::from_millis(10)).await;
    assert_eq!(late.await.unwrap(), Reply::Taken);
    assert_eq!(mail(&store, saga.id()).await, (1, 1, 0));
    store.open();
    assert_eq!(ending.await.unwrap(), Reply::Taken);
    pass(Duration::from_secs(2)).await;
    assert_eq!(mail(&store, saga.id()).await, (1, 2, 2), "the saga was taken up for it");
    assert!(!saga.view().await.unwrap().desk.is_empty(), "it contradicts what is recorded");
}

#[tokio::test(start_paused = true)]
async fn a_reply_whose_transition_is_refused_is_posted_and_decided_once() {
    let (store, engine, saga) = waiting(Limits::default()).await;
    *store.occupy.lock().unwrap() = Some(3);
    assert_eq!(reply(&engine, saga.id(), 1, success()).await, Reply::Taken);
    assert_eq!(mail(&store, saga.id()).await.0, 1, "nothing of the refused transition stands");
    assert!(matches!(saga.outcome().await, Ok(Outcome::Completed(_))));
    assert_eq!(mail(&store, saga.id()).await, (1, 1, 1));
    assert_eq!(timeline(&saga).await.matches("a succeeded").count(), 1, "{}", timeline(&saga).await);
}

#[tokio::test(start_paused = true)]
async fn a_reply_to_an_engine_that_dies_before_its_commit_is_durable_all_the_same() {
    let (store, log) = (GatedStore::new(), Log::default());
    let definition = workflow(vec![lost("a", &log)]);
    let first = engine(&store, &definition).await;
    let saga = begin(&first, "k").await;
    saga.settled().await.unwrap();
    store.close();
    let brought = brings(&first, saga.id(), 1, success());
    pass(Duration::from_millis(100)).await;
    first.abort().await;
    assert_eq!(brought.await.unwrap(), Reply::Taken);
    assert_eq!(mail(&store, saga.id()).await, (1, 1, 0));
    store.open();
    let second = next_engine(&store, &definition).await;
    let saga = second.find("w", "k").await.unwrap().unwrap();
    assert!(matches!(saga.outcome().await, Ok(Outcome::Completed(_))));
    assert_eq!(mail(&store, saga.id()).await, (1, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_reply_whose_commit_lost_its_answer_is_taken_once_and_known_to_the_next_process() {
    let (store, log) = (GatedStore::new(), Log::default());
    let definition = workflow(vec![lost("a", &log), lost("b", &log)]);
    let first = engine(&store, &definition).await;
    let saga = begin(&first, "k").await;
    saga.settled().await.unwrap();
    store.lost_answers.store(2, Ordering::SeqCst);
    assert_eq!(reply(&first, saga.id(), 1, success()).await, Reply::Taken);
    assert_eq!(mail(&store, saga.id()).await, (0, 1, 1));
    first.abort().await;

    let second = next_engine(&store, &definition).await;
    pass(Duration::from_secs(2)).await;
    let rows = store.counts().await.unwrap().journal_rows;
    assert_eq!(reply(&second, saga.id(), 1, success()).await, Reply::TakenBefore);
    assert_eq!(store.counts().await.unwrap().journal_rows, rows, "and nothing is decided");
    let news = second.reply(saga.id(), request(saga.id(), "b"), Some(1), success(), "broker").await;
    assert_eq!(news, Ok(Reply::Taken));
    assert_eq!(mail(&store, saga.id()).await, (0, 2, 2), "a saga that was loaded takes what is new at once");
    let saga = second.find("w", "k").await.unwrap().unwrap();
    assert!(matches!(saga.outcome().await, Ok(Outcome::Completed(_))));
}

/// What is left of a saga: its journal and its mail, without what tells when and under which ids.
async fn left(store: &impl Store, saga: SagaId) -> Vec<String> {
    let journal = store.read(saga).await.unwrap().unwrap().journal;
    let rows = journal.iter().map(|row| format!("{} {} {}", row.seq, row.actor, without_times(&row.events)));
    let mut mail: Vec<String> = store
        .mail_of(saga, 100)
        .await
        .unwrap()
        .iter()
        .map(|mail| format!("{} {} {:?} {:?}", mail.mail.key, mail.mail.body, mail.consumed_seq, mail.answer))
        .collect();
    mail.sort();
    rows.chain(mail).collect()
}

/// Microseconds since 1970 have sixteen digits.
fn without_times(events: &str) -> String {
    events
        .split(|c: char| !c.is_ascii_digit())
        .filter(|digits| digits.len() == 16)
        .fold(events.to_owned(), |text, time| text.replace(time, "T"))
}

/// The same replies, one after the other, brought to the owner or to another node, which can only post them.
async fn told(
    replies: &[(&'static str, Option<u32>, Attempted)],
    to_owner: bool,
) -> (Vec<Reply>, Vec<String>) {
    let (store, log) = (Arc::new(MemoryStore::shared()), Log::default());
    let definition = workflow(vec![lost("a", &log), lost("b", &log), step("c", &log).after(&["a", "b"])]);
    let node = |seed| builder(&store, &definition).ids(Arc::new(RandomIds::seeded(seed)));
    let owner = node(1).start().await.unwrap();
    let saga = begin(&owner, "k").await.id();
    let other = node(2).start().await.unwrap();
    pass(Duration::from_secs(1)).await;
    let mut taken = Vec::new();
    for (step, attempt, answer) in replies {
        let engine = if to_owner { &owner } else { &other };
        let request = if *step == "nobody" { RequestId(Uuid::nil()) } else { request(saga, step) };
        taken.push(engine.reply(saga, request, *attempt, answer.clone(), "broker").await.unwrap());
        pass(Duration::from_secs(2)).await;
    }
    let nodes = [owner, other].map(|engine| engine.incarnation().to_string());
    let unnamed = |line: String| nodes.iter().fold(line, |line, node| line.replace(node, "N"));
    (taken, left(&*store, saga).await.into_iter().map(unnamed).collect())
}

#[tokio::test(start_paused = true)]
async fn a_reply_means_the_same_by_either_way() {
    let mut chance = fastrand::Rng::with_seed(7);
    let answers = [
        success(),
        success(),
        Attempted::Succeeded(value("8")),
        Attempted::Succeeded(value("\"not its output\"")),
        Attempted::Refused(value("\"no\"")),
        Attempted::Transient(failure(FailureKind::Transient, "busy")),
        Attempted::Unknown(failure(FailureKind::Unknown, "lost")),
        Attempted::Accepted { wait: None },
        Attempted::Partial(None),
    ];
    for round in 0..60 {
        let replies: Vec<_> = (0..6)
            .map(|_| {
                let step = ["a", "a", "a", "b", "nobody"][chance.usize(..5)];
                (
                    step,
                    [None, Some(1), Some(1), Some(2)][chance.usize(..4)],
                    chance.choice(&answers).unwrap().clone(),
                )
            })
            .collect();
        let (brought, posted) = (told(&replies, true).await, told(&replies, false).await);
        assert_eq!(brought, posted, "round {round}: {replies:?}");
    }
}
