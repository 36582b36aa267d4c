//! The outbox: in with the commit, out when acknowledged, and nothing in between is lost.

#![expect(missing_docs, reason = "the name of a behaviour is its sentence")]

use std::collections::BTreeSet;

use amends::ports::{
    Commit, ControlOrder, ControlStore as _, Fault, LetGo, OUTBOX_BYTES_MAX, OUTBOX_LANES, OUTBOX_ROWS_MAX,
    OUTBOX_SUBJECT_BYTES_MAX, OutboxKind, OutboxMessage, OutboxPlace, OutboxRow, OutboxStore as _,
    PurgeStore as _, REFUSAL_WAIT_MAX, SagaStore as _, Store, StoredOrder, Verdict, message_id,
};
use amends_core::{Incarnation, SagaId, Timestamp};
use tokio::task::JoinSet;

use super::StoreFactory;
use super::rows::{
    ME, OTHER, T0, accept, claim, ended, everything, join, message, release, saga, start, step, step_of,
    step_with, take_over,
};

use OutboxKind::{Command, Event, Notice};

const LATER: Timestamp = Timestamp(T0.0 + 1_000);

/// [`ME`] has joined and owns all lanes.
async fn publisher<F: StoreFactory>(factory: &F) -> F::Store {
    let store = factory.open().await;
    join(&store).await;
    let lanes = store.claim_lanes(ME).await.expect("it claims");
    assert_eq!(lanes, (0..OUTBOX_LANES).collect::<Vec<_>>(), "nobody else publishes");
    store
}

async fn read_as(store: &impl Store, incarnation: Incarnation, kind: OutboxKind) -> Vec<OutboxMessage> {
    store.unpublished(incarnation, kind, LATER, 1_000).await.expect("it reads")
}

async fn read(store: &impl Store, kind: OutboxKind) -> Vec<OutboxMessage> {
    read_as(store, ME, kind).await
}

/// Saga, sequence and number of each.
fn places(messages: &[OutboxMessage]) -> BTreeSet<(SagaId, u64, u16)> {
    messages.iter().map(|message| (message.place.saga, message.place.seq, message.place.n)).collect()
}

async fn remove(store: &impl Store, messages: &[OutboxMessage]) -> u32 {
    let published: Vec<OutboxPlace> = messages.iter().map(|message| message.place).collect();
    store.remove_published(ME, &published).await.expect("it removes")
}

pub async fn messages_are_read_as_they_were_written(factory: impl StoreFactory) {
    let store = publisher(&factory).await;
    let first = Commit { outbox: vec![message(1, 1, 0, Command)], ..start(1) };
    accept(&store, &[first, start(2)]).await;
    accept(&store, &[step_with(1, 2, &[Event, Command, Notice]), step(2, 2)]).await;

    let found = read(&store, Command).await;
    let expected = |seq: u64, n: u16| {
        let OutboxRow { id, kind, subject, headers, body } = message(1, seq, n, Command);
        let place = OutboxPlace { kind, saga: saga(1), seq, n };
        let written_at = Timestamp(T0.0 + i64::try_from(seq).expect("it is small"));
        OutboxMessage { place, id, written_at, subject, headers, body, refusals: 0 }
    };
    assert_eq!(found, [expected(1, 0), expected(2, 1)], "of a saga in order");
    assert_eq!(places(&read(&store, Notice).await), BTreeSet::from([(saga(1), 2, 2)]));

    let standing = store.outbox(10).await.expect("it counts");
    let counts: Vec<_> = standing.counts.iter().map(|of| (of.kind, of.waiting, of.oldest.0 - T0.0)).collect();
    assert_eq!(counts, [(Event, 1, 2), (Command, 2, 1), (Notice, 1, 2)]);
    assert_eq!(standing.refused, []);

    assert_eq!(remove(&store, &found).await, 2);
    assert_eq!(remove(&store, &found).await, 0, "they are gone");
    assert_eq!(read(&store, Command).await, []);
    let standing = store.outbox(10).await.expect("it counts");
    assert_eq!(standing.counts.iter().map(|of| of.kind).collect::<Vec<_>>(), [Event, Notice]);
}

