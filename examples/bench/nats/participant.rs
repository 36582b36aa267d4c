//! The service of the commands: another process, which the bench starts from its own program.
//!
//! It says on its standard output that it is ready, and ends when its standard input does: no bench leaves one behind.

use std::io::Read as _;
use std::path::Path;

use amends_barrier::{Answer, Error, Outcome, forward, in_transaction};
use amends_nats::{Call, Connection, Handler, NatsSettings, NotNow, Participant, ParticipantSettings, Reply};
use anyhow::Context as _;
use async_trait::async_trait;
use clap::ValueEnum;
use futures_util::StreamExt as _;
use sea_orm::{ConnectOptions, ConnectionTrait as _, Database, DatabaseConnection, DatabaseTransaction};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::workload::{PREFIX, SERVICE};

/// What it keeps of each command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Keeps {
    /// Nothing: it answers at once. No service may do that; it shows what the others pay for.
    Nothing,
    /// An effect and its answer behind a barrier, in one transaction for each command.
    Each,
    /// The same, and the commands that wait share a transaction.
    Together,
}

impl Keeps {
    pub fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Each => "each",
            Self::Together => "together",
        }
    }

    fn per_transaction(self) -> usize {
        if self == Self::Together { 256 } else { 1 }
    }
}

/// Where whoever asks is answered at once: the ceiling of request and reply.
pub const ECHO: &str = "bench.echo";

/// The most commands that are worked on at once.
const IN_FLIGHT: usize = 256;

/// Runs until nobody holds the other end of the standard input.
pub async fn run(url: &str, keeps: Keeps, folder: &Path) -> anyhow::Result<()> {
    let connection = Connection::open(NatsSettings::new(url).name(SERVICE)).await?;
    let mut echo = connection.client().subscribe(ECHO).await?;
    let client = connection.client().clone();
    let echoing = tokio::spawn(async move {
        while let Some(message) = echo.next().await {
            if let Some(inbox) = message.reply {
                let _ = client.publish(inbox, message.payload).await;
            }
        }
    });
    let settings = ParticipantSettings {
        prefix: PREFIX.to_owned(),
        in_flight: IN_FLIGHT,
        ..ParticipantSettings::new(SERVICE)
    };
    let participant = match keeps {
        Keeps::Nothing => Participant::start(connection, settings, Forgets).await?,
        Keeps::Each | Keeps::Together => {
            let db = open(&folder.join("participant.db")).await?;
            let (orders, waiting) = mpsc::channel(IN_FLIGHT);
            tokio::spawn(keep(db, waiting, keeps.per_transaction()));
            Participant::start(connection, settings, Service(orders)).await?
        }
    };
    println!("ready");
    tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new())).await??;
    echoing.abort();
    participant.stop().await;
    Ok(())
}

async fn open(file: &Path) -> anyhow::Result<DatabaseConnection> {
    let mut options = ConnectOptions::new(format!("sqlite://{}?mode=rwc", file.display()));
    options.max_connections(1).sqlx_logging(false);
    let db = Database::connect(options).await.with_context(|| format!("open {}", file.display()))?;
    db.execute_unprepared("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL").await?;
    amends_barrier::install(&db).await?;
    db.execute_unprepared("CREATE TABLE effect (id INTEGER PRIMARY KEY, what TEXT NOT NULL)").await?;
    Ok(db)
}

struct Forgets;

#[async_trait]
impl Handler for Forgets {
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

/// A command, and who waits for its answer.
type Order = (Call, oneshot::Sender<Result<Reply, NotNow>>);

/// Hands commands to the one task that writes.
struct Service(mpsc::Sender<Order>);

#[async_trait]
impl Handler for Service {
    async fn command(&self, call: &Call) -> Result<Reply, NotNow> {
        let (answer, answered) = oneshot::channel();
        let gone = |_| NotNow::because("the writer is gone");
        self.0.send((call.clone(), answer)).await.map_err(|_| NotNow::because("the writer is gone"))?;
        answered.await.map_err(gone)?
    }

    async fn close_out(&self, _: &Call, _: Reply) -> Result<Reply, NotNow> {
        Err(NotNow::because("nothing fails in this measurement"))
    }

    async fn query(&self, _: &Call) -> Result<Reply, NotNow> {
        Err(NotNow::because("nobody asks in this measurement"))
    }
}

/// Carries out what waits, so many commands in one transaction.
async fn keep(db: DatabaseConnection, mut waiting: mpsc::Receiver<Order>, per_transaction: usize) {
    let mut orders = Vec::new();
    while waiting.recv_many(&mut orders, per_transaction).await > 0 {
        let (calls, answers): (Vec<Call>, Vec<_>) = orders.drain(..).unzip();
        let kept = in_transaction(&db, async |txn| {
            let mut replies = Vec::with_capacity(calls.len());
            for call in &calls {
                replies.push(carry_out(txn, call).await?);
            }
            Ok::<_, Error>(replies)
        });
        match kept.await {
            Ok(replies) => {
                for (answer, reply) in answers.into_iter().zip(replies) {
                    let _ = answer.send(Ok(reply));
                }
            }
            Err(error) => {
                for answer in answers {
                    let _ = answer.send(Err(NotNow::because(&error)));
                }
            }
        }
    }
}

async fn carry_out(txn: &DatabaseTransaction, call: &Call) -> Result<Reply, Error> {
    let of = amends_barrier::Call {
        request_id: call.request_id,
        attempt: call.attempt,
        input_digest: call.input_digest,
    };
    let answer = forward::<Value, Value, Error, _, _>(txn, of, || async {
        txn.execute_unprepared("INSERT INTO effect (what) VALUES ('sent')").await?;
        let result = serde_json::from_str(call.body.text()).unwrap_or(Value::Null);
        Ok(Outcome::Success(result))
    });
    Ok(match answer.await? {
        Answer::Kept(Outcome::Success(result)) => Reply::applied(&result),
        Answer::Kept(Outcome::Partial(result)) => Reply::partial(result.as_ref()),
        Answer::Kept(Outcome::Refused(reason)) => Reply::refused(&reason),
        Answer::Fenced(fence) => Reply::Fenced(fence.through()),
        Answer::ClosedOut(said) => Reply::from_said(&said),
        Answer::Mismatch => Reply::Mismatch,
    })
}
