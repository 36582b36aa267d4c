//! What is asked of a saga is durable before it is decided, is decided once, and is answered from anywhere.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use amends::Outcome;
use amends::core::event::{FailureKind, Recorded};
use amends::core::machine::Attempted;
use amends::core::plan::Settle;
use amends::core::{ActionId, Json, Rejected, SagaId, Timestamp};
use amends::engine::{Reply, ReplyError};
use amends::memory::MemoryStore;
use amends::operator::{Answer, By, OperateError};
use amends::ports::{MAIL_OPEN_MAX, Mail, MailKind, Posted, SagaMail as _, SagaQuery as _};
use amends::{Limits, SagaHandle};
use expect_test::expect;
use uuid::Uuid;

use crate::gate::GatedStore;
use crate::workflow::{
    Log, Step, begin, builder, done, engine, failure, next_engine, operation, pass, step, timeline, workflow,
};

fn ann(id: &str) -> By {
    By::new("ann", "a test", id)
}

/// A step that fails for good at its first attempt and succeeds at the second.
fn fails_once(name: &'static str, log: &Log) -> Step {
    step(name, log).runs(|cx| async move {
        match cx.attempt() {
            1 => Attempted::Persistent(failure(FailureKind::Persistent, "credential")),
            _ => done(),
        }
    })
}

/// As another node posts it: this engine hears nothing of it.
fn elsewhere(saga: SagaId, n: u128, key: &str, body: &str) -> Mail {
    Mail {
        id: Uuid::from_u128(n),
        saga,
        kind: MailKind::Operator,
        key: key.into(),
        actor: "bob".into(),
        posted_at: Timestamp(1),
        body: body.to_owned(),
    }
}

async fn on_desk(saga: &SagaHandle) {
    saga.settled().await.unwrap();
    assert!(!saga.view().await.unwrap().desk.is_empty());
}

#[tokio::test(start_paused = true)]
async fn one_operation_from_two_handles_is_done_once_and_answered_alike() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let definition = workflow(vec![fails_once("a", &log)]);
    let first = engine(&store, &definition).await;
    let saga = begin(&first, "k").await;
    on_desk(&saga).await;
    let action = ActionId::forward("a");
    let other = first.operator().saga(saga.id());
    let (one, two) =
        tokio::join!(saga.resume(action.clone(), operation("1")), other.resume(action.clone(), ann("1")));
    assert_eq!((one, two), (Ok(Answer::Accepted), Ok(Answer::Accepted)));
    assert!(matches!(saga.outcome().await, Ok(Outcome::Completed(_))));
    assert_eq!(timeline(&saga).await.matches("a resumed").count(), 1);
    let rows = store.counts().await.unwrap().journal_rows;

    let second = next_engine(&store, &definition).await;
    let later = second.operator().saga(saga.id()).resume(action, ann("1")).await;
    assert_eq!(later, Ok(Answer::Accepted), "the next process knows the answer");
    assert_eq!(store.counts().await.unwrap().journal_rows, rows, "and decides nothing");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_an_answer_and_is_kept_for_the_audit() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let engine = engine(&store, &workflow(vec![fails_once("a", &log)])).await;
    let saga = begin(&engine, "k").await;
    on_desk(&saga).await;
    let door = engine.operator().saga(saga.id());
    let refusal = door.retry_now(ActionId::forward("a"), ann("1")).await.unwrap_err();
    assert!(matches!(refusal, OperateError::Refused(_)), "{refusal}");
    assert_eq!(door.resume(ActionId::forward("a"), ann("2")).await, Ok(Answer::Accepted));
    saga.outcome().await.unwrap();
    assert_eq!(door.retry_now(ActionId::forward("a"), ann("1")).await, Err(refusal), "the stored answer");
    let asked = door.asked().await.unwrap();
    let audit: Vec<_> =
        asked.iter().map(|asking| (&*asking.verb, &*asking.by.operation_id.0, asking.seq)).collect();
    assert_eq!(audit, [("RetryNow", "1", Some(3)), ("Resume", "2", Some(4))]);
    assert!(matches!(&asked[0].answer, Some(Answer::Refused { reason }) if reason.contains("QUARANTINED")));
    assert_eq!(asked[0].by, ann("1"));
}

#[tokio::test(start_paused = true)]
async fn an_operation_id_belongs_to_one_question() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let engine = engine(&store, &workflow(vec![fails_once("a", &log), fails_once("b", &log)])).await;
    let saga = begin(&engine, "k").await;
    on_desk(&saga).await;
    let door = engine.operator().saga(saga.id());
    assert_eq!(door.resume(ActionId::forward("a"), ann("1")).await, Ok(Answer::Accepted));
    let reason = |answer: Result<Answer, OperateError>| match answer {
        Err(OperateError::Refused(Rejected::State(reason))) => reason,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        reason(door.cancel(ann("1")).await),
        "the operation id `1` was used for Resume before; each operation needs its own"
    );
    assert_eq!(
        reason(door.resume(ActionId::forward("b"), ann("1")).await),
        "the operation id `1` was used for Resume with other particulars before; each operation needs its own"
    );
}

