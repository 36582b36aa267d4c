//! A participant in Rust: a service that charges cards for sagas over NATS.
//!
//! Its effects and its barrier are one SQLite file, so that both are one transaction. Beside it stand the same service in
//! Python and in JavaScript, in `examples/nats`.
//!
//!     cargo run --example nats_participant -- --nats nats://127.0.0.1:4222 --database payments.db

use std::io::IsTerminal as _;

use amends_barrier::{Answer, Error, Finding, Outcome, Undo, close_out, compensate, forward, in_transaction};
use amends_nats::{
    Call, Connection, Direction, Handler, NatsSettings, NotNow, Participant, ParticipantSettings, Reply,
};
use anyhow::{Context as _, anyhow};
use async_trait::async_trait;
use clap::Parser;
use sea_orm::{
    ConnectOptions, ConnectionTrait, Database, DatabaseConnection, DatabaseTransaction, DbErr, Statement,
};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

/// A service that charges cards for sagas over NATS.
#[derive(Parser)]
struct Options {
    /// Where the nats-server listens.
    #[arg(long, default_value = "nats://127.0.0.1:4222")]
    nats: String,
    /// The SQLite file with its effects and its barrier.
    #[arg(long, default_value = "payments.db")]
    database: String,
    /// The service's name on the wire.
    #[arg(long, default_value = "payments")]
    service: String,
    /// The installation's prefix.
    #[arg(long, default_value = "amends")]
    prefix: String,
}

/// What is charged. What `does` and `undo` ask for makes the operation fail, as a real one may.
#[derive(Clone, Deserialize)]
struct Charge {
    order: String,
    cents: i64,
    #[serde(default)]
    does: String,
    #[serde(default)]
    undo: String,
}

/// The body of a compensation, as far as it is needed here.
#[derive(Deserialize)]
struct Undoing {
    input: Charge,
}

/// Why a call was rolled back.
enum Failed {
    Barrier(Error),
    /// Nothing took effect, and this is why.
    Answered(Reply),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::Barrier(error)
    }
}

impl From<DbErr> for Failed {
    fn from(error: DbErr) -> Self {
        Self::Barrier(error.into())
    }
}

struct Payments(DatabaseConnection);

async fn book(txn: &DatabaseTransaction, account: &str, cents: i64) -> Result<(), Failed> {
    let insert = "INSERT INTO ledger (account, cents) VALUES ($1, $2)";
    let values = [account.into(), cents.into()];
    txn.execute_raw(Statement::from_sql_and_values(txn.get_database_backend(), insert, values)).await?;
    Ok(())
}

fn gateway_is_down() -> Failed {
    Failed::Answered(Reply::transient("gateway-down", "the gateway does not answer; nothing took effect"))
}

impl Payments {
    async fn charge(&self, call: &Call, of: Charge) -> Result<Reply, Failed> {
        let attempt = call.attempt;
        let answer = in_transaction(&self.0, async |txn| {
            forward(txn, barrier_call(call), || async {
                match of.does.as_str() {
                    "fail" => return Err(gateway_is_down()),
                    "refuse" => {
                        return Ok(Outcome::Refused(json!({"reason": "card-declined", "attempt": attempt})));
                    }
                    _ => book(txn, &of.order, of.cents).await?,
                }
                let result = json!({"charge": format!("attempt {attempt}")});
                Ok(if of.does == "partly" {
                    Outcome::Partial(Some(result))
                } else {
                    Outcome::Success(result)
                })
            })
            .await
        });
        Ok(answered(answer.await?, |kept| told(&kept)))
    }

    async fn refund(&self, call: &Call, forward_request: Uuid, of: Charge) -> Result<Reply, Failed> {
        let answer = in_transaction(&self.0, async |txn| {
            compensate(txn, barrier_call(call), forward_request, || async {
                if of.undo == "fail" {
                    return Err(gateway_is_down());
                }
                book(txn, &of.order, -of.cents).await?;
                Ok(Undo::Undone)
            })
            .await
        });
        Ok(answered(answer.await?, undone))
    }
}

fn barrier_call(call: &Call) -> amends_barrier::Call {
    amends_barrier::Call {
        request_id: call.request_id,
        attempt: call.attempt,
        input_digest: call.input_digest,
    }
}