pub async fn a_refused_commit_leaves_no_message(factory: impl StoreFactory) {
    let store = publisher(&factory).await;
    accept(&store, &[start(1), start(2)]).await;
    accept(&store, &[step(1, 2)]).await;
    let mut key_taken = Commit { outbox: vec![message(3, 1, 0, Event)], ..start(3) };
    key_taken.start.as_mut().expect("a start").key = "order-2".into();
    let occupied = Commit { outbox: vec![message(1, 2, 0, Event)], ..step_of(1, 2, 9) };
    let verdicts = store.commit(ME, &[occupied, key_taken]).await.expect("it answers");
    assert!(matches!(verdicts[..], [Verdict::Occupied { .. }, Verdict::KeyTaken(_)]), "{verdicts:?}");
    assert_eq!(store.outbox(10).await.expect("it counts").counts, []);
    assert_eq!(read(&store, Event).await, []);
}

pub async fn a_resubmitted_commit_brings_no_message_twice(factory: impl StoreFactory) {
    let store = publisher(&factory).await;
    accept(&store, &[start(1)]).await;
    let commit = step_with(1, 2, &[Command, Event]);
    accept(&store, std::slice::from_ref(&commit)).await;
    let before = everything(&store).await;
    accept(&store, &[start(2), commit.clone()]).await;
    assert_eq!(everything(&store).await.outbox, before.outbox);
    let found = read(&store, Command).await;
    assert_eq!(found.iter().map(|message| message.id).collect::<Vec<_>>(), [message_id(saga(1), 2, 0)]);
    assert_eq!(remove(&store, &found).await, 1);
    accept(&store, &[commit]).await;
    assert_eq!(read(&store, Command).await, [], "what was published does not come back");
}

pub async fn who_owns_no_lane_reads_nothing(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &[start(1)]).await;
    accept(&store, &[step_with(1, 2, &[Event])]).await;
    assert_eq!(read(&store, Event).await, []);
    assert_eq!(store.outbox(10).await.expect("it counts").counts.len(), 1, "it is there");
    let place = OutboxPlace { kind: Event, saga: saga(1), seq: 2, n: 0 };
    assert_eq!(store.remove_published(ME, &[place]).await.expect("it looks"), 0);
    store.claim_lanes(ME).await.expect("it claims");
    assert_eq!(store.remove_published(ME, &[place]).await.expect("it removes"), 1);
}

pub async fn who_has_no_worker_row_has_no_outbox(factory: impl StoreFactory) {
    fn assert_fenced<T: std::fmt::Debug>(answer: Result<T, Fault>) {
        assert!(matches!(answer, Err(Fault::Fenced)), "{answer:?}");
    }
    let store = publisher(&factory).await;
    accept(&store, &[start(1)]).await;
    accept(&store, &[step_with(1, 2, &[Event])]).await;
    take_over(&store, LATER).await;
    let place = OutboxPlace { kind: Event, saga: saga(1), seq: 2, n: 0 };
    let before = store.outbox(10).await.expect("it counts");
    assert_fenced(store.claim_lanes(ME).await);
    assert_fenced(store.unpublished(ME, Event, LATER, 10).await);
    assert_fenced(store.remove_published(ME, &[place]).await);
    assert_fenced(store.note_refusal(ME, place, "too large", LATER).await);
    assert_eq!(store.outbox(10).await.expect("it counts"), before);
}

pub async fn of_a_sagas_events_the_next_waits_for_the_one_before(factory: impl StoreFactory) {
    let store = publisher(&factory).await;
    accept(&store, &[start(1), start(2)]).await;
    accept(&store, &[step_with(1, 2, &[Event, Notice, Event]), step_with(2, 2, &[Event])]).await;
    accept(&store, &[step_with(1, 3, &[Event])]).await;
    let mut seen = Vec::new();
    for expected in [vec![(1, 2, 0), (2, 2, 0)], vec![(1, 2, 2)], vec![(1, 3, 0)], vec![]] {
        let expected: BTreeSet<_> = expected.into_iter().map(|(n, seq, at)| (saga(n), seq, at)).collect();
        let found = read(&store, Event).await;
        assert_eq!(places(&found), expected, "after {seen:?}");
        assert_eq!(remove(&store, &found).await as usize, found.len());
        seen.extend(expected);
    }
}

