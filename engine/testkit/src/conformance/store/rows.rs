//! Rows to write, small and all different, and a way to look at everything a store holds.

use std::sync::Arc;

use amends::ports::{
    CLOCK_TOLERANCE, Claim, Commit, CompensationChange, CompensationParticulars, CompensationRow,
    DefinitionRef, Filed, INTAKE_OPEN_MAX, IntakePut, IntakeReason, IntakeStore, ItemChange, JournalRow,
    Label, Loaded, MAIL_OPEN_MAX, Mail, MailKind, NewSaga, NodeStore, OutboxKind, OutboxRow, OutboxStanding,
    OutboxStore, Posted, RawMessage, Release, SagaChange, SagaFilter, SagaMail, SagaQuery, SagaStore,
    Sharing, StoreCounts, StoredMail, Verdict, WorkItemRow, message_id,
};
use amends_core::{Incarnation, SagaId, Timestamp, TransitionId};
use uuid::Uuid;

pub(super) const ME: Incarnation = Incarnation(Uuid::from_u128(0xa1));
pub(super) const OTHER: Incarnation = Incarnation(Uuid::from_u128(0xb2));
pub(super) const T0: Timestamp = Timestamp(1_700_000_000_000_000);

pub(super) fn definition() -> DefinitionRef {
    DefinitionRef { workflow: Arc::from("order"), version: 1, digest: [7; 32] }
}

/// Ids in start order, as UUIDv7 would be.
pub(super) fn saga(n: u32) -> SagaId {
    SagaId(Uuid::from_u128((u128::from(n) << 64) | 0x7000))
}

/// A transition id per saga, sequence and `variant`, so that two writers of one sequence differ.
fn transition(n: u32, seq: u64, variant: u8) -> TransitionId {
    TransitionId(Uuid::from_u128((u128::from(n) << 64) | (u128::from(seq) << 8) | u128::from(variant)))
}

/// The labels of saga `n`.
pub(super) fn labels(n: u32) -> Vec<Label> {
    if n.is_multiple_of(2) {
        return Vec::new();
    }
    vec![
        Label::text("customer", format!("c-{n}")).sensitive(),
        Label::number("amount", n),
        Label::truth("gift", true),
    ]
}

/// The first transition of saga `n`, whose key is `order-n`.
pub(super) fn start(n: u32) -> Commit {
    let new = NewSaga {
        definition: definition(),
        key: Arc::from(format!("order-{n}")),
        input_digest: [u8::try_from(n % 251).expect("it is below 251"); 32],
        occurred_at: Timestamp(T0.0 - 5),
        deadline: n.is_multiple_of(2).then_some(Timestamp(T0.0 + 1_000_000)),
        started_at: T0,
        tenant: n.is_multiple_of(3).then(|| Arc::from(format!("tenant-{}", n % 2))),
        labels: labels(n),
    };
    Commit { start: Some(new), ..step(n, 1) }
}

/// A later transition of saga `n`, a journal row and nothing else.
pub(super) fn step(n: u32, seq: u64) -> Commit {
    step_of(n, seq, 0)
}

