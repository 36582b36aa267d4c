//! Intake: messages that became no saga are kept once, counted when they come again, and closed once.

#![expect(missing_docs, reason = "the name of a behaviour is its sentence")]

use amends::ports::{
    Closing, Disposition, Filed, INTAKE_NAME_BYTES_MAX, INTAKE_OPEN_MAX, INTAKE_PAGE_MAX,
    INTAKE_RAW_BYTES_MAX, INTAKE_WORDS_BYTES_MAX, IntakeClosing, IntakeFilter, IntakePut, IntakeReason,
    IntakeRow, IntakeStore, RawMessage,
};
use amends_core::Timestamp;
use uuid::Uuid;

use super::StoreFactory;
use super::rows::{T0, keep, saga, unfiled};

fn closing(operation: &str, disposition: Disposition) -> IntakeClosing {
    IntakeClosing {
        at: Timestamp(T0.0 + 50),
        disposition,
        actor: "ann".into(),
        reason: "sorted out by telephone".to_owned(),
        operation: operation.into(),
    }
}

/// All that is open, or rather its ids.
async fn open(store: &impl IntakeStore) -> Vec<Uuid> {
    list(store, IntakeFilter { limit: 9, ..IntakeFilter::default() }).await
}

async fn read(store: &impl IntakeStore, id: Uuid) -> IntakeRow {
    store.read_intake(id).await.expect("it reads").expect("it is there")
}

async fn list(store: &impl IntakeStore, filter: IntakeFilter) -> Vec<Uuid> {
    let rows = store.list_intake(&filter).await.expect("it lists");
    rows.into_iter().map(|row| row.id).collect()
}

async fn close(store: &impl IntakeStore, id: Uuid, closing: &IntakeClosing) -> Closing {
    store.close_intake(id, closing).await.expect("it closes")
}

pub async fn a_message_reads_back_as_it_was_put(factory: impl StoreFactory) {
    let store = factory.open().await;
    let plain = unfiled(1);
    let whole = IntakePut {
        position: Some("17".to_owned()),
        event_id: Some("evt-ä".to_owned()),
        saga: Some(saga(3)),
        raw: RawMessage::of(b"{\"amount\":200,\0\xff\"amount\":20000}"),
        ..unfiled(2)
    };
    let large = IntakePut { raw: RawMessage::of(&vec![b'x'; INTAKE_RAW_BYTES_MAX + 1]), ..unfiled(3) };
    assert_eq!(
        (large.raw.kept.len(), large.raw.size),
        (INTAKE_RAW_BYTES_MAX, INTAKE_RAW_BYTES_MAX as u64 + 1)
    );
    assert!(large.raw.digest.is_some() && whole.raw.digest.is_none(), "what is kept whole needs no digest");
    for one in [&plain, &whole, &large] {
        assert_eq!(keep(&store, one).await, Filed::New);
        assert_eq!(read(&store, one.id).await, IntakeRow::first(one));
    }
    assert_eq!(store.read_intake(Uuid::from_u128(9)).await.expect("it reads"), None);
    let store = factory.reopen(store).await;
    assert_eq!(read(&store, whole.id).await, IntakeRow::first(&whole));
}

pub async fn the_same_message_again_is_counted_and_adds_nothing(factory: impl StoreFactory) {
    let store = factory.open().await;
    let first = unfiled(1);
    keep(&store, &first).await;
    let again = |n: u32, at: i64| IntakePut {
        dedupe: first.dedupe.clone(),
        reason: IntakeReason { code: "other".to_owned(), words: String::new() },
        raw: RawMessage::of(b"another body"),
        seen_at: Timestamp(T0.0 + at),
        ..unfiled(n)
    };
    assert_eq!(keep(&store, &again(2, 90)).await, Filed::Again { id: first.id, seen: 2 });
    assert_eq!(keep(&store, &again(3, 40)).await, Filed::Again { id: first.id, seen: 3 });
    let counted = IntakeRow { seen: 3, last_seen: Timestamp(T0.0 + 90), ..IntakeRow::first(&first) };
    assert_eq!(read(&store, first.id).await, counted, "the last time is the latest");

    close(&store, first.id, &closing("op-1", Disposition::Discarded)).await;
    assert_eq!(keep(&store, &again(4, 95)).await, Filed::Again { id: first.id, seen: 4 });
    assert!(open(&store).await.is_empty(), "it stays closed");
    let elsewhere = IntakePut { source: "other".into(), ..again(5, 0) };
    assert_eq!(keep(&store, &elsewhere).await, Filed::New, "it is unique within its source");
}

