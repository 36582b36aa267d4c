//! Faults of the real connection: what the engine is told, and what is true then.

#![expect(missing_docs, reason = "the name of a behaviour is its sentence")]

use amends::ports::{
    Claim, Commit, ConsumedMail, Fault, Filed, INTAKE_OPEN_MAX, IntakeStore as _, LetGo, OUTBOX_LANES,
    OutboxKind, OutboxStore as _, Posted, SagaMail as _, SagaQuery as _, SagaStore as _, Verdict,
};

use super::FaultyStoreFactory;
use super::outbox::letting_go;
use super::rows::{
    ME, OTHER, T0, accept, claim, everything, join, keep, mail, post, read, release, saga, start, step,
    step_with, step_with_everything, unfiled,
};

fn assert_unavailable<T: std::fmt::Debug>(answer: Result<T, Fault>) {
    assert!(matches!(answer, Err(Fault::Unavailable(_))), "{answer:?}");
}

pub async fn a_poisonous_row_among_255_stands_alone(factory: impl FaultyStoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &(0..255).map(start).collect::<Vec<_>>()).await;
    factory.poison(&store, "mallory").await;
    let mut batch: Vec<Commit> = (0..255).map(|n| step_with_everything(n, 2, 0)).collect();
    batch[130].journal.actor = "mallory".into();
    let before = read(&store, 130).await;

    for round in ["first", "again"] {
        let verdicts = store.commit(ME, &batch).await.expect("it commits");
        for (n, verdict) in verdicts.iter().enumerate() {
            assert_eq!(matches!(verdict, Verdict::Unstorable { .. }), n == 130, "{round}, {n}: {verdict:?}");
            assert!(n == 130 || *verdict == Verdict::Accepted, "{round}, {n}: {verdict:?}");
        }
    }
    let all = everything(&store).await;
    assert_eq!((all.counts.journal_rows, all.desk.len(), all.compensations.len()), (255 + 254, 254, 254));
    assert_eq!(read(&store, 130).await, before);
}

pub async fn a_poisonous_start_leaves_no_saga(factory: impl FaultyStoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    factory.poison(&store, "mallory").await;
    let mut batch: Vec<Commit> = (0..20).map(start).collect();
    batch[3].journal.actor = "mallory".into();
    let verdicts = store.commit(ME, &batch).await.expect("it commits");
    assert_eq!(verdicts.iter().filter(|verdict| **verdict == Verdict::Accepted).count(), 19);
    assert!(matches!(verdicts[3], Verdict::Unstorable { .. }), "{:?}", verdicts[3]);
    assert_eq!(store.find("order", "order-3").await.expect("it reads"), None, "its key is free");
    batch[3].journal.actor = "engine".into();
    accept(&store, &batch).await;
}

pub async fn a_lost_answer_is_found_by_resubmitting(factory: impl FaultyStoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &(0..64).map(start).collect::<Vec<_>>()).await;
    let batch: Vec<Commit> = (0..64).map(|n| step_with_everything(n, 2, 0)).collect();
    factory.lose_answers(&store, 1).await;
    assert_unavailable(store.commit(ME, &batch).await);
    let committed = everything(&store).await;
    assert_eq!(committed.counts.journal_rows, 128, "it had committed");

    accept(&store, &batch).await;
    assert_eq!(everything(&store).await, committed);

    // The answer to the resubmission is lost as well: it wrote nothing, and is as safe to repeat.
    factory.lose_answers(&store, 1).await;
    assert_unavailable(store.commit(ME, &batch).await);
    accept(&store, &batch).await;
    assert_eq!(everything(&store).await, committed);
}

pub async fn a_lost_answer_of_starts_is_found_by_resubmitting(factory: impl FaultyStoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    let batch: Vec<Commit> = (0..10).map(start).collect();
    factory.lose_answers(&store, 1).await;
    assert_unavailable(store.commit(ME, &batch).await);
    accept(&store, &batch).await;
    let counts = store.counts().await.expect("it counts");
    assert_eq!((counts.sagas, counts.journal_rows), (10, 10));

    // A claim whose answer was lost: the saga is mine, though nobody was told.
    accept(&store, &[release(1, 2, Some(T0))]).await;
    factory.lose_answers(&store, 1).await;
    assert_unavailable(store.claim(&claim(10)).await);
    assert_eq!(read(&store, 1).await.row.owner, Some(ME));
}

pub async fn a_lost_answer_of_a_post_is_found_by_posting_again(factory: impl FaultyStoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &[start(1)]).await;
    let letter = mail(1, 0);
    factory.lose_answers(&store, 1).await;
    assert_unavailable(store.post(&letter, 1).await);
    let Posted::Known(known) = post(&store, &letter).await else { panic!("it had been posted") };
    assert_eq!(known.mail, letter);

    // The commit that decides it is lost with its answer: the same rows again, and it was decided once.
    let consumed = ConsumedMail { id: letter.id, answer: "\"yes\"".to_owned(), brought: None };
    let deciding = [Commit { mail: vec![consumed], ..step(1, 2) }];
    factory.lose_answers(&store, 1).await;
    assert_unavailable(store.commit(ME, &deciding).await);
    let decided = everything(&store).await;
    assert_eq!(decided.mail[0].answer.as_deref(), Some("\"yes\""));
    accept(&store, &deciding).await;
    assert_eq!(everything(&store).await, decided);

    factory.refuse_writes(&store, true).await;
    assert_unavailable(store.post(&mail(1, 1), 1).await);
    factory.refuse_writes(&store, false).await;
    assert_eq!(post(&store, &mail(1, 1)).await, Posted::Accepted);
}