/// As [`step`], decided by somebody else.
pub(super) fn step_of(n: u32, seq: u64, variant: u8) -> Commit {
    let journal = JournalRow {
        seq,
        at: Timestamp(T0.0 + i64::try_from(seq).expect("it is small")),
        actor: Arc::from("engine"),
        transition: transition(n, seq, variant),
        events: format!(r#"[{{"Started":{{"action":"reserve/forward","attempt":{seq},"by":{variant}}}}}]"#),
    };
    Commit {
        saga: saga(n),
        start: None,
        journal,
        change: None,
        items: Vec::new(),
        compensations: Vec::new(),
        mail: Vec::new(),
        outbox: Vec::new(),
    }
}

pub(super) fn change(phase: &'static str) -> SagaChange {
    SagaChange { phase, outcome: None, open_actions: 0, ended_at: None, release: None }
}

/// The end of a saga.
pub(super) fn ended(phase: &'static str) -> SagaChange {
    SagaChange { ended_at: Some(T0), ..change(phase) }
}

/// Saga `n` released at `seq`, due at `wake_at`.
pub(super) fn release(n: u32, seq: u64, wake_at: Option<Timestamp>) -> Commit {
    let change = SagaChange { release: Some(Release { wake_at }), ..change("running") };
    Commit { change: Some(change), ..step(n, seq) }
}

pub(super) fn item(name: &str, since: i64) -> WorkItemRow {
    WorkItemRow {
        item: name.to_owned(),
        desk: "quarantine",
        reason: "attempts-spent".to_owned(),
        since: Timestamp(T0.0 + since),
        workflow: Arc::from("order"),
        step: "reserve".to_owned(),
        direction: "forward".to_owned(),
        effect: "none",
        fingerprint: "order|reserve|timeout|".to_owned(),
        attempts: 3,
        error_kind: Some("transient".to_owned()),
        error_code: Some("timeout".to_owned()),
        error_rule: None,
        classifier: None,
    }
}

pub(super) fn put(item: WorkItemRow) -> ItemChange {
    ItemChange::Put(Box::new(item))
}

/// What compensation `n` expects and would do.
pub(super) fn particulars(n: u32) -> CompensationParticulars {
    let said = |what: &str| Some(format!("{{\"{what}\": {n}.0}}"));
    CompensationParticulars {
        expected: said("expected"),
        proposed: said("proposed"),
        affected: None,
        dry_run: said("dry-run"),
    }
}

/// The id of compensation `n`.
pub(super) fn request(n: u32) -> Uuid {
    Uuid::from_u128(0xc0_0000_0000 + u128::from(n))
}

pub(super) fn requested(n: u32) -> CompensationChange {
    CompensationChange::Requested {
        id: request(n),
        step: "reserve".to_owned(),
        business_key: Arc::from(format!("order-{n}")),
        reason_code: "refused".to_owned(),
        requested_by: "engine".to_owned(),
        approved_by: n.is_multiple_of(2).then(|| "policy".to_owned()),
        particulars: Box::new(particulars(n)),
        created_at: Timestamp(T0.0 + i64::from(n)),
    }
}

/// A transition that touches every table.
pub(super) fn step_with_everything(n: u32, seq: u64, variant: u8) -> Commit {
    let change = SagaChange {
        phase: "compensating",
        outcome: Some(format!("refused by {variant}")),
        open_actions: 2,
        ended_at: None,
        release: Some(Release { wake_at: Some(Timestamp(T0.0 + 77)) }),
    };
    Commit {
        change: Some(change),
        items: vec![put(item("reserve/forward", seq.cast_signed()))],
        compensations: vec![requested(n)],
        outbox: vec![message(n, seq, 0, OutboxKind::Event), message(n, seq, 1, OutboxKind::Notice)],
        ..step_of(n, seq, variant)
    }
}

/// The message with number `at` of saga `n` and sequence `seq`.
pub(super) fn message(n: u32, seq: u64, at: u16, kind: OutboxKind) -> OutboxRow {
    OutboxRow {
        id: message_id(saga(n), seq, at),
        kind,
        subject: Arc::from(format!("{}s.order", kind.word())),
        headers: format!(r#"{{"traceparent":"{n}"}}"#),
        body: format!(r#"{{"saga": {n}, "seq": {seq}.0, "é": "'"}}"#),
    }
}

/// A transition of saga `n` with messages of these kinds.
pub(super) fn step_with(n: u32, seq: u64, kinds: &[OutboxKind]) -> Commit {
    let messages = (0..).zip(kinds).map(|(at, kind)| message(n, seq, at, *kind));
    Commit { outbox: messages.collect(), ..step(n, seq) }
}

/// Mail `m` to saga `n`, under the key `key-m`; ids are in the order of `m`.
pub(super) fn mail(n: u32, m: u32) -> Mail {
    Mail {
        id: Uuid::from_u128((u128::from(m) << 96) | (u128::from(n) << 64) | 0x7001),
        saga: saga(n),
        kind: MailKind::Operator,
        key: Arc::from(format!("key-{m}")),
        actor: Arc::from("ann"),
        posted_at: Timestamp(T0.0 + i64::from(m)),
        body: format!("{{\"ask\":{m}}}"),
    }
}

/// Message `n` of intake, under the dedupe `evt-n`; ids are in the order of `n`.
pub(super) fn unfiled(n: u32) -> IntakePut {
    IntakePut {
        id: Uuid::from_u128((u128::from(n) << 64) | 0x7002),
        source: Arc::from("orders"),
        dedupe: Arc::from(format!("evt-{n}")),
        position: None,
        event_id: None,
        saga: None,
        reason: IntakeReason { code: "malformed".to_owned(), words: "at `.amount`: said twice".to_owned() },
        raw: RawMessage::of(format!("{{\"order\":{n}}}").as_bytes()),
        seen_at: Timestamp(T0.0 + i64::from(n)),
    }
}

pub(super) async fn keep(store: &impl IntakeStore, put: &IntakePut) -> Filed {
    store.put_intake(put, INTAKE_OPEN_MAX).await.expect("it puts")
}

pub(super) async fn post(store: &impl SagaMail, mail: &Mail) -> Posted {
    store.post(mail, MAIL_OPEN_MAX).await.expect("it posts")
}

pub(super) fn claim(limit: u32) -> Claim {
    Claim { incarnation: ME, now: T0, limit, definitions: Arc::from([definition()]), only: None }
}

/// Everything that can be read of a store.
#[derive(Debug, PartialEq)]
pub(super) struct Everything {
    pub(super) sagas: Vec<Loaded>,
    pub(super) desk: Vec<(SagaId, WorkItemRow)>,
    pub(super) compensations: Vec<CompensationRow>,
    pub(super) mail: Vec<StoredMail>,
    pub(super) outbox: OutboxStanding,
    pub(super) counts: StoreCounts,
}

pub(super) async fn everything(store: &(impl SagaStore + SagaQuery + SagaMail + OutboxStore)) -> Everything {
    let mut ids = Vec::new();
    loop {
        let filter = SagaFilter { after: ids.last().copied(), limit: 1_000, ..SagaFilter::default() };
        let page = store.list(&filter).await.expect("it lists");
        if page.is_empty() {
            break;
        }
        ids.extend(page.into_iter().map(|row| row.id));
    }
    let (mut compensations, mut mail) = (Vec::new(), Vec::new());
    for id in &ids {
        mail.extend(store.mail_of(*id, 1_000).await.expect("it reads mail"));
        compensations.extend(store.compensations(*id).await.expect("it reads compensations"));
    }
    Everything {
        sagas: store.load(&ids).await.expect("it loads"),
        desk: store.desk(10_000).await.expect("it reads the desk"),
        compensations,
        mail,
        outbox: store.outbox(1_000).await.expect("it reads the outbox"),
        counts: store.counts().await.expect("it counts"),
    }
}

/// Joins as [`ME`].
pub(super) async fn join(store: &impl SagaStore) {
    store.join(ME, "node", T0).await.expect("it joins");
}

/// [`OTHER`] joins and takes over from [`ME`]: by joining, where that proves [`ME`] to be dead; otherwise as
/// nodes do that share a store.
pub(super) async fn take_over(store: &(impl SagaStore + NodeStore), now: Timestamp) {
    take_over_as(store, "another", now).await;
}

/// As [`take_over`], under this name.
pub(super) async fn take_over_as(store: &(impl SagaStore + NodeStore), node: &str, now: Timestamp) {
    store.join(OTHER, node, now).await.expect("it joins");
    if store.sharing() == Sharing::Shared {
        dismiss(store, ME, now).await;
        while store.release_orphans(now, 500).await.expect("it releases") > 0 {}
        while store.mend_clock(now, CLOCK_TOLERANCE, 500).await.expect("it mends") > 0 {}
    }
}

/// Dismisses an incarnation whose counter stands where it is.
pub(super) async fn dismiss(store: &impl NodeStore, incarnation: Incarnation, now: Timestamp) {
    let peers = store.peers().await.expect("it lists");
    let peer = peers.iter().find(|peer| peer.incarnation == incarnation).expect("it is alive");
    assert!(store.dismiss(incarnation, peer.beat, now).await.expect("it dismisses"));
}

/// Commits as [`ME`], and expects that all is accepted.
pub(super) async fn accept(store: &impl SagaStore, batch: &[Commit]) {
    let verdicts = store.commit(ME, batch).await.expect("it commits");
    let refused: Vec<&Verdict> = verdicts.iter().filter(|verdict| **verdict != Verdict::Accepted).collect();
    assert!(verdicts.len() == batch.len() && refused.is_empty(), "of {}: {refused:?}", verdicts.len());
}

/// The row and journal of saga `n`, which must exist.
pub(super) async fn read(store: &impl SagaQuery, n: u32) -> Loaded {
    store.read(saga(n)).await.expect("it reads").expect("the saga exists")
}
