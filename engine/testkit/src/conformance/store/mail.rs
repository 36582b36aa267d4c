//! Mail: posted once, decided once, with the commit that decides it; and who has mail is claimed.

#![expect(missing_docs, reason = "the name of a behaviour is its sentence")]

use std::sync::Arc;
use std::time::Duration;

use amends::ports::{
    Claim, Commit, ConsumedMail, DefinitionRef, Fault, MAIL_BODY_BYTES_MAX, MAIL_KEY_BYTES_MAX, Mail,
    MailKind, Posted, SagaChange, SagaMail, SagaStore as _, StoredMail, Verdict,
};

use uuid::Uuid;

use super::StoreFactory;
use super::rows::{
    ME, OTHER, T0, accept, change, claim, definition, everything, join, mail, post, read, release, saga,
    start, step, step_of,
};

/// A transition of saga `n` that consumes these, each answered with its id.
fn consuming(n: u32, seq: u64, mail: &[&Mail]) -> Commit {
    let consumed = |mail: &&Mail| ConsumedMail { id: mail.id, answer: answer(mail), brought: None };
    Commit { mail: mail.iter().map(consumed).collect(), ..step(n, seq) }
}

/// A transition of saga `n` that brings these along, each answered with its id.
fn bringing(n: u32, seq: u64, mail: &[&Mail]) -> Commit {
    let brought = |mail: &&Mail| ConsumedMail {
        id: mail.id,
        answer: answer(mail),
        brought: Some(Box::new(Mail::clone(mail))),
    };
    Commit { mail: mail.iter().map(brought).collect(), ..step(n, seq) }
}

fn answer(mail: &Mail) -> String {
    format!("{{\"of\":\"{}\"}}", mail.id)
}

async fn stored(store: &impl SagaMail, mail: &Mail) -> StoredMail {
    store.mail(mail.saga, &mail.key).await.expect("it reads").expect("it was posted")
}

async fn unread(store: &impl SagaMail) -> Vec<Mail> {
    store.unread(ME, None, 1_000).await.expect("it reads")
}

pub async fn a_mail_reads_back_as_it_was_posted(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &[start(1), start(2)]).await;
    let kinds = [MailKind::Signal, MailKind::Reply, MailKind::Operator];
    let body = "{ \"b\" : 1.50,\n  \"a\" : \"ä\" }";
    let all: Vec<Mail> = (0..)
        .zip(kinds)
        .map(|(n, kind)| Mail { kind, body: body.to_owned(), actor: "ann".into(), ..mail(1, n) })
        .collect();
    for mail in &all {
        assert_eq!(post(&store, mail).await, Posted::Accepted);
        let as_posted = StoredMail { mail: mail.clone(), consumed_seq: None, answer: None };
        assert_eq!(stored(&store, mail).await, as_posted);
    }
    assert_eq!(store.mail(saga(2), &all[0].key).await.expect("it reads"), None, "a key is of one saga");
    assert_eq!(store.mail(saga(1), "other").await.expect("it reads"), None);
    let of_saga = store.mail_of(saga(1), 2).await.expect("it reads");
    assert_eq!(of_saga.into_iter().map(|stored| stored.mail).collect::<Vec<_>>(), all[..2]);
}

pub async fn the_same_key_again_finds_the_first_with_its_answer(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &[start(1), start(2)]).await;
    let first = mail(1, 0);
    assert_eq!(post(&store, &first).await, Posted::Accepted);
    let again = Mail { body: "\"another body\"".to_owned(), key: first.key.clone(), ..mail(1, 9) };
    let Posted::Known(known) = post(&store, &again).await else { panic!("it is known") };
    assert_eq!((&known.mail, &known.answer), (&first, &None), "nothing of the second was written");

    accept(&store, &[consuming(1, 2, &[&first])]).await;
    let Posted::Known(known) = post(&store, &again).await else { panic!("it is known") };
    assert_eq!(known.consumed_seq, Some(2));
    assert_eq!(known.answer, Some(format!("{{\"of\":\"{}\"}}", first.id)));
    assert_eq!(unread(&store).await, []);
    let elsewhere = Mail { saga: saga(2), ..again };
    assert_eq!(post(&store, &elsewhere).await, Posted::Accepted, "a key is of one saga");
}