pub async fn commands_and_notices_do_not_wait_for_each_other(factory: impl StoreFactory) {
    let store = publisher(&factory).await;
    accept(&store, &[start(1)]).await;
    accept(&store, &[step_with(1, 2, &[Command, Command, Notice]), start(2)]).await;
    accept(&store, &[step_with(1, 3, &[Command, Notice])]).await;
    assert_eq!(read(&store, Command).await.len(), 3);
    assert_eq!(read(&store, Notice).await.len(), 2);
}

pub async fn messages_of_ended_and_unowned_sagas_go_out_too(factory: impl StoreFactory) {
    let store = publisher(&factory).await;
    accept(&store, &[start(1), start(2)]).await;
    let end = Commit { change: Some(ended("completed")), ..step_with(1, 2, &[Event]) };
    let sleeps = Commit { outbox: vec![message(2, 2, 0, Event)], ..release(2, 2, None) };
    accept(&store, &[end, sleeps]).await;
    let found = read(&store, Event).await;
    assert_eq!(places(&found), BTreeSet::from([(saga(1), 2, 0), (saga(2), 2, 0)]));
    assert_eq!(remove(&store, &found).await, 2);
}

pub async fn what_was_not_removed_comes_again_after_a_takeover(factory: impl StoreFactory) {
    let store = publisher(&factory).await;
    accept(&store, &(0..20).map(start).collect::<Vec<_>>()).await;
    accept(&store, &(0..20).map(|n| step_with(n, 2, &[Event, Command])).collect::<Vec<_>>()).await;
    let before = read(&store, Command).await;
    assert_eq!(before.len(), 20);
    assert_eq!(remove(&store, &before[..7]).await, 7);

    take_over(&store, LATER).await;
    let lanes = store.claim_lanes(OTHER).await.expect("it claims");
    assert_eq!(lanes.len(), usize::from(OUTBOX_LANES), "those of the gone are free");
    let by_id = |messages: &[OutboxMessage]| {
        let mut all = messages.to_vec();
        all.sort_by_key(|message| message.id);
        all
    };
    let again = read_as(&store, OTHER, Command).await;
    assert_eq!(by_id(&again), by_id(&before[7..]), "the same messages under the same ids");
    assert_eq!(read_as(&store, OTHER, Event).await.len(), 20);
    assert_eq!(store.claim(&amends::ports::Claim { incarnation: OTHER, ..claim(0) }).await, Ok(vec![]));
}

pub async fn a_refused_message_waits_and_is_shown(factory: impl StoreFactory) {
    let store = publisher(&factory).await;
    accept(&store, &[start(1)]).await;
    accept(&store, &[step_with(1, 2, &[Command, Command])]).await;
    let found = read(&store, Command).await;
    let due = Timestamp(LATER.0 + 500);
    for reason in ["no such stream", "still\0none"] {
        store.note_refusal(ME, found[0].place, reason, due).await.expect("it notes");
    }
    assert_eq!(places(&read(&store, Command).await), BTreeSet::from([(saga(1), 2, 1)]));
    let standing = store.outbox(10).await.expect("it counts");
    assert_eq!((standing.counts[0].waiting, standing.counts[0].refused), (2, 1));
    let refused = &standing.refused[0];
    assert_eq!(refused.message, OutboxMessage { refusals: 2, ..found[0].clone() });
    assert!(refused.reason.starts_with("still") && refused.next_at == due, "{refused:?}");
    assert_eq!(store.outbox(0).await.expect("it counts").refused, []);

    let at = |now| store.unpublished(ME, Command, now, 10);
    assert_eq!(at(Timestamp(due.0 - 1)).await.expect("it reads").len(), 1);
    assert_eq!(at(due).await.expect("it reads").len(), 2);
    let gone = OutboxPlace { n: 7, ..found[0].place };
    store.note_refusal(ME, gone, "of nothing", due).await.expect("it is no mistake");
    assert_eq!(store.outbox(10).await.expect("it counts"), standing);
}

pub async fn a_refused_event_holds_up_its_own_saga_only(factory: impl StoreFactory) {
    let store = publisher(&factory).await;
    accept(&store, &[start(1), start(2)]).await;
    accept(&store, &[step_with(1, 2, &[Event, Event]), step_with(2, 2, &[Event])]).await;
    let first = OutboxPlace { kind: Event, saga: saga(1), seq: 2, n: 0 };
    store.note_refusal(ME, first, "too large", Timestamp(LATER.0 + 500)).await.expect("it notes");
    assert_eq!(places(&read(&store, Event).await), BTreeSet::from([(saga(2), 2, 0)]));
}

