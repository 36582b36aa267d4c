//! The consumers of replies and of commands: left as somebody made them, missed by name, and told when they stand still.

use std::sync::Arc;
use std::time::Duration;

use amends::memory::MemoryStore;
use amends::ports::IntakeFilter;
use amends::{Engine, Outcome, Saga};
use amends_nats::{
    Call, Connection, ConsumerReadiness, ConsumerState, DeclareError, Handler, NatsPublisher, NotNow,
    Participant, ParticipantError, ParticipantSettings, Replies, Reply, ReplySettings, streams,
};
use amends_nats_testkit::Server;
use amends_sea_orm::SqliteStore;
use async_nats::jetstream::consumer::pull;
use async_trait::async_trait;
use tokio::sync::Semaphore;

use crate::command_permissions::engine_on;
use crate::world::{Order, connect};

const REPLIES: &str = "AMENDS_REPLIES";
const COMMANDS: &str = "AMENDS_COMMANDS";

/// A service whose answers wait at a gate.
#[derive(Clone)]
struct Pays(Arc<Semaphore>);

impl Pays {
    fn at_once() -> Self {
        Self(Arc::new(Semaphore::new(Semaphore::MAX_PERMITS)))
    }

    fn when_told() -> Self {
        Self(Arc::new(Semaphore::new(0)))
    }
}

#[async_trait]
impl Handler for Pays {
    async fn command(&self, _: &Call) -> Result<Reply, NotNow> {
        let _pass = self.0.acquire().await.map_err(NotNow::because)?;
        Ok(Reply::applied(&7))
    }

    async fn close_out(&self, _: &Call, reply: Reply) -> Result<Reply, NotNow> {
        Ok(reply)
    }

    async fn query(&self, _: &Call) -> Result<Reply, NotNow> {
        Ok(Reply::InProgress)
    }
}

/// A server with the streams of an installation.
async fn installed() -> (Server, Connection) {
    let server = Server::start();
    let connection = connect(&server).await;
    declare(&connection).await;
    (server, connection)
}

async fn declare(connection: &Connection) {
    for settings in streams("amends").unwrap() {
        connection.declare_stream(&settings, true).await.unwrap();
    }
}

async fn engine_in_memory(connection: &Connection) -> (Engine, Saga<Order, u64>) {
    let publisher = Arc::new(NatsPublisher::new(connection.clone(), "amends").unwrap());
    engine_on(Arc::new(MemoryStore::new()), connection, publisher).await
}

async fn replies(
    engine: &Engine,
    connection: &Connection,
    change: impl FnOnce(&mut ReplySettings),
) -> Replies {
    let mut settings = ReplySettings::new("test");
    change(&mut settings);
    Replies::take(engine.clone(), connection.clone(), settings).await.unwrap()
}

/// A consumer that somebody made, with other numbers than ours.
async fn made_by_hand(connection: &Connection, stream: &str, name: &str, subject: &str) {
    let config = pull::Config {
        durable_name: Some(name.to_owned()),
        filter_subject: subject.to_owned(),
        ack_wait: Duration::from_secs(7),
        max_ack_pending: 50,
        ..pull::Config::default()
    };
    connection.jetstream().get_stream(stream).await.unwrap().create_consumer(config).await.unwrap();
}

/// What it is told to differ in, and what the server says after that.
async fn told_and_left(connection: &Connection, of: &ConsumerReadiness) {
    let told: Vec<String> = of.differences.iter().map(ToString::to_string).collect();
    let name = format!("consumer {} of {}", of.consumer, of.stream);
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(told[0], format!("{name}: ack_wait is 7s, not 30s"));
    assert!(told[1].starts_with(&format!("{name}: max_ack_pending is 50, not ")), "{told:?}");
    let stream = connection.jetstream().get_stream(&of.stream).await.unwrap();
    let left = stream.consumer_info(&of.consumer).await.unwrap().config;
    assert_eq!((left.ack_wait, left.max_ack_pending), (Duration::from_secs(7), 50), "it is left as it was");
}