pub async fn racing_posters_of_one_key_post_once(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &[start(1)]).await;
    let posters: Vec<_> = (0..8)
        .map(|n| {
            let (store, mail) = (store.clone(), Mail { key: "one".into(), ..mail(1, n) });
            tokio::spawn(async move { post(&store, &mail).await })
        })
        .collect();
    let mut accepted = 0;
    for poster in posters {
        match poster.await.expect("no panic") {
            Posted::Accepted => accepted += 1,
            Posted::Known(known) => assert_eq!(&*known.mail.key, "one"),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((accepted, unread(&store).await.len()), (1, 1));
}

pub async fn mail_to_no_saga_is_told_apart(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    assert_eq!(post(&store, &mail(7, 0)).await, Posted::NoSuchSaga);
    assert_eq!(store.mail(saga(7), "key-0").await.expect("it reads"), None, "nothing was written");
}

pub async fn who_posts_needs_no_incarnation(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &[start(1)]).await;
    store.leave(ME, T0).await.expect("it leaves");
    assert_eq!(post(&store, &mail(1, 0)).await, Posted::Accepted);
    assert!(stored(&store, &mail(1, 0)).await.answer.is_none());
}

pub async fn a_saga_full_of_mail_takes_no_more_until_some_is_read(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &[start(1), start(2)]).await;
    let three: Vec<Mail> = (0..3).map(|n| mail(1, n)).collect();
    for mail in &three {
        assert_eq!(store.post(mail, 3).await.expect("it posts"), Posted::Accepted);
    }
    assert_eq!(store.post(&mail(1, 3), 3).await.expect("it posts"), Posted::Full { open: 3 });
    assert_eq!(store.mail(saga(1), "key-3").await.expect("it reads"), None, "nothing was written");
    let known = store.post(&three[0], 3).await.expect("it posts");
    assert!(matches!(known, Posted::Known(_)), "what stands is found all the same: {known:?}");
    assert_eq!(store.post(&mail(2, 0), 3).await.expect("it posts"), Posted::Accepted, "another saga's");
    accept(&store, &[consuming(1, 2, &[&three[1]])]).await;
    assert_eq!(store.post(&mail(1, 3), 3).await.expect("it posts"), Posted::Accepted);
}

pub async fn mail_is_read_once_with_the_commit_that_decides_it(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &[start(1), start(2)]).await;
    let (first, second) = (mail(1, 0), mail(1, 1));
    for mail in [&first, &second] {
        post(&store, mail).await;
    }
    let deciding = [consuming(1, 2, &[&first])];
    accept(&store, &deciding).await;
    assert_eq!(unread(&store).await, std::slice::from_ref(&second));
    let before = everything(&store).await;
    accept(&store, &deciding).await;
    assert_eq!(everything(&store).await, before, "the same rows again change nothing");

    let again = ConsumedMail { id: first.id, answer: "\"another answer\"".to_owned(), brought: None };
    let of_another = ConsumedMail { id: second.id, answer: "\"of another saga\"".to_owned(), brought: None };
    accept(
        &store,
        &[Commit { mail: vec![again], ..step(1, 3) }, Commit { mail: vec![of_another], ..step(2, 2) }],
    )
    .await;
    assert_eq!(stored(&store, &first).await.consumed_seq, Some(2), "what is read stays as it is");
    assert_eq!(stored(&store, &second).await.answer, None, "a saga reads its own mail alone");
}

pub async fn a_refused_commit_reads_no_mail(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &(0..20).map(start).collect::<Vec<_>>()).await;
    let mail: Vec<Mail> = (0..20).map(|n| mail(n, 0)).collect();
    for mail in &mail {
        post(&store, mail).await;
    }
    accept(&store, &[step_of(7, 2, 9)]).await;
    let deciding: Vec<Commit> = (0..20).map(|n| consuming(n, 2, &[&mail[n as usize]])).collect();
    let verdicts = store.commit(ME, &deciding).await.expect("it commits");
    assert!(matches!(verdicts[7], Verdict::Occupied { .. }), "{:?}", verdicts[7]);
    assert_eq!(unread(&store).await, std::slice::from_ref(&mail[7]));

    store.leave(ME, T0).await.expect("it leaves");
    let fenced = store.commit(ME, &[consuming(7, 3, &[&mail[7]])]).await;
    assert!(matches!(fenced, Err(Fault::Fenced)), "{fenced:?}");
    assert_eq!(stored(&store, &mail[7]).await.answer, None);
}

