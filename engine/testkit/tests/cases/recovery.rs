//! G14 and G20: a store that is slower than the service, and one that does not answer for a while.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use amends::memory::MemoryStore;
use amends::ports::{
    Claim, Clock as _, Commit, CompensationRow, ControlOrder, ControlRow, ControlStore, DeskFilter,
    DeskGroup, DeskPage, DeskQuery, Fault, Forward, Introduced, LetGo, Loaded, Mail, NodeProfile,
    NodeRegistry, NodeRow, NodeStore, OpenSagas, Ordered, OutboxKind, OutboxMessage, OutboxPlace,
    OutboxStanding, OutboxStore, Peer, Posted, SagaFilter, SagaMail, SagaPage, SagaQuery, SagaRow, SagaStore,
    Sharing, Store, StoreCounts, StoredMail, StoredOrder, SystemClock, Verdict, WorkItemRow,
};
use amends::prelude::*;
use amends::{Engine, Outcome};
use amends_core::{Incarnation, SagaId, Timestamp};
use async_trait::async_trait;
use tokio::sync::Semaphore;

use super::kit::ms;

/// A store in memory whose commits take their time, and which does not answer the next so many questions.
#[derive(Clone)]
struct Troubled {
    inner: MemoryStore,
    clock: Arc<SystemClock>,
    commits_take: Duration,
    silent: Arc<AtomicU32>,
}

impl Troubled {
    /// Inside the runtime, whose time it takes.
    fn new(commits_take: Duration) -> Self {
        let (inner, clock) = (MemoryStore::new(), Arc::new(SystemClock::new()));
        Self { inner, clock, commits_take, silent: Arc::default() }
    }

    fn answers(&self) -> Result<(), Fault> {
        let counted = |left: u32| left.checked_sub(1);
        match self.silent.fetch_update(Ordering::Relaxed, Ordering::Relaxed, counted) {
            Ok(_) => Err(Fault::Unavailable("it is being repaired".to_owned())),
            Err(_) => Ok(()),
        }
    }
}

#[async_trait]
impl SagaStore for Troubled {
    async fn join(&self, incarnation: Incarnation, node: &str, now: Timestamp) -> Result<(), Fault> {
        self.inner.join(incarnation, node, now).await
    }

    fn writers(&self) -> usize {
        self.inner.writers()
    }

    async fn commit(&self, incarnation: Incarnation, batch: &[Commit]) -> Result<Vec<Verdict>, Fault> {
        self.clock.sleep_until(self.clock.now() + self.commits_take).await;
        self.inner.commit(incarnation, batch).await
    }

    async fn claim(&self, claim: &Claim) -> Result<Vec<SagaId>, Fault> {
        self.answers()?;
        self.inner.claim(claim).await
    }

    async fn load(&self, sagas: &[SagaId]) -> Result<Vec<Loaded>, Fault> {
        self.answers()?;
        self.inner.load(sagas).await
    }

    async fn set_aside(
        &self,
        incarnation: Incarnation,
        saga: SagaId,
        reason: &str,
        now: Timestamp,
    ) -> Result<bool, Fault> {
        self.inner.set_aside(incarnation, saga, reason, now).await
    }

    async fn leave(&self, incarnation: Incarnation, now: Timestamp) -> Result<(), Fault> {
        self.inner.leave(incarnation, now).await
    }
}

/// Of the ports that it does not change, nothing is written out.
impl Forward for Troubled {
    fn behind(&self) -> &dyn Store {
        &self.inner
    }
}

#[async_trait]
impl NodeStore for Troubled {
    fn sharing(&self) -> Sharing {
        self.inner.sharing()
    }

    async fn beat(&self, incarnation: Incarnation, within: Duration) -> Result<u64, Fault> {
        self.inner.beat(incarnation, within).await
    }

    async fn peers(&self) -> Result<Vec<Peer>, Fault> {
        self.inner.peers().await
    }

    async fn dismiss(&self, incarnation: Incarnation, seen: u64, now: Timestamp) -> Result<bool, Fault> {
        self.inner.dismiss(incarnation, seen, now).await
    }

    async fn release_orphans(&self, now: Timestamp, limit: u32) -> Result<u32, Fault> {
        self.inner.release_orphans(now, limit).await
    }

