//! Rows to write.

use std::sync::Arc;

use amends::ports::{
    Claim, Commit, DefinitionRef, JournalRow, NewSaga, Release, SagaChange, SagaStore, Verdict,
};
use amends_core::{Incarnation, SagaId, Timestamp, TransitionId};
use uuid::Uuid;

pub(crate) const ME: Incarnation = Incarnation(Uuid::from_u128(0xa1));
pub(crate) const OTHER: Incarnation = Incarnation(Uuid::from_u128(0xb2));
pub(crate) const T0: Timestamp = Timestamp(1_700_000_000_000_000);

pub(crate) fn definition() -> DefinitionRef {
    DefinitionRef { workflow: Arc::from("order"), version: 1, digest: [7; 32] }
}

pub(crate) fn saga(n: u32) -> SagaId {
    SagaId(Uuid::from_u128((u128::from(n) << 64) | 0x7000))
}

/// The first transition of saga `n`, whose key is `order-n`.
pub(crate) fn start(n: u32) -> Commit {
    let new = NewSaga {
        definition: definition(),
        key: Arc::from(format!("order-{n}")),
        input_digest: [8; 32],
        occurred_at: T0,
        deadline: None,
        started_at: T0,
        tenant: None,
        labels: Vec::new(),
    };
    Commit { start: Some(new), ..step(n, 1, 0) }
}

/// A later transition, as writer `by` decided it.
pub(crate) fn step(n: u32, seq: u64, by: u8) -> Commit {
    let transition = (u128::from(n) << 64) | (u128::from(seq) << 8) | u128::from(by);
    let journal = JournalRow {
        seq,
        at: T0,
        actor: Arc::from("engine"),
        transition: TransitionId(Uuid::from_u128(transition)),
        events: format!("[\"{n}, {seq}, by {by}\"]"),
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

/// Saga `n` released at `seq`, due at `wake_at`.
pub(crate) fn release(n: u32, seq: u64, wake_at: Timestamp) -> Commit {
    let release = Some(Release { wake_at: Some(wake_at) });
    let change = SagaChange { phase: "running", outcome: None, open_actions: 0, ended_at: None, release };
    Commit { change: Some(change), ..step(n, seq, 0) }
}

pub(crate) fn claim(by: Incarnation, limit: u32) -> Claim {
    Claim { incarnation: by, now: T0, limit, definitions: Arc::from([definition()]), only: None }
}

pub(crate) async fn accept(store: &impl SagaStore, by: Incarnation, batch: &[Commit]) {
    let verdicts = store.commit(by, batch).await.expect("it commits");
    assert_eq!(verdicts, vec![Verdict::Accepted; batch.len()]);
}
