//! What a saga over NATS costs, in commits, rows and messages: numbers that no network and no load can change. Timings are
//! the bench's business (`examples/bench`, `--nats`).

#[path = "../examples/bench/nats/workload.rs"]
mod nats_workload;
#[path = "../examples/bench/workload.rs"]
#[expect(dead_code, reason = "the bench runs other shapes too")]
mod workload;

use std::sync::Arc;
use std::time::Duration;

use amends::ports::{OutboxKind, WriteStats};
use amends::{Engine, Outcome};
use amends_nats::{
    Call, Commands, Connection, Handler, NatsPublisher, NatsSettings, NotNow, Participant,
    ParticipantSettings, Replies, Reply, ReplySettings, StreamSettings, Triggers, streams,
};
use amends_nats_testkit::Server;
use amends_sea_orm::SqliteStore;
use async_trait::async_trait;
use nats_workload::{ENGINE, PREFIX, SERVICE, STREAM, SUBJECT, event, four_commands, trigger};
use tempfile::TempDir;
use workload::{input, one_step};

struct AnswersAtOnce;

#[async_trait]
impl Handler for AnswersAtOnce {
    async fn command(&self, call: &Call) -> Result<Reply, NotNow> {
        Ok(Reply::Applied(call.body.clone()))
    }

    async fn close_out(&self, _: &Call, reply: Reply) -> Result<Reply, NotNow> {
        Ok(reply)
    }

    async fn query(&self, _: &Call) -> Result<Reply, NotNow> {
        Ok(Reply::Absent)
    }
}

async fn store() -> (Arc<SqliteStore>, TempDir) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = SqliteStore::open(folder.path().join("counts.db")).await.expect("a fresh file opens");
    (Arc::new(store), folder)
}

async fn connect(server: &Server) -> Connection {
    Connection::open(NatsSettings::new(server.url())).await.expect("the server answers")
}

/// What sagas of four commands cost.
struct Cost {
    wrote: WriteStats,
    commands: u64,
    replies: u64,
}

/// Runs so many at once.
async fn of_commands(sagas: usize) -> Cost {
    let server = Server::start();
    let connection = connect(&server).await;
    for settings in streams(PREFIX).expect("a good name") {
        connection.declare_stream(&settings, true).await.expect("it is declared");
    }
    let settings = ParticipantSettings { prefix: PREFIX.to_owned(), ..ParticipantSettings::new(SERVICE) };
    let participant = Participant::start(connect(&server).await, settings, AnswersAtOnce).await;
    let (participant, (store, _folder)) = (participant.expect("it begins"), store().await);
    let commands = Commands::new(connection.clone(), PREFIX, ENGINE).expect("good names");
    let saga = four_commands(&commands).expect("a sound definition");
    let publisher = NatsPublisher::new(connection.clone(), PREFIX).expect("a good name");
    let engine = Engine::builder(store.clone()).register(saga.clone());
    let engine = engine.publisher_of(OutboxKind::Command, Arc::new(publisher)).start().await;
    let engine = engine.expect("it starts");
    let settings = ReplySettings { prefix: PREFIX.to_owned(), ..ReplySettings::new(ENGINE) };
    let replies = Replies::take(engine.clone(), connection.clone(), settings).await.expect("good names");
    let callers: Vec<_> = (0..sagas)
        .map(|n| {
            let (engine, saga) = (engine.clone(), saga.clone());
            tokio::spawn(async move {
                let started = engine.start(&saga, format!("saga-{n}"), input(n)).await.expect("it starts");
                assert_eq!(started.outcome().await.expect("an outcome"), Outcome::Completed(input(n)));
            })
        })
        .collect();
    for caller in callers {
        caller.await.expect("every saga ends");
    }
    // What was acknowledged is removed after its saga went on: in the end the outbox is empty.
    while !engine.outbox().await.expect("the store answers").counts.is_empty() {
        tokio::task::yield_now().await;
    }
    let last = async |name: &str| {
        let stream = connection.jetstream().get_stream(name).await.expect("it is there");
        stream.cached_info().state.last_sequence
    };
    let [of_commands, of_replies, _] = streams(PREFIX).expect("a good name");
    let cost = Cost {
        wrote: store.stats(),
        commands: last(&of_commands.name).await,
        replies: last(&of_replies.name).await,
    };
    replies.stop().await;
    participant.stop().await;
    engine.shutdown(Duration::from_secs(5)).await.expect("it drains");
    cost
}

#[tokio::test]
async fn a_lone_saga_of_four_commands_costs_four_messages_each_way_and_five_rows() {
    let Cost { wrote, commands, replies } = of_commands(1).await;
    assert_eq!((commands, replies), (4, 4), "each attempt is one command and one reply");
    assert_eq!((wrote.commits, wrote.journal_rows), (5, 5), "as if its steps ran in this process");
    assert_eq!((wrote.saga_inserts, wrote.saga_updates), (1, 1));
    assert_eq!(wrote.outbox, 8, "four written, four removed");
    assert_eq!(wrote.mail, 4, "each reply is kept by the transition that decides it");
}

#[tokio::test]
async fn the_more_sagas_wait_for_replies_the_more_rows_share_a_commit() {
    let Cost { wrote, commands, replies } = of_commands(128).await;
    assert_eq!((commands, replies), (512, 512), "load adds no messages");
    assert_eq!(wrote.journal_rows, 640, "and no rows");
    let per_commit = wrote.journal_rows as f64 / wrote.commits as f64;
    assert!(per_commit > 4.0, "{per_commit:.1} rows in each commit");
}

#[tokio::test]
async fn events_that_wait_become_sagas_in_shared_commits_and_one_delivery_each() {
    const EVENTS: u64 = 512;
    let server = Server::start();
    let connection = connect(&server).await;
    let stream = StreamSettings::new(STREAM, [SUBJECT]);
    connection.declare_stream(&stream, true).await.expect("it is declared");
    for n in 0..EVENTS {
        let mut headers = async_nats::HeaderMap::new();
        headers.insert("Nats-Msg-Id", format!("event-{n}").as_str());
        let body = event(n as usize).into();
        let sent = connection.jetstream().publish_with_headers(SUBJECT, headers, body).await;
        sent.expect("it leaves").await.expect("the stream takes it");
    }
    let (store, _folder) = store().await;
    let saga = one_step().expect("a sound definition");
    let engine = Engine::builder(store.clone()).register(saga.clone()).start().await.expect("it starts");
    let triggers = Triggers::on(&connection, &engine).with(trigger(&saga)).start().await.expect("they start");
    let all = |readiness: &amends_nats::Readiness| readiness.triggers[0].counters.ended() == EVENTS;
    let counters = triggers.until(all).await.triggers[0].counters;
    assert_eq!((counters.sagas, counters.deliveries), (EVENTS, EVENTS));
    while store.stats().saga_updates < EVENTS {
        tokio::task::yield_now().await;
    }
    let wrote = store.stats();
    assert_eq!(wrote.journal_rows, 2 * EVENTS, "the start, and the end of its one step");
    let per_commit = wrote.journal_rows as f64 / wrote.commits as f64;
    assert!(per_commit > 4.0, "{per_commit:.1} rows in each commit");
    triggers.stop(Duration::from_secs(5)).await;
    engine.shutdown(Duration::from_secs(5)).await.expect("it drains");
}