pub async fn mail_that_a_transition_brings_along_stands_there_as_if_it_had_been_posted(
    factory: impl StoreFactory,
) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &[start(1), start(2)]).await;
    let mail: Vec<Mail> = (0..3).map(|n| Mail { kind: MailKind::Reply, ..mail(1, n) }).collect();
    let deciding = [bringing(1, 2, &[&mail[0], &mail[1]])];
    accept(&store, &deciding).await;
    for mail in &mail[..2] {
        let read = StoredMail { mail: mail.clone(), consumed_seq: Some(2), answer: Some(answer(mail)) };
        assert_eq!(stored(&store, mail).await, read);
        let again = Mail { id: saga(9).0, ..mail.clone() };
        assert_eq!(post(&store, &again).await, Posted::Known(Box::new(read)));
    }
    assert_eq!(unread(&store).await, []);
    let before = everything(&store).await;
    accept(&store, &deciding).await;
    assert_eq!(everything(&store).await, before, "the same rows again change nothing");

    accept(&store, &[step_of(1, 3, 9)]).await;
    let refused = [bringing(1, 3, &[&mail[2]]), step(2, 2)];
    let verdicts = store.commit(ME, &refused).await.expect("it commits");
    assert!(matches!(verdicts[..], [Verdict::Occupied { .. }, Verdict::Accepted]), "{verdicts:?}");
    assert_eq!(store.mail(saga(1), &mail[2].key).await.expect("it reads"), None, "a refused one brings none");
    let unstorable = Mail { body: "a\0".to_owned(), ..mail[2].clone() };
    let verdicts = store.commit(ME, &[bringing(1, 4, &[&unstorable])]).await.expect("it answers");
    assert!(matches!(verdicts[..], [Verdict::Unstorable { .. }]), "{verdicts:?}");
}

pub async fn mail_that_is_brought_consumes_what_was_posted_under_its_key(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &[start(1)]).await;
    let posted = [mail(1, 0), mail(1, 1)];
    for mail in &posted {
        post(&store, mail).await;
    }
    let brought = posted.clone().map(|mail| Mail { id: Uuid::from_u128(mail.id.as_u128() + 100), ..mail });
    accept(&store, &[bringing(1, 2, &[&brought[0]])]).await;
    let read = stored(&store, &posted[0]).await;
    assert_eq!((read.mail, read.consumed_seq), (posted[0].clone(), Some(2)));
    assert_eq!(read.answer, Some(answer(&brought[0])), "the answer of the decision that brought it");
    assert_eq!(unread(&store).await, posted[1..]);

    accept(&store, &[consuming(1, 3, &[&posted[1]])]).await;
    accept(&store, &[bringing(1, 4, &[&brought[1]])]).await;
    let read = stored(&store, &posted[1]).await;
    assert_eq!((read.mail, read.consumed_seq), (posted[1].clone(), Some(3)), "what is read stays as it is");
    assert_eq!(store.mail_of(saga(1), 10).await.expect("it reads").len(), 2);
}

pub async fn who_posts_while_the_same_mail_is_brought_finds_one(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &(0..8).map(start).collect::<Vec<_>>()).await;
    for n in 0..8 {
        let brought = mail(n, 0);
        let posters: Vec<_> = (1..=4)
            .map(|p| {
                let (store, mail) = (store.clone(), Mail { key: brought.key.clone(), ..mail(n, p) });
                tokio::spawn(async move { post(&store, &mail).await })
            })
            .collect();
        accept(&store, &[bringing(n, 2, &[&brought])]).await;
        for poster in posters {
            let posted = poster.await.expect("no panic");
            assert!(matches!(posted, Posted::Accepted | Posted::Known(_)), "{posted:?}");
        }
        let all = store.mail_of(saga(n), 10).await.expect("it reads");
        let [only] = &all[..] else { panic!("one mail of one key: {all:?}") };
        assert_eq!((only.consumed_seq, only.answer.clone()), (Some(2), Some(answer(&brought))));
    }
}

pub async fn unread_mail_is_that_of_my_own_sagas_in_order(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &[start(1), start(2), start(3)]).await;
    accept(&store, &[release(3, 2, None)]).await;
    // Posted in another order than that of their ids.
    let posted = [mail(2, 4), mail(1, 2), mail(3, 1), mail(1, 5), mail(2, 3)];
    for mail in &posted {
        post(&store, mail).await;
    }
    let order = [&posted[1], &posted[4], &posted[0], &posted[3]].map(Clone::clone);
    assert_eq!(unread(&store).await, order, "by id, without the saga that is nobody's");
    assert_eq!(store.unread(ME, None, 2).await.expect("it reads"), order[..2]);
    let only = store.unread(ME, Some(saga(1)), 10).await.expect("it reads");
    assert_eq!(only, [order[0].clone(), order[3].clone()]);
    assert_eq!(store.unread(ME, Some(saga(3)), 10).await.expect("it reads"), [], "it is not mine");
    assert_eq!(store.unread(OTHER, None, 10).await.expect("it reads"), []);
}