    async fn mend_clock(&self, now: Timestamp, tolerance: Duration, limit: u32) -> Result<u32, Fault> {
        self.inner.mend_clock(now, tolerance, limit).await
    }

    async fn mine(
        &self,
        incarnation: Incarnation,
        after: Option<SagaId>,
        limit: u32,
    ) -> Result<Vec<SagaId>, Fault> {
        self.inner.mine(incarnation, after, limit).await
    }
}

#[async_trait]
impl NodeRegistry for Troubled {
    async fn introduce(&self, incarnation: Incarnation, profile: &NodeProfile) -> Result<Introduced, Fault> {
        self.inner.introduce(incarnation, profile).await
    }

    async fn joined(&self, incarnation: Incarnation) -> Result<bool, Fault> {
        self.inner.joined(incarnation).await
    }

    async fn live_nodes(&self) -> Result<Vec<NodeRow>, Fault> {
        self.inner.live_nodes().await
    }

    async fn open_sagas(&self) -> Result<Vec<OpenSagas>, Fault> {
        self.inner.open_sagas().await
    }
}

#[async_trait]
impl SagaQuery for Troubled {
    async fn find(&self, workflow: &str, key: &str) -> Result<Option<SagaRow>, Fault> {
        self.inner.find(workflow, key).await
    }

    async fn read(&self, saga: SagaId) -> Result<Option<Loaded>, Fault> {
        self.inner.read(saga).await
    }

    async fn list(&self, filter: &SagaFilter) -> Result<SagaPage, Fault> {
        self.inner.list(filter).await
    }

    async fn desk(&self, limit: u32) -> Result<Vec<(SagaId, WorkItemRow)>, Fault> {
        self.inner.desk(limit).await
    }

    async fn compensations(&self, saga: SagaId) -> Result<Vec<CompensationRow>, Fault> {
        self.inner.compensations(saga).await
    }

    async fn counts(&self) -> Result<StoreCounts, Fault> {
        self.inner.counts().await
    }
}

#[async_trait]
impl DeskQuery for Troubled {
    async fn desk_page(&self, filter: &DeskFilter) -> Result<DeskPage, Fault> {
        self.inner.desk_page(filter).await
    }

    async fn desk_groups(&self, filter: &DeskFilter) -> Result<Vec<DeskGroup>, Fault> {
        self.inner.desk_groups(filter).await
    }
}

#[async_trait]
impl SagaMail for Troubled {
    async fn post(&self, mail: &Mail, open_max: u32) -> Result<Posted, Fault> {
        self.answers()?;
        self.inner.post(mail, open_max).await
    }

    async fn unread(
        &self,
        incarnation: Incarnation,
        only: Option<SagaId>,
        limit: u32,
    ) -> Result<Vec<Mail>, Fault> {
        self.answers()?;
        self.inner.unread(incarnation, only, limit).await
    }

    async fn mail(&self, saga: SagaId, key: &str) -> Result<Option<StoredMail>, Fault> {
        self.inner.mail(saga, key).await
    }

    async fn mail_of(&self, saga: SagaId, limit: u32) -> Result<Vec<StoredMail>, Fault> {
        self.inner.mail_of(saga, limit).await
    }
}

#[async_trait]
impl OutboxStore for Troubled {
    async fn claim_lanes(&self, incarnation: Incarnation) -> Result<Vec<u16>, Fault> {
        self.inner.claim_lanes(incarnation).await
    }

    async fn unpublished(
        &self,
        incarnation: Incarnation,
        kind: OutboxKind,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<OutboxMessage>, Fault> {
        self.inner.unpublished(incarnation, kind, now, limit).await
    }

    async fn remove_published(
        &self,
        incarnation: Incarnation,
        published: &[OutboxPlace],
    ) -> Result<u32, Fault> {
        self.inner.remove_published(incarnation, published).await
    }

    async fn note_refusal(
        &self,
        incarnation: Incarnation,
        refused: OutboxPlace,
        reason: &str,
        next_at: Timestamp,
    ) -> Result<(), Fault> {
        self.inner.note_refusal(incarnation, refused, reason, next_at).await
    }

    async fn let_go(&self, message: OutboxPlace, order: &ControlOrder) -> Result<LetGo, Fault> {
        self.inner.let_go(message, order).await
    }

    async fn outbox(&self, limit: u32) -> Result<OutboxStanding, Fault> {
        self.inner.outbox(limit).await
    }
}

#[async_trait]
impl ControlStore for Troubled {
    async fn order(&self, order: &ControlOrder) -> Result<Ordered, Fault> {
        self.inner.order(order).await
    }

