//! Recovery: what a node reads back before it goes on.

#![expect(missing_docs, reason = "the name of a behaviour is its sentence")]

use amends::ports::{Commit, SagaFilter, SagaQuery as _, SagaStore as _, StoreCounts};
use amends_core::SagaId;

use super::StoreFactory;
use super::rows::{accept, change, item, join, put, read, requested, saga, start, step};

pub async fn journals_are_loaded_whole_and_in_the_order_asked(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &(0..150).map(start).collect::<Vec<_>>()).await;
    // More than ten rows, so that an order by text would show.
    for seq in 2..=12 {
        accept(&store, &(0..150).map(|n| step(n, seq)).collect::<Vec<_>>()).await;
    }
    let asked: Vec<SagaId> =
        [149, 3, 999, 77].into_iter().chain(10..140).map(saga).filter(|id| *id != saga(77)).collect();
    let loaded = store.load(&asked).await.expect("it loads");
    let existing: Vec<SagaId> = asked.into_iter().filter(|id| *id != saga(999)).collect();
    assert_eq!(loaded.iter().map(|loaded| loaded.row.id).collect::<Vec<_>>(), existing);
    for loaded in loaded {
        let seqs: Vec<u64> = loaded.journal.iter().map(|row| row.seq).collect();
        assert_eq!(seqs, (1..=12).collect::<Vec<_>>());
    }
    assert_eq!(store.load(&[]).await.expect("it loads"), []);
}

pub async fn a_hole_in_a_journal_is_loaded_as_it_is(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &[start(1)]).await;
    accept(&store, &[step(1, 3)]).await;
    let seqs: Vec<u64> = read(&store, 1).await.journal.iter().map(|row| row.seq).collect();
    assert_eq!(seqs, [1, 3], "the store mends nothing: the engine sets the saga aside");
}

pub async fn text_is_kept_as_it_came(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &[start(1)]).await;
    let long = format!(r#"[{{"long":"{}"}}]"#, "ä".repeat(600_000));
    let texts = [
        "[ {\"a\" :\t1.0,\r\n \"b\":1e5 , \"a\":01} ]",
        r#"["\u0000 \ud83d\ude00 😀 '; DROP TABLE saga; --","\\"]"#,
        "",
        &long,
    ];
    for (seq, text) in (2..).zip(texts) {
        let mut commit = step(1, seq);
        commit.journal.events = text.to_owned();
        commit.journal.actor = "Zoë O'Neill \u{202e}".into();
        accept(&store, std::slice::from_ref(&commit)).await;
        assert_eq!(read(&store, 1).await.journal.pop(), Some(commit.journal));
    }
}

pub async fn lists_come_in_pages_of_id_order(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &[5, 1, 9, 3, 7].map(start)).await;
    let mut after = None;
    let mut pages = Vec::new();
    loop {
        let page =
            store.list(&SagaFilter { after, limit: 2, ..SagaFilter::default() }).await.expect("it lists");
        let Some(last) = page.last() else { break };
        after = Some(last.id);
        pages.push(page.iter().map(|row| row.id).collect::<Vec<_>>());
    }
    assert_eq!(pages, [vec![saga(1), saga(3)], vec![saga(5), saga(7)], vec![saga(9)]]);
}

pub async fn lists_are_filtered_and_bounded(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &(0..1_100).map(start).collect::<Vec<_>>()).await;
    let turned = |n| Commit { change: Some(change("compensating")), ..step(n, 2) };
    accept(&store, &[turned(4), turned(8)]).await;
    let all = SagaFilter { limit: u32::MAX, ..SagaFilter::default() };
    assert_eq!(store.list(&all).await.expect("it lists").len(), 1_000);
    let turned = SagaFilter { phase: Some("compensating".to_owned()), ..all.clone() };
    let ids: Vec<SagaId> = store.list(&turned).await.expect("it lists").iter().map(|row| row.id).collect();
    assert_eq!(ids, [saga(4), saga(8)]);
    let after = SagaFilter { after: Some(saga(4)), workflow: Some("order".to_owned()), ..turned };
    assert_eq!(store.list(&after).await.expect("it lists").len(), 1);
    let other = SagaFilter { workflow: Some("payment".to_owned()), ..all };
    assert_eq!(store.list(&other).await.expect("it lists").rows, []);
}

pub async fn what_does_not_exist_is_not_found(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &[start(1)]).await;
    assert_eq!(store.find("order", "order-2").await.expect("it reads"), None);
    assert_eq!(store.find("payment", "order-1").await.expect("it reads"), None);
    assert_eq!(store.find("order", "ORDER-1").await.expect("it reads"), None, "keys are compared exactly");
    assert_eq!(store.read(saga(2)).await.expect("it reads"), None);
    assert_eq!(store.compensations(saga(2)).await.expect("it reads"), []);
}

pub async fn counts_are_what_was_written(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    let first = Commit { items: vec![put(item("a/forward", 1)), put(item("b/forward", 1))], ..start(1) };
    let mut second = Commit { compensations: vec![requested(2)], ..start(2) };
    second.journal.events = "[\"äöü\"]".to_owned();
    let bytes = first.journal.events.len() + second.journal.events.len();
    accept(&store, &[first, second]).await;
    let counts = store.counts().await.expect("it counts");
    let expected = StoreCounts {
        sagas: 2,
        journal_rows: 2,
        journal_bytes: bytes as u64,
        work_items: 2,
        compensations: 1,
    };
    assert_eq!(counts, expected, "bytes, not characters");
}
