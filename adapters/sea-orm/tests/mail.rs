//! Mail to a saga that was purged, and mail and messages of which one is damaged: the rows are made as SQL.

use std::sync::Arc;

use amends::ports::{
    Claim, Commit, ConsumedMail, DefinitionRef, JournalRow, MAIL_OPEN_MAX, Mail, MailKind, NewSaga,
    OutboxKind, OutboxRow, OutboxStore as _, Posted, SagaChange, SagaMail as _, SagaStore as _, Verdict,
};
use amends_core::{Incarnation, SagaId, Timestamp, TransitionId};
use amends_sea_orm::SqliteStore;
use sea_orm::sqlx::sqlite::SqliteConnectOptions;
use sea_orm::sqlx::{self, ConnectOptions as _};
use uuid::Uuid;

const ME: Incarnation = Incarnation(Uuid::from_u128(1));
const SAGA: SagaId = SagaId(Uuid::from_u128(2));

fn definition() -> DefinitionRef {
    DefinitionRef { workflow: Arc::from("order"), version: 1, digest: [7; 32] }
}

fn start() -> Commit {
    Commit {
        saga: SAGA,
        start: Some(NewSaga {
            definition: definition(),
            key: Arc::from("order-1"),
            input_digest: [8; 32],
            occurred_at: Timestamp(1),
            deadline: None,
            started_at: Timestamp(2),
            tenant: None,
            labels: Vec::new(),
        }),
        journal: JournalRow {
            seq: 1,
            at: Timestamp(2),
            actor: Arc::from("engine"),
            transition: TransitionId(Uuid::from_u128(3)),
            events: "[]".to_owned(),
        },
        change: None,
        items: Vec::new(),
        compensations: Vec::new(),
        mail: Vec::new(),
        outbox: Vec::new(),
    }
}

fn mail(n: u128) -> Mail {
    Mail {
        id: Uuid::from_u128(n),
        saga: SAGA,
        kind: MailKind::Reply,
        key: format!("key-{n}").into(),
        actor: "broker".into(),
        posted_at: Timestamp(3),
        body: "null".to_owned(),
    }
}

#[tokio::test]
async fn a_purged_saga_takes_no_mail_and_is_not_claimed_for_what_it_has() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).await.expect("a new file");
    store.join(ME, "node", Timestamp(1)).await.expect("it joins");
    store.commit(ME, &[start()]).await.expect("it commits");
    assert_eq!(store.post(&mail(4), MAIL_OPEN_MAX).await.expect("it posts"), Posted::Accepted);

    let mut purger = SqliteConnectOptions::new().filename(&path).connect().await.expect("the file opens");
    let purge = "UPDATE saga SET phase = 'purged', owner = NULL, purged_at = 9, ended_at = 8";
    sqlx::query(purge).execute(&mut purger).await.expect("it purges");
    assert_eq!(store.post(&mail(5), MAIL_OPEN_MAX).await.expect("it posts"), Posted::Purged);
    let claim = Claim {
        incarnation: ME,
        now: Timestamp(10),
        limit: 10,
        definitions: Arc::from([definition()]),
        only: None,
    };
    assert_eq!(store.claim(&claim).await.expect("it claims"), []);
}

/// One row that somebody has damaged hides no other mail, and no other message, of all that this node has.
#[tokio::test]
async fn mail_and_messages_that_cannot_be_read_hide_no_others() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).await.expect("a new file");
    store.join(ME, "node", Timestamp(1)).await.expect("it joins");
    let message = |n: u128| OutboxRow {
        id: Uuid::from_u128(n),
        kind: OutboxKind::Command,
        subject: Arc::from("commands"),
        headers: "{}".to_owned(),
        body: "{}".to_owned(),
    };
    let outbox = vec![message(6), message(7)];
    store.commit(ME, &[Commit { outbox, ..start() }]).await.expect("it commits");
    for n in [4, 5] {
        assert_eq!(store.post(&mail(n), MAIL_OPEN_MAX).await.expect("it posts"), Posted::Accepted);
    }
    store.claim_lanes(ME).await.expect("it claims");

    let mut stranger = SqliteConnectOptions::new().filename(&path).connect().await.expect("the file opens");
    for damage in [
        "UPDATE mail SET body = CAST(x'ff' AS TEXT) WHERE idempotency = 'key-4'",
        "UPDATE outbox SET refusals = -1 WHERE n = 0",
    ] {
        sqlx::query(damage).execute(&mut stranger).await.expect("nobody else is writing");
    }
    let unread = store.unread(ME, None, 9).await.expect("it reads");
    let [damaged, sound] = &unread[..] else { panic!("{unread:?}") };
    assert_eq!((damaged.id, damaged.kind, sound), (mail(4).id, MailKind::Damaged, &mail(5)));
    assert!(damaged.body.contains("utf-8"), "{damaged:?}");
    assert_eq!(store.mail_of(SAGA, 9).await.expect("it reads").len(), 1);
    let messages = store.unpublished(ME, OutboxKind::Command, Timestamp(9), 9).await.expect("it reads");
    assert_eq!(messages.iter().map(|message| message.id).collect::<Vec<_>>(), [Uuid::from_u128(7)]);
}

/// Unread for ever, it would have its saga claimed each time that a node looks, and keep it from being purged.
#[tokio::test]
async fn mail_that_cannot_be_read_is_consumed_and_its_saga_is_claimed_for_it_no_more() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).await.expect("a new file");
    store.join(ME, "node", Timestamp(1)).await.expect("it joins");
    let ended = |seq, mail| {
        let change = SagaChange {
            phase: "completed",
            outcome: None,
            open_actions: 0,
            ended_at: Some(Timestamp(2)),
            release: None,
        };
        let start = start();
        let transition = TransitionId(Uuid::from_u128(u128::from(seq) << 32));
        let journal = JournalRow { seq, transition, ..start.journal };
        Commit { start: start.start.filter(|_| seq == 1), journal, change: Some(change), mail, ..start }
    };
    let mut stranger = SqliteConnectOptions::new().filename(&path).connect().await.expect("the file opens");
    store.commit(ME, &[ended(1, Vec::new())]).await.expect("it commits");
    let claim = Claim {
        incarnation: ME,
        now: Timestamp(10),
        limit: 10,
        definitions: Arc::from([definition()]),
        only: None,
    };
    for n in [4, 5] {
        assert_eq!(store.post(&mail(n), MAIL_OPEN_MAX).await.expect("it posts"), Posted::Accepted);
    }
    for damage in [
        "UPDATE mail SET body = CAST(x'ff' AS TEXT) WHERE idempotency = 'key-4'",
        "UPDATE mail SET id = x'05' WHERE idempotency = 'key-5'",
    ] {
        sqlx::query(damage).execute(&mut stranger).await.expect("nobody else is writing");
    }
    assert_eq!(store.claim(&claim).await.expect("it claims"), [SAGA]);
    let unread = store.unread(ME, None, 9).await.expect("it reads");
    let consumed =
        unread.iter().map(|mail| ConsumedMail { id: mail.id, answer: "no".to_owned(), brought: None });
    let verdicts = store.commit(ME, &[ended(2, consumed.collect())]).await.expect("it commits");
    assert_eq!(verdicts, [Verdict::Accepted]);
    assert_eq!(store.claim(&claim).await.expect("it claims"), [], "not for what has no id either");
}
