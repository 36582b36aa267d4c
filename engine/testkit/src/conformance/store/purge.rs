//! Purging: what ended long ago leaves its key and how it ended; what is not over, or waits for somebody, stays whole.

#![expect(missing_docs, reason = "the name of a behaviour is its sentence")]

use std::collections::BTreeSet;

use amends::ports::{
    Claim, Commit, ConsumedMail, Disposition, IntakeClosing, IntakeStore as _, Posted, PurgeStore,
    SagaChange, SagaFilter, SagaMail as _, SagaQuery as _, SagaRow, SagaStore as _, Verdict,
};
use amends_core::Timestamp;

use super::StoreFactory;
use super::rows::{
    ME, T0, accept, change, claim, definition, ended, item, join, keep, mail, post, put, read, requested,
    saga, start, step, unfiled,
};

const LATER: Timestamp = Timestamp(T0.0 + 1_000_000);

/// Saga `n` ends at its second transition, at `ended_at`.
fn end(n: u32, ended_at: Timestamp) -> Commit {
    let outcome = Some("refused by `reserve`".to_owned());
    let change = SagaChange { ended_at: Some(ended_at), outcome, ..change("compensated") };
    Commit { change: Some(change), compensations: vec![requested(n)], ..step(n, 2) }
}

async fn purge(store: &impl PurgeStore, before: Timestamp, limit: u32) -> u32 {
    store.purge(before, LATER, limit).await.expect("it purges")
}

pub async fn a_purged_saga_leaves_its_key_and_how_it_ended(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &[start(1), start(2)]).await;
    post(&store, &mail(1, 0)).await;
    let consumed = vec![ConsumedMail { id: mail(1, 0).id, answer: "\"yes\"".to_owned(), brought: None }];
    accept(&store, &[Commit { mail: consumed, ..end(1, T0) }]).await;
    let before = read(&store, 1).await.row;
    assert_eq!(purge(&store, T0, 10).await, 0, "not before its time");
    assert_eq!(purge(&store, LATER, 10).await, 1);
    assert_eq!(purge(&store, LATER, 10).await, 0, "once");

    let left = read(&store, 1).await;
    assert_eq!(
        (&*left.row.phase, left.row.outcome.as_deref()),
        ("purged", Some("compensated: refused by `reserve`"))
    );
    let as_it_was = SagaRow {
        phase: before.phase.clone(),
        outcome: before.outcome.clone(),
        tenant: before.tenant.clone(),
        labels: before.labels.clone(),
        ..left.row.clone()
    };
    assert_eq!(as_it_was, before, "id, key, digests and times stay");
    assert_eq!((&left.row.tenant, left.row.labels.len()), (&None, 0), "whose it was is forgotten");
    assert_eq!(left.journal, []);
    assert_eq!(store.mail_of(saga(1), 10).await.expect("it reads"), []);
    assert_eq!(store.compensations(saga(1)).await.expect("it reads"), []);
    assert_eq!(read(&store, 2).await.journal.len(), 1, "the other is untouched");

    let found = store.find("order", "order-1").await.expect("it reads");
    assert_eq!(found, Some(left.row.clone()));
    let listed = store.list(&SagaFilter { limit: 10, ..SagaFilter::default() }).await.expect("it lists");
    assert_eq!(listed.len(), 2);
    assert_eq!(post(&store, &mail(1, 1)).await, Posted::Purged);
    let again = Commit { saga: saga(7), ..start(1) };
    let verdicts = store.commit(ME, &[again]).await.expect("it commits");
    assert_eq!(verdicts, [Verdict::KeyTaken(Box::new(left.row.clone()))]);
    let all = claim(10);
    assert_eq!(store.claim(&all).await.expect("it claims"), []);
    let only = Claim { only: Some(saga(1)), ..claim(10) };
    assert_eq!(store.claim(&only).await.expect("it claims"), [], "not even by name");
    let store = factory.reopen(store).await;
    assert_eq!(read(&store, 1).await.row, left.row);
}

pub async fn what_is_not_over_or_waits_for_somebody_is_never_purged(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &(1..=7).map(start).collect::<Vec<_>>()).await;
    // 1 runs and 2 compensates; 3 has an open action; 4 a desk entry; 5 unread mail; 6 cannot be read; 7 is over.
    let open_action = SagaChange { open_actions: 1, ..ended("completed") };
    let with_item = Commit { items: vec![put(item("reserve/forward", 0))], ..end(4, T0) };
    accept(
        &store,
        &[
            Commit { change: Some(change("compensating")), ..step(2, 2) },
            Commit { change: Some(open_action), ..step(3, 2) },
            with_item,
            end(5, T0),
            end(6, T0),
            end(7, T0),
        ],
    )
    .await;
    post(&store, &mail(5, 0)).await;
    store.set_aside(ME, saga(6), "cannot be read", T0).await.expect("it sets aside");
    assert_eq!(purge(&store, LATER, 10).await, 1);
    for n in 1..=6 {
        assert!(!read(&store, n).await.journal.is_empty(), "saga {n} stays");
    }
    assert_eq!(read(&store, 7).await.row.phase, "purged");
    assert_eq!(store.desk(10).await.expect("it reads").len(), 1);

    // They do not stand in front of the others either.
    accept(&store, &[start(8)]).await;
    accept(&store, &[end(8, Timestamp(T0.0 + 5))]).await;
    assert_eq!(purge(&store, LATER, 1).await, 1);

    // Whose mail was read is over.
    let by_mail = Claim { definitions: [definition()].into(), ..claim(10) };
    assert_eq!(store.claim(&by_mail).await.expect("it claims"), [saga(5)]);
    assert_eq!(purge(&store, LATER, 10).await, 0, "somebody owns it");
    let consumed = vec![ConsumedMail { id: mail(5, 0).id, answer: "\"no\"".to_owned(), brought: None }];
    let given_up = Commit { change: Some(ended("compensated")), mail: consumed, ..step(5, 3) };
    accept(&store, &[given_up]).await;
    assert_eq!(purge(&store, LATER, 10).await, 1);
}