pub async fn a_put_that_is_repeated_is_counted_once(factory: impl StoreFactory) {
    let store = factory.open().await;
    for _ in 0..3 {
        assert_eq!(keep(&store, &unfiled(1)).await, Filed::New);
    }
    assert_eq!(read(&store, unfiled(1).id).await.seen, 1);
}

pub async fn racing_puts_of_one_message_keep_one_row(factory: impl StoreFactory) {
    let store = factory.open().await;
    let puts: Vec<_> = (0..8)
        .map(|n| {
            let (store, message) = (store.clone(), IntakePut { dedupe: "one".into(), ..unfiled(n) });
            tokio::spawn(async move { keep(&store, &message).await })
        })
        .collect();
    let (mut new, mut seen) = (0, Vec::new());
    for put in puts {
        match put.await.expect("no panic") {
            Filed::New => new += 1,
            Filed::Again { seen: count, .. } => seen.push(count),
            other => panic!("{other:?}"),
        }
    }
    seen.sort_unstable();
    assert_eq!((new, seen), (1, (2..=8).collect()), "each is counted");
    assert_eq!(open(&store).await.len(), 1);
}

pub async fn a_full_source_takes_no_more_until_some_is_closed(factory: impl StoreFactory) {
    let store = factory.open().await;
    let full = async |put: &IntakePut| store.put_intake(put, 2).await.expect("it puts");
    assert_eq!(full(&unfiled(1)).await, Filed::New);
    assert_eq!(full(&unfiled(2)).await, Filed::New);
    assert_eq!(full(&unfiled(3)).await, Filed::Full { open: 2 });
    assert_eq!(store.read_intake(unfiled(3).id).await.expect("it reads"), None);
    let again = IntakePut { dedupe: unfiled(1).dedupe, ..unfiled(4) };
    assert_eq!(full(&again).await, Filed::Again { id: unfiled(1).id, seen: 2 }, "it is counted all the same");
    assert_eq!(full(&IntakePut { source: "other".into(), ..unfiled(5) }).await, Filed::New);

    close(&store, unfiled(1).id, &closing("op-1", Disposition::Answered)).await;
    assert_eq!(full(&unfiled(3)).await, Filed::New);
}

pub async fn open_messages_are_listed_in_pages_the_oldest_first(factory: impl StoreFactory) {
    let store = factory.open().await;
    for n in [3, 1, 2, 4] {
        let source = if n == 2 { "other" } else { "orders" };
        let reason = IntakeReason { code: format!("code-{}", n % 2), words: String::new() };
        keep(&store, &IntakePut { source: source.into(), reason, ..unfiled(n) }).await;
    }
    close(&store, unfiled(4).id, &closing("op-1", Disposition::Discarded)).await;
    let ids = |of: &[u32]| of.iter().map(|n| unfiled(*n).id).collect::<Vec<_>>();
    let all = IntakeFilter { limit: 9, ..IntakeFilter::default() };
    assert_eq!(list(&store, all.clone()).await, ids(&[1, 2, 3]));
    assert_eq!(list(&store, IntakeFilter { closed_too: true, ..all.clone() }).await, ids(&[1, 2, 3, 4]));
    let of_orders = IntakeFilter { source: Some("orders".to_owned()), ..all.clone() };
    assert_eq!(list(&store, of_orders).await, ids(&[1, 3]));
    let of_code = IntakeFilter { code: Some("code-0".to_owned()), ..all.clone() };
    assert_eq!(list(&store, of_code).await, ids(&[2]));
    let first = IntakeFilter { limit: 2, ..all.clone() };
    assert_eq!(list(&store, first.clone()).await, ids(&[1, 2]));
    assert_eq!(list(&store, IntakeFilter { after: Some(unfiled(2).id), ..first }).await, ids(&[3]));
    for n in 10..10 + INTAKE_PAGE_MAX {
        keep(&store, &unfiled(n)).await;
    }
    let many = IntakeFilter { limit: u32::MAX, ..IntakeFilter::default() };
    assert_eq!(list(&store, many).await.len(), INTAKE_PAGE_MAX as usize, "a page has its bound");
}

