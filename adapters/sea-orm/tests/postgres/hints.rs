//! LISTEN and NOTIFY under whole engines: what a hint brings at once, and that nothing depends on one.
//!
//! Where engines look only once an hour, whatever happens before the test is given up happened for a hint.

use std::sync::Arc;
use std::time::Duration;

use amends::ports::{RandomIds, SagaMail as _, SagaQuery as _};
use amends::prelude::*;
use amends::{Engine, Limits, SagaHandle};
use amends_core::machine::Operation;
use amends_core::{Incarnation, OperationId, SagaId};
use amends_sea_orm::PostgresStore;

use crate::server::OneSchema;

const HOUR: Duration = Duration::from_secs(3_600);

/// Is under way for ever.
struct Charge;

impl Step for Charge {
    type Input = u32;
    type Output = u32;
    type Refusal = Never;
    type Settle = ByRepeating;

    async fn run(&self, _: &StepContext, _: u32) -> Result<u32, StepError<Never>> {
        std::future::pending().await
    }
}

impl Compensate for Charge {
    type UndoSettle = ByRepeating;

    async fn compensate(&self, _: &StepContext, _: u32, _: Forward<u32>) -> Result<Undo, CompensationError> {
        Ok(Undo::Undone)
    }
}

fn charging() -> Saga<u32, u32> {
    let (mut s, input) = SagaBuilder::<u32>::new("order", 1);
    let charged = s.step("charge", Charge, input);
    s.finish(charged).expect("the definition is sound")
}

/// A process on the schema.
struct Process {
    engine: Engine,
    store: PostgresStore,
}

impl Process {
    async fn start(schema: &OneSchema, seed: u64, claim_every: Duration) -> Self {
        let store = schema.open(&schema.url()).await;
        let limits = Limits { claim_every, lease: Duration::from_secs(120), ..Limits::default() };
        let builder = Engine::builder(Arc::new(store.clone())).register(charging()).limits(limits);
        let engine = builder.ids(Arc::new(RandomIds::seeded(seed))).start().await.expect("the engine starts");
        Self { engine, store }
    }

    async fn begin(&self, key: &str) -> SagaId {
        self.engine.start(&charging(), key, 1).await.expect("it starts").id()
    }

    /// Asks for something as somebody at this process; nobody waits for the answer.
    async fn cancel(&self, key: &str) {
        let saga: SagaHandle = self.engine.find("order", key).await.expect("it looks").expect("the saga");
        let operation = Operation {
            id: OperationId::new(format!("cancel-{key}")),
            actor: "ann".to_owned(),
            reason: "changed her mind".to_owned(),
        };
        tokio::spawn(async move { saga.cancel(operation).await });
    }

    /// Returns once everything that was posted to a saga is decided, and something was.
    async fn all_read(&self, saga: SagaId) {
        loop {
            let mail = self.store.mail_of(saga, 10).await.expect("it reads");
            if !mail.is_empty() && mail.iter().all(|stored| stored.consumed_seq.is_some()) {
                return;
            }
        }
    }

    /// Returns once a saga belongs to this process.
    async fn owns(&self, saga: SagaId) {
        let owner = |owner: Option<Incarnation>| owner == Some(self.engine.incarnation());
        while !owner(self.store.read(saga).await.expect("it reads").expect("the saga").row.owner) {}
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mail_posted_on_another_node_is_decided_long_before_its_owner_would_look() {
    let schema = OneSchema::new();
    schema.create().await;
    let owner = Process::start(&schema, 1, HOUR).await;
    let other = Process::start(&schema, 2, HOUR).await;
    let saga = owner.begin("k").await;
    other.cancel("k").await;
    other.all_read(saga).await;
    owner.engine.abort().await;
    other.engine.abort().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_node_leaves_behind_is_taken_long_before_another_one_would_look() {
    let schema = OneSchema::new();
    schema.create().await;
    let leaves = Process::start(&schema, 1, HOUR).await;
    let stays = Process::start(&schema, 2, HOUR).await;
    let saga = leaves.begin("k").await;
    leaves.engine.shutdown(Duration::ZERO).await.expect("it leaves");
    stays.owns(saga).await;
    stays.engine.abort().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_whose_listening_connection_ended_listens_again() {
    let schema = OneSchema::new();
    schema.create().await;
    let owner = Process::start(&schema, 1, HOUR).await;
    let other = Process::start(&schema, 2, HOUR).await;
    let saga = owner.begin("k").await;
    // Until both have begun to listen there is nothing to end.
    let mut ended = 0;
    while ended < 2 {
        ended += schema.disconnect("amends listener").await;
    }
    other.cancel("k").await;
    other.all_read(saga).await;
    owner.engine.abort().await;
    other.engine.abort().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_any_hint_everything_goes_on_by_looking() {
    let schema = Arc::new(OneSchema::new());
    schema.create().await;
    let often = Duration::from_millis(50);
    let leaves = Process::start(&schema, 1, often).await;
    let stays = Process::start(&schema, 2, often).await;
    let deaf = tokio::spawn({
        let schema = schema.clone();
        async move {
            loop {
                schema.disconnect("amends listener").await;
            }
        }
    });
    let saga = leaves.begin("k").await;
    stays.cancel("k").await;
    stays.all_read(saga).await;
    let second = leaves.begin("l").await;
    leaves.engine.shutdown(Duration::ZERO).await.expect("it leaves");
    stays.owns(second).await;
    deaf.abort();
    let _ = deaf.await;
    stays.engine.abort().await;
}