pub async fn who_ended_first_is_purged_first_and_in_chunks(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &(0..10).map(start).collect::<Vec<_>>()).await;
    // The last to start is the first to end.
    accept(&store, &(0..10).map(|n| end(n, Timestamp(T0.0 + 10 - i64::from(n)))).collect::<Vec<_>>()).await;
    assert_eq!(purge(&store, LATER, 4).await, 4);
    let filter = SagaFilter { phase: Some("purged".to_owned()), limit: 20, ..SagaFilter::default() };
    let purged: Vec<_> = store.list(&filter).await.expect("it lists").into_iter().map(|row| row.id).collect();
    assert_eq!(purged, (6..10).map(saga).collect::<Vec<_>>());
    assert_eq!(purge(&store, Timestamp(T0.0 + 8), 20).await, 3, "4, 3 and 5: they ended before then");
    assert_eq!((purge(&store, LATER, 20).await, purge(&store, LATER, 20).await), (3, 0));
}

pub async fn many_purge_each_saga_once_beside_starts_and_posters(factory: impl StoreFactory) {
    const SAGAS: u32 = 200;
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &(0..SAGAS).map(start).collect::<Vec<_>>()).await;
    accept(&store, &(0..SAGAS).map(|n| end(n, T0)).collect::<Vec<_>>()).await;
    let purging = (0..3).map(|_| {
        let store = store.clone();
        tokio::spawn(async move {
            let mut all = 0;
            loop {
                let purged = purge(&store, LATER, 16).await;
                all += purged;
                if purged == 0 {
                    return all;
                }
            }
        })
    });
    let purging: Vec<_> = purging.collect();
    let posting = store.clone();
    let posters = tokio::spawn(async move {
        let mut accepted = BTreeSet::new();
        for n in 0..SAGAS {
            match post(&posting, &mail(n, 0)).await {
                Posted::Accepted => drop(accepted.insert(n)),
                Posted::Purged => {}
                other => panic!("{other:?}"),
            }
        }
        accepted
    });
    let again: Vec<Commit> = (0..SAGAS).map(|n| Commit { saga: saga(1_000 + n), ..start(n) }).collect();
    let verdicts = store.commit(ME, &again).await.expect("it commits");
    assert!(verdicts.iter().all(|verdict| matches!(verdict, Verdict::KeyTaken(_))), "no key is free");
    let mut purged = 0;
    for one in purging {
        purged += one.await.expect("no panic");
    }
    let read_nobody = posters.await.expect("no panic");
    purged += purge(&store, LATER, SAGAS).await;
    assert_eq!(purged as usize + read_nobody.len(), SAGAS as usize, "whoever has mail is not purged");
    for n in read_nobody {
        assert!(store.mail(saga(n), "key-0").await.expect("it reads").is_some(), "no mail was lost");
        assert_eq!(read(&store, n).await.journal.len(), 2);
    }
}

pub async fn what_is_left_is_forgotten_and_its_key_is_free(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &[start(1), start(2), start(3)]).await;
    accept(&store, &[end(1, T0), end(2, Timestamp(T0.0 + 50))]).await;
    assert_eq!(store.forget(LATER, 10).await.expect("it forgets"), 0, "nothing was purged yet");
    assert_eq!(purge(&store, LATER, 10).await, 2);
    assert_eq!(store.forget(Timestamp(T0.0 + 50), 10).await.expect("it forgets"), 1);
    assert_eq!(store.find("order", "order-1").await.expect("it reads"), None);
    assert_eq!(store.read(saga(1)).await.expect("it reads"), None);
    assert!(store.find("order", "order-2").await.expect("it reads").is_some());
    accept(&store, &[Commit { saga: saga(7), ..start(1) }]).await;
    assert_eq!(read(&store, 3).await.journal.len(), 1, "what runs stays");
}

pub async fn closed_messages_go_and_open_ones_stay(factory: impl StoreFactory) {
    let store = factory.open().await;
    for n in 1..=3 {
        keep(&store, &unfiled(n)).await;
    }
    for (n, at) in [(1, T0), (2, Timestamp(T0.0 + 50))] {
        let closing = IntakeClosing {
            at,
            disposition: Disposition::Discarded,
            actor: "ann".into(),
            reason: "why".to_owned(),
            operation: "op".into(),
        };
        store.close_intake(unfiled(n).id, &closing).await.expect("it closes");
    }
    assert_eq!(store.purge_intake(Timestamp(T0.0 + 50), 10).await.expect("it purges"), 1);
    assert_eq!(store.purge_intake(LATER, 10).await.expect("it purges"), 1);
    assert_eq!(store.purge_intake(LATER, 10).await.expect("it purges"), 0, "open ones stay");
    assert!(store.read_intake(unfiled(3).id).await.expect("it reads").is_some());
}