#[tokio::test(start_paused = true)]
async fn nobody_asks_without_a_name_a_reason_and_an_id() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let engine = engine(&store, &workflow(vec![step("a", &log)])).await;
    let saga = begin(&engine, "k").await;
    let door = engine.operator().saga(saga.id());
    let long = "x".repeat(201);
    let mut told = Vec::new();
    for by in [
        By::new("", "a test", "1"),
        By::new("ann", " \n", "1"),
        By::new("ann", "a test", ""),
        By::new("ann", "a test", &*long),
        By::new("a\0", "a test", "1"),
    ] {
        told.push(door.cancel(by).await.unwrap_err().to_string());
    }
    expect![[r#"
        failed to ask: the actor is empty, and every intervention says who, why and under which id
        failed to ask: the reason is empty, and every intervention says who, why and under which id
        failed to ask: the operation id is empty, and every intervention says who, why and under which id
        failed to ask: the operation id has 201 bytes, more than 200
        failed to ask: the actor holds NUL"#]]
    .assert_eq(&told.join("\n"));
    assert_eq!(store.mail_of(saga.id(), 10).await.unwrap(), [], "nothing was posted");
}

#[tokio::test(start_paused = true)]
async fn what_another_node_posts_is_found_by_looking() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let engine = engine(&store, &workflow(vec![fails_once("a", &log)])).await;
    let (waiting, ended) = (begin(&engine, "1").await, begin(&engine, "2").await);
    on_desk(&waiting).await;
    on_desk(&ended).await;
    assert_eq!(ended.cancel(operation("0")).await, Ok(Answer::Accepted));
    ended.outcome().await.unwrap();
    let resume = r#"{"ask":{"resume":{"action":"a/forward"}},"reason":"a test"}"#;
    let cancel = r#"{"ask":{"cancel":{}},"reason":"a test"}"#;
    for mail in [elsewhere(waiting.id(), 1, "1", resume), elsewhere(ended.id(), 2, "1", cancel)] {
        assert_eq!(store.post(&mail, MAIL_OPEN_MAX).await.unwrap(), Posted::Accepted);
    }
    pass(Duration::from_secs(2)).await;
    assert!(matches!(waiting.outcome().await, Ok(Outcome::Completed(_))));
    let answer = |saga: &SagaHandle| {
        let (store, saga) = (store.clone(), saga.id());
        async move { store.mail(saga, "1").await.unwrap().unwrap().answer }
    };
    assert_eq!(answer(&waiting).await.as_deref(), Some("\"accepted\""));
    assert_eq!(answer(&ended).await.as_deref(), Some("\"already\""), "also of a saga that has ended");
    let row = store.find("w", "2").await.unwrap().unwrap();
    assert_eq!((row.owner, row.wake_at), (None, None), "which is given up again");
}

#[tokio::test(start_paused = true)]
async fn mail_that_says_nothing_is_answered_and_never_read_again() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let engine = engine(&store, &workflow(vec![fails_once("a", &log)])).await;
    let saga = begin(&engine, "k").await;
    on_desk(&saga).await;
    let unknown_verb = r#"{"ask":{"dance":{}},"reason":"a test"}"#;
    let signal = Mail { kind: MailKind::Signal, ..elsewhere(saga.id(), 3, "3", "null") };
    let nobodys = Mail {
        kind: MailKind::Reply,
        ..elsewhere(
            saga.id(),
            4,
            "4",
            r#"{"request":"00000000-0000-0000-0000-000000000009","answer":{"accepted":{}}}"#,
        )
    };
    let all = [
        elsewhere(saga.id(), 1, "1", "no JSON"),
        elsewhere(saga.id(), 2, "2", unknown_verb),
        signal,
        nobodys,
    ];
    for mail in &all {
        store.post(mail, MAIL_OPEN_MAX).await.unwrap();
    }
    pass(Duration::from_secs(2)).await;
    for stored in store.mail_of(saga.id(), 10).await.unwrap() {
        let answer = stored.answer.expect("it is answered");
        assert!(answer.starts_with("{\"refused\":{\"reason\":\""), "{answer}");
    }
    let rows = store.counts().await.unwrap().journal_rows;
    pass(Duration::from_secs(60)).await;
    assert_eq!(store.counts().await.unwrap().journal_rows, rows, "once");
    assert_eq!(saga.resume(ActionId::forward("a"), operation("5")).await, Ok(Answer::Accepted));
}