pub async fn a_message_is_closed_once(factory: impl StoreFactory) {
    let store = factory.open().await;
    for n in 1..=3 {
        keep(&store, &unfiled(n)).await;
    }
    let dispositions = [Disposition::Discarded, Disposition::Started(saga(5)), Disposition::Answered];
    for (n, disposition) in (1..).zip(dispositions) {
        let closing = closing("op-1", disposition);
        let closed = IntakeRow { closed: Some(closing.clone()), ..IntakeRow::first(&unfiled(n)) };
        let done = Closing::Done(Box::new(closed.clone()));
        assert_eq!(close(&store, unfiled(n).id, &closing).await, done);
        let later = IntakeClosing { at: Timestamp(T0.0 + 99), reason: "again".to_owned(), ..closing };
        assert_eq!(close(&store, unfiled(n).id, &later).await, done, "the same answer");
        assert_eq!(read(&store, unfiled(n).id).await, closed);
    }
    let before = Closing::Before(Box::new(read(&store, unfiled(1).id).await));
    for other in [closing("op-2", Disposition::Discarded), closing("op-1", Disposition::Answered)] {
        assert_eq!(close(&store, unfiled(1).id, &other).await, before, "another decision changes nothing");
    }
    let nobody = Uuid::from_u128(9);
    assert_eq!(close(&store, nobody, &closing("op-1", Disposition::Answered)).await, Closing::NoSuchMessage);
}

pub async fn who_closes_at_once_closes_once(factory: impl StoreFactory) {
    let store = factory.open().await;
    keep(&store, &unfiled(1)).await;
    let people: Vec<_> = (0..6)
        .map(|n| {
            let (store, closing) = (store.clone(), closing(&format!("op-{n}"), Disposition::Answered));
            tokio::spawn(async move { close(&store, unfiled(1).id, &closing).await })
        })
        .collect();
    let mut done = 0;
    for person in people {
        match person.await.expect("no panic") {
            Closing::Done(_) => done += 1,
            Closing::Before(_) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(done, 1);
}

pub async fn messages_that_no_store_takes_are_refused(factory: impl StoreFactory) {
    let store = factory.open().await;
    let long = "x".repeat(INTAKE_NAME_BYTES_MAX + 1);
    let words = "x".repeat(INTAKE_WORDS_BYTES_MAX + 1);
    let raw = RawMessage { kept: vec![0; INTAKE_RAW_BYTES_MAX + 1], size: 0, digest: None };
    let reason = |code: &str, words: &str| IntakeReason { code: code.to_owned(), words: words.to_owned() };
    let unstorable = [
        IntakePut { source: "".into(), ..unfiled(1) },
        IntakePut { dedupe: "".into(), ..unfiled(1) },
        IntakePut { source: "a\0b".into(), ..unfiled(1) },
        IntakePut { dedupe: long.as_str().into(), ..unfiled(1) },
        IntakePut { position: Some("\0".to_owned()), ..unfiled(1) },
        IntakePut { event_id: Some(long.clone()), ..unfiled(1) },
        IntakePut { reason: reason("\0", ""), ..unfiled(1) },
        IntakePut { reason: reason("code", &words), ..unfiled(1) },
        IntakePut { raw, ..unfiled(1) },
    ];
    for one in &unstorable {
        let filed = store.put_intake(one, INTAKE_OPEN_MAX).await.expect("it answers");
        assert!(matches!(filed, Filed::Unstorable { .. }), "{filed:?}");
    }
    assert!(open(&store).await.is_empty());
    keep(&store, &unfiled(1)).await;
    let hostile = IntakeClosing { reason: "\0".to_owned(), ..closing("op-1", Disposition::Answered) };
    let closed = close(&store, unfiled(1).id, &hostile).await;
    assert!(matches!(closed, Closing::Unstorable { .. }), "{closed:?}");
    assert_eq!(read(&store, unfiled(1).id).await.closed, None);
}