fn answered<K>(answer: Answer<K>, kept: impl FnOnce(K) -> Reply) -> Reply {
    match answer {
        Answer::Kept(answer) => kept(answer),
        Answer::Fenced(fence) => Reply::Fenced(fence.through()),
        Answer::ClosedOut(said) => Reply::from_said(&said),
        Answer::Mismatch => Reply::Mismatch,
    }
}

fn told(kept: &Outcome<Value, Value>) -> Reply {
    match kept {
        Outcome::Success(result) => Reply::applied(result),
        Outcome::Partial(result) => Reply::partial(result.as_ref()),
        Outcome::Refused(reason) => Reply::refused(reason),
    }
}

fn undone(undo: Undo) -> Reply {
    match undo {
        Undo::Undone => Reply::undone(),
        Undo::NothingToUndo => Reply::nothing_to_undo(),
    }
}

#[async_trait]
impl Handler for Payments {
    async fn command(&self, call: &Call) -> Result<Reply, NotNow> {
        let unreadable = |error| Ok(Reply::persistent("unreadable", error));
        let answered = match (call.operation.as_str(), call.forward_request_id) {
            ("charge", None) => match call.body.decode() {
                Ok(of) => self.charge(call, of).await,
                Err(error) => return unreadable(error),
            },
            ("charge", Some(forward_request)) => match call.body.decode() {
                Ok(Undoing { input }) => self.refund(call, forward_request, input).await,
                Err(error) => return unreadable(error),
            },
            (other, _) => {
                return Ok(Reply::persistent("no-such-operation", format!("nobody here knows `{other}`")));
            }
        };
        match answered {
            Ok(reply) | Err(Failed::Answered(reply)) => Ok(reply),
            Err(Failed::Barrier(error)) => Err(NotNow::because(error)),
        }
    }

    async fn close_out(&self, call: &Call, reply: Reply) -> Result<Reply, NotNow> {
        let said = reply.to_said();
        let answer = in_transaction(&self.0, async |txn| {
            close_out::<Value, Value>(txn, barrier_call(call).into(), &said).await
        });
        Ok(answered(answer.await.map_err(NotNow::because)?, |kept| told(&kept)))
    }

    async fn query(&self, call: &Call) -> Result<Reply, NotNow> {
        let (request, fence) = (call.request_id, call.fence_through);
        let found = in_transaction(&self.0, async |txn| {
            Ok::<_, Error>(match call.direction {
                Direction::Forward => {
                    finding(amends_barrier::query::<Value, Value>(txn, request, fence).await?, |kept| {
                        told(&kept)
                    })
                }
                Direction::Compensation => {
                    finding(amends_barrier::query_compensation(txn, request, fence).await?, undone)
                }
            })
        });
        found.await.map_err(NotNow::because)
    }
}

fn finding<K>(finding: Finding<K>, kept: impl FnOnce(K) -> Reply) -> Reply {
    match finding {
        Finding::Kept(answer) => kept(answer),
        Finding::Fenced(fence) => Reply::Fenced(fence.through()),
        Finding::InProgress => Reply::InProgress,
        Finding::Absent => Reply::Absent,
    }
}

async fn open(file: &str) -> anyhow::Result<DatabaseConnection> {
    let mut options = ConnectOptions::new(format!("sqlite://{file}?mode=rwc"));
    options.max_connections(1).sqlx_logging(false);
    let db = Database::connect(options).await.with_context(|| format!("open {file}"))?;
    db.execute_unprepared("PRAGMA journal_mode = WAL").await?;
    amends_barrier::install(&db).await?;
    let ledger = "CREATE TABLE IF NOT EXISTS ledger (id INTEGER PRIMARY KEY, account TEXT NOT NULL, cents INTEGER NOT NULL)";
    db.execute_unprepared(ledger).await?;
    Ok(db)
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let colours =
        std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty());
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(colours).init();
    let payments = Payments(open(&options.database).await?);
    let connection = Connection::open(NatsSettings::new(options.nats).name(&options.service)).await;
    let connection = connection.map_err(|error| {
        anyhow!(
            "{error}; start a nats-server with JetStream (nats-server -js), or give --nats the address of one"
        )
    })?;
    let mut settings = ParticipantSettings::new(&options.service);
    settings.prefix = options.prefix;
    let participant = Participant::start(connection, settings, payments).await;
    let participant = participant.context("start the engine first, which declares the streams")?;
    println!("{} is ready", options.service);

    let mut terminated = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted?,
        _ = terminated.recv() => {}
    }
    participant.stop().await;
    Ok(())
}