#[tokio::test(start_paused = true)]
async fn a_process_killed_between_the_mail_and_its_commit_has_it_decided_by_the_next() {
    let (store, log) = (GatedStore::new(), Log::default());
    let definition = workflow(vec![fails_once("a", &log)]);
    let first = engine(&store, &definition).await;
    let saga = begin(&first, "k").await;
    on_desk(&saga).await;
    store.close();
    let asking = tokio::spawn({
        let saga = saga.clone();
        async move { saga.resume(ActionId::forward("a"), operation("1")).await }
    });
    pass(Duration::from_secs(5)).await;
    assert!(!asking.is_finished(), "it is decided, and not durable");
    first.abort().await;
    assert_eq!(asking.await.unwrap(), Err(OperateError::Stopped));
    assert_eq!(store.inner.mail(saga.id(), "1").await.unwrap().unwrap().answer, None);
    store.open();

    let second = next_engine(&store, &definition).await;
    let saga = second.find("w", "k").await.unwrap().unwrap();
    assert_eq!(saga.resume(ActionId::forward("a"), operation("1")).await, Ok(Answer::Accepted));
    assert!(matches!(saga.outcome().await, Ok(Outcome::Completed(_))));
    assert_eq!(timeline(&saga).await.matches("a resumed").count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_decision_whose_answer_was_lost_is_made_once() {
    let (store, log) = (GatedStore::new(), Log::default());
    let engine = engine(&store, &workflow(vec![fails_once("a", &log)])).await;
    let saga = begin(&engine, "k").await;
    on_desk(&saga).await;
    store.lost_answers.store(2, Ordering::SeqCst);
    assert_eq!(saga.resume(ActionId::forward("a"), operation("1")).await, Ok(Answer::Accepted));
    assert!(matches!(saga.outcome().await, Ok(Outcome::Completed(_))));
    assert_eq!(timeline(&saga).await.matches("a resumed").count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_saga_full_of_mail_tells_the_next_to_come_again() {
    let (store, log) = (GatedStore::new(), Log::default());
    let limits = Limits { mail_open_max: 2, answer_within: Duration::from_secs(5), ..Limits::default() };
    let definition = workflow(vec![fails_once("a", &log)]);
    let engine = builder(&store, &definition).limits(limits).start().await.unwrap();
    let saga = begin(&engine, "k").await;
    on_desk(&saga).await;
    store.close();
    let door = engine.operator().saga(saga.id());
    let asked = ["1", "2", "3"].map(|id| door.resume(ActionId::forward("a"), ann(id)));
    let [first, second, third] = asked;
    let answers = tokio::join!(first, second, third);
    assert_eq!(answers.0, Err(OperateError::Unanswered));
    assert_eq!(answers.1, Err(OperateError::Unanswered));
    assert_eq!(answers.2, Err(OperateError::Full { open: 2 }));
    store.open();
    assert_eq!(door.resume(ActionId::forward("a"), ann("1")).await, Ok(Answer::Accepted), "it was kept");
}

#[tokio::test(start_paused = true)]
async fn a_saga_that_nobody_here_can_run_leaves_the_question_to_who_can() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let definition = workflow(vec![fails_once("a", &log)]);
    let first = engine(&store, &definition).await;
    let saga = begin(&first, "k").await;
    on_desk(&saga).await;
    first.shutdown(Duration::from_secs(1)).await.unwrap();

    let nobody = amends::Engine::builder(store.clone()).start().await.unwrap();
    let unanswered = nobody.operator().saga(saga.id()).resume(ActionId::forward("a"), ann("1")).await;
    assert_eq!(unanswered, Err(OperateError::Unanswered));
    let unknown = nobody.operator().saga(SagaId(Uuid::from_u128(9))).cancel(ann("1")).await;
    assert_eq!(unknown, Err(OperateError::Unknown));

    let second = next_engine(&store, &definition).await;
    let answer = second.operator().saga(saga.id()).resume(ActionId::forward("a"), ann("1")).await;
    assert_eq!(answer, Ok(Answer::Accepted));
}

#[tokio::test(start_paused = true)]
async fn a_reply_settles_what_is_unknown_and_the_same_reply_is_taken_once() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let lost = step("a", &log)
        .plan(|plan| plan.settle = Settle::ByOperator)
        .runs(|_| async { Attempted::Unknown(failure(FailureKind::Unknown, "lost")) });
    let engine = engine(&store, &workflow(vec![lost])).await;
    let saga = begin(&engine, "k").await;
    on_desk(&saga).await;
    let request = ActionId::forward("a").request_id(saga.id());
    let seven = Json::parse("7").unwrap();
    let success = || Attempted::Succeeded(Recorded::Value(seven.clone()));
    let reply = |answer| engine.reply(saga.id(), request, Some(1), answer, "broker");
    assert_eq!(reply(success()).await, Ok(Reply::Taken));
    assert_eq!(saga.outcome().await.unwrap(), Outcome::Completed(seven.clone()));
    assert_eq!(reply(success()).await, Ok(Reply::TakenBefore));
    let nobodys = engine.reply(SagaId(Uuid::from_u128(9)), request, None, success(), "broker").await;
    assert_eq!(nobodys, Err(ReplyError::Unknown));
    let view = saga.view().await.unwrap();
    assert!(view.journal().iter().all(|row| row.actor == "engine"), "a reply is nobody's intervention");
}

#[tokio::test(start_paused = true)]
async fn a_reply_whose_result_cannot_be_kept_is_a_success_all_the_same() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let lost = |name| {
        step(name, &log)
            .plan(|plan| plan.settle = Settle::ByOperator)
            .runs(|_| async { Attempted::Unknown(failure(FailureKind::Unknown, "lost")) })
    };
    let engine = engine(&store, &workflow(vec![lost("a"), lost("b"), step("c", &log)])).await;
    let saga = begin(&engine, "k").await;
    on_desk(&saga).await;
    let huge = Json::encode(&"x".repeat(3 << 20)).unwrap();
    let other_type = Json::parse("\"seven\"").unwrap();
    for (step, value) in [("a", huge), ("b", other_type)] {
        let request = ActionId::forward(step).request_id(saga.id());
        let answer = Attempted::Succeeded(Recorded::Value(value));
        assert_eq!(engine.reply(saga.id(), request, Some(1), answer, "broker").await, Ok(Reply::Taken));
    }
    assert!(matches!(saga.outcome().await, Ok(Outcome::Completed(_))));
    let view = saga.view().await.unwrap();
    let omitted = |step: &str| match &view.step(step).unwrap().forward.output {
        Some(Recorded::Omitted(omitted)) => (omitted.size, omitted.digest.is_some()),
        other => panic!("{other:?}"),
    };
    assert_eq!(omitted("a"), ((3 << 20) + 2, true));
    assert_eq!(omitted("b"), (7, true));
}

/// The numbers of ARCHITECTURE.md, "What is sent when".
#[tokio::test(start_paused = true)]
async fn a_question_costs_its_mail_and_one_row_and_after_the_end_the_saga_is_taken_and_given_up() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let engine = engine(&store, &workflow(vec![fails_once("a", &log)])).await;
    let saga = begin(&engine, "k").await;
    on_desk(&saga).await;
    let mut before = store.stats();
    let mut cost = || {
        let now = store.stats();
        let was = std::mem::replace(&mut before, now);
        let rows = (now.mail - was.mail, now.journal_rows - was.journal_rows, now.commits - was.commits);
        (rows, now.claims - was.claims, now.saga_updates - was.saga_updates)
    };
    let door = engine.operator().saga(saga.id());
    door.retry_now(ActionId::forward("a"), ann("1")).await.unwrap_err();
    assert_eq!(cost(), ((2, 1, 1), 0, 0), "a refusal: posted, answered");
    door.retry_now(ActionId::forward("a"), ann("1")).await.unwrap_err();
    assert_eq!(cost(), ((0, 0, 0), 0, 0), "the same id again writes nothing");
    door.cancel(ann("2")).await.unwrap();
    saga.outcome().await.unwrap();
    cost();
    assert_eq!(door.cancel(ann("3")).await, Ok(Answer::Already));
    assert_eq!(cost(), ((2, 1, 1), 1, 1));
}

