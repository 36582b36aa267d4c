//! The service: it reserves and charges, in the transaction of its barrier.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use amends_barrier::{Answer, Error, Finding, Outcome, Undo, close_out, compensate, forward, in_transaction};
use amends_nats::{Call, Direction, Handler, NotNow, Reply};
use async_trait::async_trait;
use sea_orm::{
    ConnectOptions, ConnectionTrait, Database, DatabaseConnection, DatabaseTransaction, DbBackend, Statement,
};
use serde::Deserialize;
use tokio::sync::Semaphore;
use uuid::Uuid;

use crate::world::Order;

/// The service's name on the wire.
pub(crate) const SERVICE: &str = "shop";

/// What took effect: the request, the order, and what was done for it.
pub(crate) type Effect = (String, String, String);

/// A service whose effects and barrier outlive the processes that take its commands.
#[derive(Clone)]
pub(crate) struct Service {
    db: DatabaseConnection,
    calls: Arc<Mutex<BTreeMap<Uuid, u32>>>,
    /// Commands wait here, before anything is done. Open at first.
    pub(crate) gate: Arc<Semaphore>,
    /// Commands wait here, after everything is done and before they are answered. Open at first.
    pub(crate) exit: Arc<Semaphore>,
}

/// The body of a compensation, as far as it is needed here.
#[derive(Deserialize)]
struct Undoing {
    input: Order,
}

impl Service {
    /// In this folder; a process of its own, as far as the file can tell.
    pub(crate) async fn open(folder: &Path) -> Self {
        let mut options =
            ConnectOptions::new(format!("sqlite://{}?mode=rwc", folder.join("service.db").display()));
        options.max_connections(1).sqlx_logging(false);
        let db = Database::connect(options).await.unwrap();
        db.execute_unprepared("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL").await.unwrap();
        amends_barrier::install(&db).await.unwrap();
        db.execute_unprepared("CREATE TABLE IF NOT EXISTS effect (request TEXT, key TEXT, what TEXT)")
            .await
            .unwrap();
        let open = || Arc::new(Semaphore::new(Semaphore::MAX_PERMITS));
        Self { db, calls: Arc::default(), gate: open(), exit: open() }
    }

    pub(crate) fn db(&self) -> &DatabaseConnection {
        &self.db
    }

    /// Everything that took effect.
    pub(crate) async fn effects(&self) -> Vec<Effect> {
        let all = Statement::from_string(DbBackend::Sqlite, "SELECT request, key, what FROM effect");
        let rows = self.db.query_all_raw(all).await.unwrap();
        let text = |row: &sea_orm::QueryResult, column| row.try_get::<String>("", column).unwrap();
        rows.iter().map(|row| (text(row, "request"), text(row, "key"), text(row, "what"))).collect()
    }

    /// How often each request was delivered, whatever became of it.
    pub(crate) fn calls(&self) -> BTreeMap<Uuid, u32> {
        self.calls.lock().unwrap().clone()
    }

    /// How many commands were delivered, repeats among them.
    pub(crate) fn deliveries(&self) -> u32 {
        self.calls.lock().unwrap().values().sum()
    }

    async fn carried_out(&self, call: &Call, order: &Order) -> Result<Reply, Error> {
        let (request, declined) = (call.request_id, call.operation == "charge" && order.amount == 0);
        let answer = in_transaction(&self.db, async |txn| {
            forward(txn, known(call), || async {
                if declined {
                    return Ok(Outcome::Refused("nothing to charge".to_owned()));
                }
                take_effect(txn, request, &order.order, &call.operation).await?;
                Ok::<_, Error>(Outcome::Success(order.amount))
            })
            .await
        });
        Ok(answered(answer.await?, |kept| told(&kept)))
    }