pub async fn a_refusal_by_a_clock_that_ran_ahead_is_due(factory: impl StoreFactory) {
    let store = publisher(&factory).await;
    accept(&store, &[start(1)]).await;
    accept(&store, &[step_with(1, 2, &[Notice])]).await;
    let place = read(&store, Notice).await[0].place;
    store.note_refusal(ME, place, "no", LATER + REFUSAL_WAIT_MAX).await.expect("it notes");
    assert_eq!(read(&store, Notice).await, [], "as long as the longest wait");
    let never = Timestamp((LATER + REFUSAL_WAIT_MAX).0 + 1);
    store.note_refusal(ME, place, "no", never).await.expect("it notes");
    assert_eq!(read(&store, Notice).await.len(), 1);
}

pub async fn what_is_left_of_many_is_found_in_small_pages(factory: impl StoreFactory) {
    let store = publisher(&factory).await;
    accept(&store, &(0..100).map(start).collect::<Vec<_>>()).await;
    accept(&store, &(0..100).map(|n| step_with(n, 2, &[Notice, Event])).collect::<Vec<_>>()).await;
    let mut seen = BTreeSet::new();
    loop {
        let page = store.unpublished(ME, Event, LATER, 32).await.expect("it reads");
        assert_eq!(page.len(), 32.min(100 - seen.len()), "a page is full as long as there are more");
        if page.is_empty() {
            break;
        }
        seen.extend(places(&page));
        assert_eq!(remove(&store, &page).await as usize, page.len());
    }
    assert_eq!(seen.len(), 100);
    assert_eq!(read(&store, Notice).await.len(), 100);
}

pub async fn a_transition_has_so_many_messages_and_no_more(factory: impl StoreFactory) {
    let store = publisher(&factory).await;
    accept(&store, &(1..7).map(start).collect::<Vec<_>>()).await;
    let many = |n: u32, count: usize| step_with(n, 2, &vec![Command; count]);
    let with = |n: u32, change: fn(&mut OutboxRow)| {
        let mut commit = many(n, 1);
        change(&mut commit.outbox[0]);
        commit
    };
    accept(&store, &[many(1, OUTBOX_ROWS_MAX)]).await;
    let refused = [
        many(2, OUTBOX_ROWS_MAX + 1),
        with(3, |row| row.body = "x".repeat(OUTBOX_BYTES_MAX)),
        with(4, |row| row.subject = "s".repeat(OUTBOX_SUBJECT_BYTES_MAX + 1).into()),
        with(5, |row| row.headers = "\0".to_owned()),
        with(6, |row| row.subject = "".into()),
    ];
    let verdicts = store.commit(ME, &refused).await.expect("it answers");
    assert!(verdicts.iter().all(|verdict| matches!(verdict, Verdict::Unstorable { .. })), "{verdicts:?}");
    let waiting = store.outbox(0).await.expect("it counts").counts[0].waiting;
    assert_eq!(waiting, OUTBOX_ROWS_MAX as u64);
}

/// The order `id` to let this message go.
pub(super) fn letting_go(id: &str, message: OutboxPlace) -> ControlOrder {
    ControlOrder {
        operation_id: id.to_owned(),
        key: format!("outbox/{message}").into(),
        value: None,
        actor: "ann".to_owned(),
        reason: format!("because of {id}"),
        at: T0,
    }
}

async fn let_go(store: &impl Store, id: &str, message: OutboxPlace) -> LetGo {
    store.let_go(message, &letting_go(id, message)).await.expect("it answers")
}

/// Refused for good, for all that its publisher knows.
async fn refuse(store: &impl Store, message: OutboxPlace) {
    store.note_refusal(ME, message, "too large", Timestamp(LATER.0 + 500)).await.expect("it notes");
}