pub async fn who_has_mail_is_claimed_ended_or_not(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &(0..6).map(start).collect::<Vec<_>>()).await;
    let end = SagaChange { ended_at: Some(T0), ..change("completed") };
    accept(
        &store,
        &[
            release(0, 2, None),
            Commit { change: Some(end), ..step(1, 2) },
            release(2, 2, Some(T0 + Duration::from_secs(60))),
            release(3, 2, None),
            release(4, 2, None),
        ],
    )
    .await;
    store.set_aside(ME, saga(4), "unreadable", T0).await.expect("it is set aside");
    let due = |limit| Claim { now: T0, ..claim(limit) };
    assert_eq!(store.claim(&due(10)).await.expect("it claims"), [], "nothing is due, and nobody has mail");
    for n in [0, 0, 1, 2, 4, 5] {
        let posted = store.mail_of(saga(n), 10).await.expect("it reads").len();
        post(&store, &mail(n, u32::try_from(posted).expect("a few"))).await;
    }
    let others = Arc::from([DefinitionRef { version: 2, ..definition() }]);
    let of_others = Claim { definitions: others, ..due(10) };
    assert_eq!(store.claim(&of_others).await.expect("it claims"), []);
    let mut claimed = store.claim(&due(2)).await.expect("it claims");
    assert_eq!(claimed.len(), 2, "never above the limit, and two mails of one saga are one saga");
    claimed.extend(store.claim(&due(10)).await.expect("it claims"));
    claimed.sort_unstable();
    assert_eq!(claimed, [0, 1, 2].map(saga), "not who has none, was set aside or has an owner");
    let ended = read(&store, 1).await.row;
    assert_eq!((ended.owner, ended.ended_at, ended.phase.as_str()), (Some(ME), Some(T0), "completed"));
    assert_eq!(unread(&store).await.len(), 5, "of what I took, and of what I had");
    assert_eq!(store.claim(&due(10)).await.expect("it claims"), []);
}

pub async fn due_sagas_are_claimed_before_those_with_mail(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &(0..4).map(start).collect::<Vec<_>>()).await;
    let due = |n: u32| (n > 0).then_some(T0);
    accept(&store, &(0..4).map(|n| release(n, 2, due(n))).collect::<Vec<_>>()).await;
    for n in [0, 1] {
        post(&store, &mail(n, 0)).await;
    }
    let mut claimed = store.claim(&claim(3)).await.expect("it claims");
    claimed.sort_unstable();
    assert_eq!(claimed, [1, 2, 3].map(saga));
    assert_eq!(store.claim(&claim(3)).await.expect("it claims"), [saga(0)]);
}

pub async fn mail_that_no_store_takes_is_refused_to_the_poster(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &[start(1)]).await;
    let text = |bytes: usize| "x".repeat(bytes);
    let fits = Mail { key: text(MAIL_KEY_BYTES_MAX).into(), body: text(MAIL_BODY_BYTES_MAX), ..mail(1, 0) };
    assert_eq!(post(&store, &fits).await, Posted::Accepted);
    let refused = [
        Mail { key: "".into(), ..mail(1, 1) },
        Mail { key: text(MAIL_KEY_BYTES_MAX + 1).into(), ..mail(1, 1) },
        Mail { key: "a\0".into(), ..mail(1, 1) },
        Mail { actor: "a\0".into(), ..mail(1, 1) },
        Mail { body: "a\0".to_owned(), ..mail(1, 1) },
        Mail { body: text(MAIL_BODY_BYTES_MAX + 1), ..mail(1, 1) },
    ];
    for mail in &refused {
        let posted = post(&store, mail).await;
        assert!(matches!(posted, Posted::Unstorable { .. }), "{posted:?}");
    }
    assert_eq!(store.mail_of(saga(1), 10).await.expect("it reads").len(), 1);
    let nul = ConsumedMail { id: fits.id, answer: "a\0b".to_owned(), brought: None };
    let verdicts = store.commit(ME, &[Commit { mail: vec![nul], ..step(1, 2) }]).await.expect("it answers");
    assert!(matches!(verdicts[..], [Verdict::Unstorable { .. }]), "{verdicts:?}");
    assert_eq!(stored(&store, &fits).await.mail.id, fits.id);
}