/// A saga without owner is claimed for its unread mail: what nobody can read must not stay unread.
#[tokio::test(start_paused = true)]
async fn an_ended_saga_is_claimed_for_mail_that_cannot_be_read_once_and_not_for_ever() {
    let (store, log) = (GatedStore::new(), Log::default());
    let engine = builder(&store, &workflow(vec![step("a", &log)])).purge_after(Duration::from_secs(3_600));
    let engine = engine.start().await.unwrap();
    let saga = begin(&engine, "k").await;
    saga.outcome().await.unwrap();
    let rows = async || store.read(saga.id()).await.unwrap().unwrap().journal.len();
    let before = rows().await;
    *store.damaged_mail.lock().unwrap() = Some("torn".to_owned());
    let torn = elsewhere(saga.id(), 1, "torn", "{}");
    assert_eq!(store.inner.post(&torn, MAIL_OPEN_MAX).await.unwrap(), Posted::Accepted);
    pass(Duration::from_secs(60)).await;
    assert_eq!(rows().await, before + 1);
    let stored = store.inner.mail(saga.id(), "torn").await.unwrap().unwrap();
    assert!(stored.answer.unwrap().contains("the mail cannot be read: the test"));
    pass(Duration::from_secs(3_700)).await;
    assert_eq!(store.read(saga.id()).await.unwrap().unwrap().row.phase, "purged", "nothing of it is unread");
}