async fn until(mut stands_so: impl FnMut() -> bool) {
    while !stands_so() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn consumers_that_somebody_made_otherwise_are_told_and_left_alone() {
    let (_server, connection) = installed().await;
    made_by_hand(&connection, REPLIES, "test", "amends.reply.test").await;
    made_by_hand(&connection, COMMANDS, "payments", "amends.command.payments.>").await;
    let (engine, saga) = engine_in_memory(&connection).await;
    let replies = replies(&engine, &connection, |_| {}).await;
    let settings = ParticipantSettings::new("payments");
    let participant = Participant::start(connection.clone(), settings, Pays::at_once()).await.unwrap();
    let order = Order { order: "o-1".to_owned(), amount: 7 };
    let paid = engine.start(&saga, "o-1", order).await.unwrap().outcome().await.unwrap();
    assert_eq!(paid, Outcome::Completed(7), "they work all the same");
    told_and_left(&connection, &replies.readiness()).await;
    told_and_left(&connection, &participant.readiness()).await;
    let readiness = connection.readiness().with(replies.readiness()).with(participant.readiness());
    assert!(readiness.is_ready(), "{:?}", readiness.problems());
}

#[tokio::test]
async fn a_consumer_that_nobody_may_create_is_missed_by_its_name() {
    let (_server, connection) = installed().await;
    let (engine, _saga) = engine_in_memory(&connection).await;
    let replies = replies(&engine, &connection, |settings| settings.create = false).await;
    let failing = |of: ConsumerReadiness| matches!(of.state, ConsumerState::Failing { .. });
    until(|| failing(replies.readiness())).await;
    let problems = connection.readiness().with(replies.readiness()).problems();
    let words = "failed to find the consumer test of AMENDS_REPLIES";
    assert!(
        problems[0].starts_with("the consumer test of AMENDS_REPLIES does not run since"),
        "{problems:?}"
    );
    assert!(problems[0].ends_with(words), "{problems:?}");
    assert!(!connection.readiness().with(replies.readiness()).is_ready());

    let settings = || ParticipantSettings { create: false, ..ParticipantSettings::new("payments") };
    let missed = Participant::start(connection.clone(), settings(), Pays::at_once()).await.unwrap_err();
    let of = "consumer payments of AMENDS_COMMANDS".to_owned();
    assert_eq!(missed, ParticipantError::Declare(DeclareError::Missing { of }));

    // Once they are there it goes on; deleted while it runs, it is missed too.
    made_by_hand(&connection, REPLIES, "test", "amends.reply.test").await;
    made_by_hand(&connection, COMMANDS, "payments", "amends.command.payments.>").await;
    until(|| replies.readiness().is_ready()).await;
    let participant = Participant::start(connection.clone(), settings(), Pays::at_once()).await.unwrap();
    assert!(participant.readiness().is_ready());
    let stream = connection.jetstream().get_stream(COMMANDS).await.unwrap();
    stream.delete_consumer("payments").await.unwrap();
    until(|| {
        let problems = connection.readiness().with(participant.readiness()).problems();
        problems.iter().any(|told| told.ends_with("failed to find the consumer payments of AMENDS_COMMANDS"))
    })
    .await;
    assert!(!participant.readiness().is_ready());
}

#[tokio::test]
async fn commands_and_replies_that_do_not_get_on_are_told_as_stalled() {
    let (_server, connection) = installed().await;
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(folder.path().join("amends.db")).await.unwrap());
    let publisher = Arc::new(NatsPublisher::new(connection.clone(), "amends").unwrap());
    let (engine, saga) = engine_on(store.clone(), &connection, publisher).await;
    let replies = replies(&engine, &connection, |settings| settings.stalled_after = Duration::ZERO).await;
    let pays = Pays::when_told();
    let settings =
        ParticipantSettings { stalled_after: Duration::ZERO, ..ParticipantSettings::new("payments") };
    let participant = Participant::start(connection.clone(), settings, pays.clone()).await.unwrap();
    let order = Order { order: "o-1".to_owned(), amount: 7 };
    let started = engine.start(&saga, "o-1", order).await.unwrap();

    until(|| participant.readiness().stalled_since.is_some()).await;
    let problems = connection.readiness().with(participant.readiness()).problems();
    let told = "the consumer payments of AMENDS_COMMANDS has 1 messages in hand and ended none since";
    assert!(problems[0].starts_with(told), "{problems:?}");

    store.faults().refuse_writes(true);
    pays.0.add_permits(1);
    until(|| participant.counters().answered == 1).await;
    assert!(participant.readiness().is_ready());
    until(|| replies.readiness().stalled_since.is_some()).await;
    let problems = connection.readiness().with(replies.readiness()).problems();
    let told = "the consumer test of AMENDS_REPLIES has 1 messages in hand and ended none since";
    assert!(problems[0].starts_with(told), "{problems:?}");

    store.faults().refuse_writes(false);
    assert_eq!(started.outcome().await.unwrap(), Outcome::Completed(7));
    until(|| replies.counters().taken == 1).await;
    assert!(replies.readiness().is_ready());
    replies.stop().await;
    participant.stop().await;
}

#[tokio::test]
async fn what_lies_at_the_first_place_of_a_recreated_stream_is_no_duplicate() {
    let (_server, connection) = installed().await;
    let (engine, _saga) = engine_in_memory(&connection).await;
    let replies = replies(&engine, &connection, |_| {}).await;
    until(|| replies.readiness().is_ready()).await;
    let nonsense = |text: &'static str| {
        let jetstream = connection.jetstream().clone();
        async move { jetstream.publish("amends.reply.test", text.into()).await.unwrap().await.unwrap().sequence }
    };
    assert_eq!(nonsense("one").await, 1);
    until(|| replies.counters().intake == 1).await;

    connection.jetstream().delete_stream(REPLIES).await.unwrap();
    until(|| !replies.readiness().is_ready()).await;
    declare(&connection).await;
    assert_eq!(nonsense("another").await, 1, "the place of the first one");
    until(|| replies.counters().intake == 2).await;
    let filter = IntakeFilter { limit: 100, ..IntakeFilter::default() };
    let kept = engine.operator().intake().list(&filter).await.unwrap();
    let mut raw: Vec<_> =
        kept.iter().map(|row| String::from_utf8_lossy(&row.raw.kept).into_owned()).collect();
    raw.sort();
    assert_eq!(raw, ["another", "one"]);
}