pub async fn what_is_let_go_is_gone_and_the_next_event_of_its_saga_goes_out(factory: impl StoreFactory) {
    let store = publisher(&factory).await;
    accept(&store, &[start(1)]).await;
    accept(&store, &[step_with(1, 2, &[Event, Event])]).await;
    let first = read(&store, Event).await[0].place;
    refuse(&store, first).await;
    assert_eq!(read(&store, Event).await, [], "the second waits for it");

    assert_eq!(let_go(&store, "1", first).await, LetGo::Done);
    let order = letting_go("1", first);
    let known = StoredOrder { order: order.clone(), changed: true };
    assert_eq!(places(&read(&store, Event).await), BTreeSet::from([(saga(1), 2, 1)]));
    let standing = store.outbox(10).await.expect("it counts");
    assert_eq!((standing.counts[0].waiting, standing.refused.len()), (1, 0));
    assert_eq!(store.ordered("1").await.expect("it reads"), Some(known.clone()), "who and why is kept");
    assert_eq!(store.controls().await.expect("it reads"), [], "and nothing is in force");

    let later = ControlOrder { at: LATER, ..order };
    let again = store.let_go(first, &later).await.expect("it answers");
    assert_eq!(again, LetGo::Known(Box::new(known)), "as it was given first");
    assert_eq!(let_go(&store, "2", first).await, LetGo::NoSuchMessage);
    assert_eq!(store.ordered("2").await.expect("it reads"), None, "what did nothing is not kept");
    let store = factory.reopen(store).await;
    assert!(matches!(let_go(&store, "1", first).await, LetGo::Known(_)), "it outlives the process");
    assert_eq!(store.purge_orders(LATER, 10).await.expect("it purges"), 1, "and is purged as others are");
}

pub async fn only_what_was_refused_is_let_go(factory: impl StoreFactory) {
    let store = publisher(&factory).await;
    accept(&store, &[start(1)]).await;
    accept(&store, &[step_with(1, 2, &[Notice, Notice])]).await;
    let found = read(&store, Notice).await;
    assert_eq!(let_go(&store, "1", found[0].place).await, LetGo::NotRefused);
    let nothing = OutboxPlace { n: 7, ..found[0].place };
    assert_eq!(let_go(&store, "1", nothing).await, LetGo::NoSuchMessage);
    assert_eq!(let_go(&store, "1", OutboxPlace { seq: u64::MAX, ..nothing }).await, LetGo::NoSuchMessage);
    refuse(&store, found[0].place).await;
    let unkeepable = ControlOrder { reason: "a\0b".to_owned(), ..letting_go("1", found[0].place) };
    let answer = store.let_go(found[0].place, &unkeepable).await.expect("it answers");
    assert!(matches!(answer, LetGo::Unstorable { .. }), "{answer:?}");
    assert_eq!(store.ordered("1").await.expect("it reads"), None);
    let waiting = store.outbox(10).await.expect("it counts").counts[0].waiting;
    assert_eq!(waiting, 2, "all are there");
    // Who publishes is gone, and the order stands all the same.
    take_over(&store, LATER).await;
    assert_eq!(let_go(&store, "1", found[0].place).await, LetGo::Done);
}

pub async fn racing_orders_let_a_message_go_once(factory: impl StoreFactory) {
    let store = publisher(&factory).await;
    accept(&store, &[start(1)]).await;
    accept(&store, &[step_with(1, 2, &[Notice; 4])]).await;
    let found: Vec<OutboxPlace> = read(&store, Notice).await.iter().map(|message| message.place).collect();
    for message in &found {
        refuse(&store, *message).await;
    }
    let race = async |orders: Vec<(String, OutboxPlace)>| {
        let mut racing = JoinSet::new();
        for (id, message) in orders {
            let store = store.clone();
            racing.spawn(async move { let_go(&store, &id, message).await });
        }
        let answers = racing.join_all().await;
        let done = answers.iter().filter(|answer| **answer == LetGo::Done).count();
        assert_eq!(done, 1, "{answers:?}");
        answers
    };
    let others = race((0..8).map(|n| (format!("a{n}"), found[0])).collect()).await;
    assert!(others.iter().all(|answer| matches!(answer, LetGo::Done | LetGo::NoSuchMessage)), "{others:?}");
    let same = race((0..8).map(|_| ("b".to_owned(), found[1])).collect()).await;
    assert!(same.iter().all(|answer| matches!(answer, LetGo::Done | LetGo::Known(_))), "{same:?}");
    let one_id = race((0..8).map(|n| ("c".to_owned(), found[2 + n % 2])).collect()).await;
    assert!(one_id.iter().all(|answer| matches!(answer, LetGo::Done | LetGo::Known(_))), "{one_id:?}");
    let waiting = store.outbox(10).await.expect("it counts").counts[0].waiting;
    assert_eq!(waiting, 1, "one order lets one message go");
}
