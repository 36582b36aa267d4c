//! Messages that became no saga: kept once, and closed by people.

use std::sync::Arc;

use amends::core::event::Recorded;
use amends::core::machine::Attempted;
use amends::core::{ActionId, Json, RequestId, SagaId};
use amends::engine::{IntakeError, IntakeMessage, Kept, OperateError, Reply, ReplyError};
use amends::memory::MemoryStore;
use amends::operator::By;
use amends::ports::{Disposition, INTAKE_RAW_BYTES_MAX, IntakeFilter, IntakeReason, IntakeRow};
use amends::{Engine, Limits};
use uuid::Uuid;

use crate::workflow::{Log, begin, builder, engine, step, workflow};

fn message(dedupe: &str, raw: &[u8]) -> IntakeMessage {
    IntakeMessage {
        source: "orders".to_owned(),
        dedupe: dedupe.to_owned(),
        position: Some("17".to_owned()),
        event_id: None,
        saga: None,
        reason: IntakeReason { code: "malformed".to_owned(), words: "no JSON".to_owned() },
        raw: raw.to_vec(),
    }
}

fn ann(operation: &'static str) -> By {
    By::new("ann", "seen to", operation)
}

async fn open(engine: &Engine) -> Vec<IntakeRow> {
    let filter = IntakeFilter { limit: 100, ..IntakeFilter::default() };
    engine.operator().intake().list(&filter).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_message_without_a_saga_is_kept_once_and_closed_by_a_person() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let engine = engine(&store, &workflow(vec![step("a", &log)])).await;
    let Kept { id, seen: 1 } = engine.intake(message("evt-1", b"{\"a\":")).await.unwrap() else {
        panic!("it came for the first time")
    };
    assert_eq!(engine.intake(message("evt-1", b"{\"a\":")).await, Ok(Kept { id, seen: 2 }));
    let [row] = &open(&engine).await[..] else { panic!("one row") };
    assert_eq!((row.id, &*row.raw.kept, row.seen), (id, &b"{\"a\":"[..], 2));

    let intake = engine.operator().intake();
    let closed = intake.close(id, Disposition::Answered, ann("op-1")).await.unwrap();
    assert_eq!(intake.close(id, Disposition::Answered, ann("op-1")).await, Ok(closed.clone()));
    assert_eq!(intake.read(id).await.unwrap(), Some(closed));
    assert_eq!(open(&engine).await, []);
    let other = intake.close(id, Disposition::Discarded, ann("op-2")).await.unwrap_err();
    assert_eq!(
        other.to_string(),
        "failed to close the message: ann closed it before, as answered, under the operation id `op-1`"
    );
}

#[tokio::test(start_paused = true)]
async fn closing_says_who_and_why_and_names_what_exists() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let engine = engine(&store, &workflow(vec![step("a", &log)])).await;
    let id = engine.intake(message("evt-1", b"{}")).await.unwrap().id;
    let intake = engine.operator().intake();
    let nameless = intake.close(id, Disposition::Discarded, By::new("", "why", "op")).await;
    assert!(matches!(nameless, Err(OperateError::Incomplete(_))), "{nameless:?}");
    let nobody = Uuid::from_u128(9);
    let none = intake.close(nobody, Disposition::Discarded, ann("op")).await;
    assert_eq!(none, Err(OperateError::NoSuchMessage(nobody)));
    let no_saga = intake.close(id, Disposition::Started(SagaId(nobody)), ann("op")).await;
    assert_eq!(no_saga, Err(OperateError::Unknown));
    assert_eq!(open(&engine).await.len(), 1, "none of it closed the message");

    let saga = begin(&engine, "k").await;
    let closed = intake.close(id, Disposition::Started(saga.id()), ann("op")).await.unwrap();
    assert_eq!(closed.closed.unwrap().disposition, Disposition::Started(saga.id()));
}

#[tokio::test(start_paused = true)]
async fn a_full_source_tells_whoever_brings_more_to_stop() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let limits = Limits { intake_open_max: 2, ..Limits::default() };
    let engine = builder(&store, &workflow(vec![step("a", &log)])).limits(limits).start().await.unwrap();
    for dedupe in ["evt-1", "evt-2"] {
        engine.intake(message(dedupe, b"{}")).await.unwrap();
    }
    let full = engine.intake(message("evt-3", b"{}")).await;
    assert_eq!(full, Err(IntakeError::Full { of: "orders".to_owned(), open: 2 }));
    let first = open(&engine).await[0].id;
    engine.operator().intake().close(first, Disposition::Discarded, ann("op")).await.unwrap();
    assert_eq!(engine.intake(message("evt-3", b"{}")).await.unwrap().seen, 1);
}

#[tokio::test(start_paused = true)]
async fn hostile_and_huge_messages_are_kept_in_a_spelling_that_every_store_takes() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let engine = engine(&store, &workflow(vec![step("a", &log)])).await;
    let hostile = || IntakeMessage {
        event_id: Some("a\0b".to_owned()),
        reason: IntakeReason { code: "malformed".to_owned(), words: "\0".repeat(10_000) },
        ..message("evt\0", &vec![0xff; 2 << 20])
    };
    let kept = engine.intake(hostile()).await.unwrap();
    assert_eq!(engine.intake(hostile()).await, Ok(Kept { seen: 2, ..kept }), "its digest tells it");
    let [row] = &open(&engine).await[..] else { panic!("one row") };
    assert_eq!((row.raw.kept.len(), row.raw.size), (INTAKE_RAW_BYTES_MAX, 2 << 20));
    assert!(row.raw.digest.is_some());
    assert_eq!(row.event_id.as_deref(), Some("a\u{fffd}b"));
}

#[tokio::test(start_paused = true)]
async fn a_reply_to_a_saga_that_nobody_knows_is_kept_once_if_its_bringer_says_so() {
    let (store, log) = (Arc::new(MemoryStore::new()), Log::default());
    let engine = engine(&store, &workflow(vec![step("a", &log)])).await;
    let nobody = SagaId(Uuid::from_u128(9));
    let request: RequestId = ActionId::forward("a").request_id(nobody);
    let seven = Recorded::Value(Json::parse("7").unwrap());
    let success = || Attempted::Succeeded(seven.clone());
    assert_eq!(engine.reply(nobody, request, Some(1), success(), "nats").await, Err(ReplyError::Unknown));
    assert_eq!(open(&engine).await, [], "it may be about to exist");
    for attempt in [Some(1), Some(2), None] {
        let kept = engine.reply_or_keep(nobody, request, attempt, success(), "nats").await;
        assert_eq!(kept, Ok(Reply::Kept));
    }
    let [row] = &open(&engine).await[..] else { panic!("one row for one request id and outcome") };
    assert_eq!((row.saga, &*row.reason.code, row.seen), (Some(nobody), "unknown-saga", 3));
    let refused = Attempted::Refused(seven.clone());
    engine.reply_or_keep(nobody, request, Some(1), refused, "nats").await.unwrap();
    assert_eq!(open(&engine).await.len(), 2, "another outcome is other news");

    let saga = begin(&engine, "k").await;
    let request = ActionId::forward("a").request_id(saga.id());
    let taken = engine.reply_or_keep(saga.id(), request, None, success(), "nats").await;
    assert_eq!(taken, Ok(Reply::Taken), "a saga that exists takes its reply");
}