    async fn ordered(&self, operation_id: &str) -> Result<Option<StoredOrder>, Fault> {
        self.inner.ordered(operation_id).await
    }

    async fn controls(&self) -> Result<Vec<ControlRow>, Fault> {
        self.inner.controls().await
    }
}

/// It answers after a millisecond, and looks whether the question was durable before it was asked.
struct Quick {
    store: Troubled,
    calls: Arc<AtomicU32>,
}

impl Step for Quick {
    type Input = u32;
    type Output = u32;
    type Refusal = Never;
    type Settle = ByOperator;

    async fn run(&self, cx: &StepContext, input: u32) -> Result<u32, StepError<Never>> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let saga = self.store.read(cx.saga_id()).await.expect("it reads").expect("the saga is durable");
        assert!(saga.journal.iter().any(|row| row.events.contains("Started")), "and so is the intent");
        cx.clock().sleep_until(cx.clock().now() + ms(1)).await;
        Ok(input)
    }
}

#[tokio::test(start_paused = true)]
async fn g14_an_answer_that_is_faster_than_the_store_finds_its_question_a_thousand_times() {
    let store = Troubled::new(ms(50));
    let calls = Arc::new(AtomicU32::new(0));
    let (s, input) = SagaBuilder::<u32>::new("quick", 1);
    let (done, s) = s.pivot("charge", Quick { store: store.clone(), calls: calls.clone() }, input);
    let saga = s.finish(done).expect("the definition is sound");
    let engine = Engine::builder(Arc::new(store)).register(saga.clone());
    let engine = engine.start().await.expect("it lets the engine in");
    let start = |n: u32| {
        let (engine, saga) = (engine.clone(), saga.clone());
        tokio::spawn(async move { engine.start(&saga, format!("key-{n}"), n).await.expect("it starts") })
    };
    let started: Vec<_> = (0..1_000).map(start).collect();
    let began = engine.now();
    for (n, started) in (0..).zip(started) {
        let started = started.await.expect("no panic");
        assert_eq!(started.outcome().await.expect("it ends"), Outcome::Completed(n));
        let view = started.view().await.expect("it reads");
        assert_eq!(view.step("charge").map(|step| step.forward.attempts), Some(1));
    }
    assert_eq!(calls.load(Ordering::Relaxed), 1_000);
    assert!(engine.now().since(began) < seconds(30), "nobody waited for the timeout of an attempt");
}

/// It waits until the test lets it go on, and is safe to repeat.
struct Waits(Arc<Semaphore>);

impl Step for Waits {
    type Input = u32;
    type Output = u32;
    type Refusal = Never;
    type Settle = ByRepeating;

    async fn run(&self, _: &StepContext, input: u32) -> Result<u32, StepError<Never>> {
        self.0.acquire().await.expect("nobody closes it").forget();
        Ok(input)
    }
}

#[tokio::test(start_paused = true)]
async fn g20_a_store_that_is_silent_during_recovery_makes_no_saga_unreadable() {
    let (store, go) = (Troubled::new(Duration::ZERO), Arc::new(Semaphore::new(0)));
    let (s, input) = SagaBuilder::<u32>::new("waits", 1);
    let (done, s) = s.pivot("charge", Waits(go.clone()), input);
    let saga = s.finish(done).expect("the definition is sound");
    let process = || Engine::builder(Arc::new(store.clone())).register(saga.clone()).start();
    let first = process().await.expect("it lets the engine in");
    for n in 0..5 {
        first.start(&saga, format!("key-{n}"), n).await.expect("it starts");
    }
    first.abort().await;
    go.add_permits(100);
    store.silent.store(7, Ordering::Relaxed);

    let next = process().await.expect("it lets the engine in");
    for n in 0..5 {
        let found = next.find("waits", &format!("key-{n}")).await.expect("it reads").expect("the saga");
        assert!(matches!(found.outcome().await, Ok(Outcome::Completed(_))));
        let row = store.find("waits", &format!("key-{n}")).await.expect("it reads").expect("the saga");
        assert_eq!(row.set_aside, None);
    }
    assert_eq!(store.silent.load(Ordering::Relaxed), 0, "it was silent, and asked again");
}