    async fn undone(&self, call: &Call, of: Uuid, order: &Order) -> Result<Reply, Error> {
        let (request, what) = (call.request_id, format!("undo-{}", call.operation));
        let answer = in_transaction(&self.db, async |txn| {
            compensate(txn, known(call), of, || async {
                take_effect(txn, request, &order.order, &what).await?;
                Ok::<_, Error>(Undo::Undone)
            })
            .await
        });
        Ok(answered(answer.await?, undo_told))
    }
}

async fn take_effect(txn: &DatabaseTransaction, request: Uuid, key: &str, what: &str) -> Result<(), Error> {
    let values = [request.to_string().into(), key.into(), what.into()];
    let insert = "INSERT INTO effect VALUES ($1, $2, $3)";
    txn.execute_raw(Statement::from_sql_and_values(DbBackend::Sqlite, insert, values)).await?;
    Ok(())
}

pub(crate) fn known(call: &Call) -> amends_barrier::Call {
    let &Call { request_id, attempt, input_digest, .. } = call;
    amends_barrier::Call { request_id, attempt, input_digest }
}

fn answered<K>(answer: Answer<K>, kept: impl FnOnce(K) -> Reply) -> Reply {
    match answer {
        Answer::Kept(answer) => kept(answer),
        Answer::Fenced(fence) => Reply::Fenced(fence.through()),
        Answer::ClosedOut(said) => Reply::from_said(&said),
        Answer::Mismatch => Reply::Mismatch,
    }
}

fn told(kept: &Outcome<u64, String>) -> Reply {
    match kept {
        Outcome::Success(amount) => Reply::applied(amount),
        Outcome::Partial(amount) => Reply::partial(amount.as_ref()),
        Outcome::Refused(reason) => Reply::refused(reason),
    }
}

fn undo_told(undo: Undo) -> Reply {
    match undo {
        Undo::Undone => Reply::undone(),
        Undo::NothingToUndo => Reply::nothing_to_undo(),
    }
}

fn found<K>(finding: Finding<K>, kept: impl FnOnce(K) -> Reply) -> Reply {
    match finding {
        Finding::Kept(answer) => kept(answer),
        Finding::Fenced(fence) => Reply::Fenced(fence.through()),
        Finding::InProgress => Reply::InProgress,
        Finding::Absent => Reply::Absent,
    }
}

#[async_trait]
impl Handler for Service {
    async fn command(&self, call: &Call) -> Result<Reply, NotNow> {
        *self.calls.lock().unwrap().entry(call.request_id).or_default() += 1;
        let _pass = self.gate.acquire().await.map_err(NotNow::because)?;
        let reply = match call.forward_request_id {
            None => {
                let order = call.body.decode::<Order>().map_err(NotNow::because)?;
                self.carried_out(call, &order).await
            }
            Some(of) => {
                let Undoing { input } = call.body.decode().map_err(NotNow::because)?;
                self.undone(call, of, &input).await
            }
        };
        let _pass = self.exit.acquire().await.map_err(NotNow::because)?;
        reply.map_err(NotNow::because)
    }

    async fn close_out(&self, call: &Call, reply: Reply) -> Result<Reply, NotNow> {
        let said = reply.to_said();
        let answer = in_transaction(&self.db, async |txn| {
            close_out::<u64, String>(txn, known(call).into(), &said).await
        });
        Ok(answered(answer.await.map_err(NotNow::because)?, |kept| told(&kept)))
    }

    async fn query(&self, call: &Call) -> Result<Reply, NotNow> {
        let (request, fence) = (call.request_id, call.fence_through);
        let answer = in_transaction(&self.db, async |txn| {
            Ok::<_, Error>(match call.direction {
                Direction::Forward => {
                    found(amends_barrier::query::<u64, String>(txn, request, fence).await?, |kept| {
                        told(&kept)
                    })
                }
                Direction::Compensation => {
                    found(amends_barrier::query_compensation(txn, request, fence).await?, undo_told)
                }
            })
        });
        answer.await.map_err(NotNow::because)
    }
}
