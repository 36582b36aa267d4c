//! An engine and a participant with NATS between them: commands out, replies in, queries where nothing comes.

use std::sync::Arc;
use std::time::Duration;

use amends::ports::OutboxKind;
use amends::prelude::*;
use amends::{Engine, Outcome};
use amends_nats::{Commands, Connection, NatsPublisher, NatsSettings, Replies, ReplySettings};
use amends_sea_orm::SqliteStore;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::caller::{Caller, Program};

/// What the participants of `examples/nats` are asked.
#[derive(Clone, Serialize, Deserialize)]
struct Charge {
    order: String,
    cents: i64,
    does: String,
}

impl Payload for Charge {
    const SCHEMA: &'static str = "charge/1";
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Charged {
    charge: String,
}

impl Payload for Charged {
    const SCHEMA: &'static str = "charged/1";
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Declined {
    reason: String,
}

impl Payload for Declined {
    const SCHEMA: &'static str = "declined/1";
}

/// The point of no return: some orders do not pass it.
struct Release;

impl Step for Release {
    type Input = (Charge, Charged);
    type Output = String;
    type Refusal = String;
    type Settle = ByOperator;

    async fn run(
        &self,
        _: &StepContext,
        (order, charged): (Charge, Charged),
    ) -> Result<String, StepError<String>> {
        match order.order.as_str() {
            "unwanted" => Err(StepError::Refused("nobody wants it any more".to_owned())),
            _ => Ok(charged.charge),
        }
    }
}

struct Shop {
    engine: Engine,
    saga: Saga<Charge, String>,
    replies: Replies,
    _folder: TempDir,
}

impl Shop {
    async fn open(url: &str) -> Self {
        let connection = Connection::open(NatsSettings::new(url)).await.expect("the server answers");
        let commands = Commands::new(connection.clone(), "amends", "test").expect("good names");
        let charge = commands.step::<Charge, Charged, Declined>("payments", "charge").expect("good names");
        let (mut s, order) = SagaBuilder::<Charge>::new("order", 1);
        let charged = s.step("charge", charge.timeout(seconds(1)), order);
        let (released, s) = s.pivot("release", Release, (order, charged));
        let saga = s.finish(released).expect("a sound definition");
        let folder = tempfile::tempdir().expect("a folder");
        let store = SqliteStore::open(&folder.path().join("sagas.db")).await.expect("a store");
        let publisher = NatsPublisher::new(connection.clone(), "amends").expect("a good name");
        let engine = Engine::builder(Arc::new(store))
            .register(saga.clone())
            .publisher_of(OutboxKind::Command, Arc::new(publisher))
            .start()
            .await
            .expect("the engine starts");
        let replies =
            Replies::take(engine.clone(), connection, ReplySettings::new("test")).await.expect("good names");
        Self { engine, saga, replies, _folder: folder }
    }

    async fn order(&self, order: &str, does: &str) -> Outcome<String> {
        let input = Charge { order: order.to_owned(), cents: 500, does: does.to_owned() };
        let saga = self.engine.start(&self.saga, order, input).await.expect("it starts");
        let outcome = tokio::time::timeout(Duration::from_secs(60), saga.outcome()).await;
        match outcome {
            Ok(outcome) => outcome.expect("it ends"),
            Err(_) => panic!("{order} stands at\n{}", saga.view().await.expect("a view").timeline()),
        }
    }

    async fn close(self) {
        self.replies.stop().await;
        self.engine.shutdown(Duration::from_secs(10)).await.expect("it ends");
    }
}

/// Runs sagas whose payments a participant of this language makes.
pub async fn check(program: Program) {
    let caller = Caller::start(program).await;
    let shop = Shop::open(&caller.url()).await;
    assert_eq!(shop.order("plain", "succeed").await, Outcome::Completed("attempt 1".to_owned()));
    assert_eq!(caller.lines("plain").await, 1);
    assert!(matches!(shop.order("declined", "refuse").await, Outcome::Compensated { .. }));
    assert_eq!(caller.lines("declined").await, 0);
    assert!(matches!(shop.order("unwanted", "succeed").await, Outcome::Compensated { .. }));
    assert_eq!(caller.lines("unwanted").await, 2, "charged, and given back");
    assert!(matches!(shop.order("half", "partly").await, Outcome::Compensated { .. }));
    assert_eq!(caller.lines("half").await, 2);
    shop.close().await;
}

/// The participant is away when it is asked, and takes the command when it is back.
pub async fn check_absence(program: Program) {
    let mut caller = Caller::start(program).await;
    let shop = Shop::open(&caller.url()).await;
    caller.stop_participant();
    let order = async {
        let outcome = shop.order("patient", "succeed").await;
        assert_eq!(outcome, Outcome::Completed("attempt 1".to_owned()));
    };
    let back = async {
        shop.asked_about("patient").await;
        caller.start_participant();
    };
    tokio::join!(order, back);
    assert_eq!(caller.lines("patient").await, 1);
    shop.close().await;
}

impl Shop {
    /// Returns once the outcome of the order's charge is unknown.
    async fn asked_about(&self, order: &str) {
        loop {
            if let Some(saga) = self.engine.find("order", order).await.expect("the store answers")
                && saga.view().await.expect("a view").timeline().contains("unknown")
            {
                return;
            }
            look_again().await;
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the participant is another process, and time is real here")]
async fn look_again() {
    tokio::time::sleep(Duration::from_millis(20)).await;
}