pub async fn a_lost_answer_of_the_outbox_is_found_by_asking_again(factory: impl FaultyStoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    factory.lose_answers(&store, 1).await;
    assert_unavailable(store.claim_lanes(ME).await);
    assert_eq!(store.claim_lanes(ME).await.expect("it claims").len(), usize::from(OUTBOX_LANES));

    accept(&store, &[start(1)]).await;
    let commit = [step_with(1, 2, &[OutboxKind::Command, OutboxKind::Command])];
    factory.lose_answers(&store, 1).await;
    assert_unavailable(store.commit(ME, &commit).await);
    accept(&store, &commit).await;
    let waiting = async || store.unpublished(ME, OutboxKind::Command, T0, 10).await.expect("it reads");
    let messages = waiting().await;
    assert_eq!(messages.len(), 2, "written once");

    factory.lose_answers(&store, 1).await;
    assert_unavailable(store.remove_published(ME, &[messages[0].place]).await);
    assert_eq!(waiting().await, messages[1..], "it is gone");
    assert_eq!(store.remove_published(ME, &[messages[0].place]).await, Ok(0));

    let refused = messages[1].place;
    store.note_refusal(ME, refused, "too large", T0).await.expect("it notes");
    let order = letting_go("1", refused);
    factory.lose_answers(&store, 1).await;
    assert_unavailable(store.let_go(refused, &order).await);
    // Whether it was the answer of the whole that was lost or of a part, nobody can tell.
    let again = store.let_go(refused, &order).await.expect("it answers");
    assert!(matches!(again, LetGo::Done | LetGo::Known(_)), "{again:?}");
    assert!(
        matches!(store.let_go(refused, &order).await, Ok(LetGo::Known(_))),
        "by this very order it is gone"
    );
    assert_eq!(waiting().await, []);
}

pub async fn a_refusing_database_is_unavailable_until_it_heals(factory: impl FaultyStoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &[start(1), start(2)]).await;
    let before = everything(&store).await;
    factory.refuse_writes(&store, true).await;
    let batch = [step_with_everything(1, 2, 0), start(3)];
    for _ in 0..3 {
        assert_unavailable(store.commit(ME, &batch).await);
    }
    assert_unavailable(store.set_aside(ME, saga(1), "unreadable", T0).await);
    assert_unavailable(store.join(OTHER, "another", T0).await);
    assert_eq!(everything(&store).await, before, "reading goes on");
    factory.refuse_writes(&store, false).await;
    accept(&store, &batch).await;
}

pub async fn an_occupied_database_is_unavailable_within_bounds(factory: impl FaultyStoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &[start(1)]).await;
    let before = everything(&store).await;
    let occupied = factory.occupy(&store).await;
    assert_unavailable(store.commit(ME, &[step(1, 2)]).await);
    assert_unavailable(store.claim(&claim(1)).await);
    assert_eq!(everything(&store).await, before);
    drop(occupied);
    accept(&store, &[step(1, 2)]).await;
}

pub async fn a_reader_does_not_wait_for_who_occupies(factory: impl FaultyStoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &(0..10).map(start).collect::<Vec<_>>()).await;
    let occupied = factory.occupy(&store).await;
    assert_eq!(store.counts().await.expect("it counts").sagas, 10);
    assert_eq!(read(&store, 3).await.journal.len(), 1);
    drop(occupied);
}

pub async fn a_takeover_behind_the_stores_back_fences(factory: impl FaultyStoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &[start(1)]).await;
    factory.take_over(&store, ME).await;
    let before = everything(&store).await;
    let answer = store.commit(ME, &[step_with_everything(1, 2, 0), start(2)]).await;
    assert!(matches!(answer, Err(Fault::Fenced)), "{answer:?}");
    let answer = store.claim(&Claim { only: Some(saga(1)), ..claim(1) }).await;
    assert!(matches!(answer, Err(Fault::Fenced)), "{answer:?}");
    assert_eq!(everything(&store).await, before);
}

pub async fn a_lost_answer_of_a_put_is_found_by_putting_again(factory: impl FaultyStoreFactory) {
    let store = factory.open().await;
    factory.lose_answers(&store, 1).await;
    assert_unavailable(store.put_intake(&unfiled(1), INTAKE_OPEN_MAX).await);
    assert_eq!(keep(&store, &unfiled(1)).await, Filed::New);
    let row = store.read_intake(unfiled(1).id).await.expect("it reads").expect("it is there");
    assert_eq!(row.seen, 1);
}
