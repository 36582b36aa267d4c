//! Hints by LISTEN and NOTIFY. Everything here may fail at any moment: who polls finds the same, later.
//!
//! *Giving*: whoever has posted mail or released sagas puts the hint into a set of those that are not yet sent, and
//! goes on; a task sends what is in the set as one statement after the other. So hints cost no commit anything
//! (PostgreSQL lets transactions with a NOTIFY commit one by one), and many at once are few. What is not sent is
//! forgotten.
//!
//! *Taking*: a task listens on a connection of its own, begun when somebody first asks for hints. What can go wrong:
//! *the connection ends, or falls silent*: nobody can tell a silent one from a quiet one, so after some quiet time
//! it is given up for a new one. Whoever listens anew has missed something, so all are told to look.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use amends::ports::{Fault, Hints};
use amends_core::Incarnation;
use async_trait::async_trait;
use sea_orm::sqlx;
use sea_orm::sqlx::postgres::{PgConnection, PgListener};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use uuid::Uuid;

use super::PostgresSettings;
use super::open::Address;
use super::runner::{Runner, detached};
use super::sql;
use crate::failure::Failure;
use crate::unit::Unit;

/// After so long without a hint the connection is replaced.
const QUIET: Duration = Duration::from_secs(120);

/// How long it may take to begin to listen.
const LISTEN_WITHIN: Duration = Duration::from_secs(10);

/// The wait before one listens anew after a failure.
const LISTEN_AGAIN: Duration = Duration::from_secs(1);

/// Who owns the saga that has something to do; none if anybody may take it.
pub(super) type Owner = Option<Incarnation>;

/// More owners than this at once are everybody.
const OWNERS_MAX: usize = 64;

/// Gives and takes hints. Cheap to clone; the tasks end with the last clone.
#[derive(Clone)]
pub(super) struct Hinting(Arc<Running>);

struct Running {
    address: Address,
    shared: Arc<Shared>,
    runner: Runner,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// There is something to send.
    unsent: Notify,
}

#[derive(Default)]
struct State {
    unsent: BTreeSet<Owner>,
    takers: Vec<(Incarnation, Hints)>,
    listening: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, owner: Owner) {
        let state = self.state();
        let concerned = state.takers.iter().filter(|(of, _)| owner.is_none_or(|owner| owner == *of));
        concerned.for_each(|(_, hints)| hints.give());
    }
}

impl Hinting {
    pub(super) fn new(address: Address, settings: &PostgresSettings) -> Self {
        let shared = Arc::new(Shared::default());
        let runner = Runner::new(address.notifier(settings), settings);
        let send = tokio::spawn(send(shared.clone(), runner.clone()));
        Self(Arc::new(Running { address, shared, runner, tasks: Mutex::new(vec![send]) }))
    }

    /// Says that a saga of this owner has something to do.
    pub(super) fn give(&self, owner: Owner) {
        let mut state = self.0.shared.state();
        if state.unsent.len() >= OWNERS_MAX {
            state.unsent.clear();
            state.unsent.insert(None);
        } else {
            state.unsent.insert(owner);
        }
        self.0.shared.unsent.notify_one();
    }

    /// As [`give`](Self::give), and sent when this returns: for whoever may be gone in a moment.
    pub(super) async fn give_now(&self, owner: Owner) {
        let runner = self.0.runner.clone();
        let _ = detached(async move { send_some(&runner, &Sent::to([owner])).await }).await;
    }

    /// The hints for one incarnation, the first of them once one listens.
    pub(super) fn take(&self, incarnation: Incarnation) -> Hints {
        let hints = Hints::default();
        let mut state = self.0.shared.state();
        state.takers.retain(|(_, hints)| !hints.is_forgotten());
        state.takers.push((incarnation, hints.clone()));
        if state.listening {
            hints.give();
        }
        drop(state);
        let mut tasks = self.0.tasks();
        if tasks.len() == 1 {
            tasks.push(tokio::spawn(listen(self.0.address.clone(), self.0.shared.clone())));
        }
        hints
    }

    /// Ends both tasks. Nothing is given and taken any more.
    pub(super) fn close(&self) {
        self.0.tasks().iter().for_each(JoinHandle::abort);
    }
}

impl Running {
    fn tasks(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.tasks().iter().for_each(JoinHandle::abort);
    }
}

/// Some hints, in one statement.
struct Sent(Vec<String>);

impl Sent {
    fn to(owners: impl IntoIterator<Item = Owner>) -> Self {
        let payload = |owner: Owner| owner.map_or_else(String::new, |owner| owner.0.to_string());
        Self(owners.into_iter().map(payload).collect())
    }
}

#[async_trait]
impl Unit<PgConnection> for Sent {
    type Done = ();

    async fn run(&self, connection: &mut PgConnection) -> Result<(), Failure> {
        sqlx::query(sql::HINT).bind(&self.0).execute(connection).await?;
        Ok(())
    }
}

async fn send(shared: Arc<Shared>, runner: Runner) {
    loop {
        shared.unsent.notified().await;
        let unsent = std::mem::take(&mut shared.state().unsent);
        if unsent.is_empty() {
            continue;
        }
        // Everybody is each of the others as well.
        let sent = if unsent.contains(&None) { Sent::to([None]) } else { Sent::to(unsent) };
        let _ = send_some(&runner, &sent).await;
    }
}

async fn send_some(runner: &Runner, sent: &Sent) -> Result<(), Fault> {
    let ended = runner.run_once(sent).await;
    ended.map_err(|failure| {
        tracing::debug!(?failure, "hints could not be sent");
        failure.into_fault()
    })
}

/// How listening ended.
enum Ended {
    Quiet,
    Lost,
}

async fn listen(address: Address, shared: Arc<Shared>) {
    loop {
        let ended = listen_once(&address, &shared).await;
        shared.state().listening = false;
        match ended {
            Ok(Ended::Quiet) => continue,
            Ok(Ended::Lost) => {}
            Err(error) => {
                tracing::debug!(%error, "hints are not heard for now; what they speak of is found by looking");
            }
        }
        let _ = tokio::time::timeout(LISTEN_AGAIN, std::future::pending::<()>()).await;
    }
}

async fn listen_once(address: &Address, shared: &Shared) -> Result<Ended, sqlx::Error> {
    let begun = tokio::time::timeout(LISTEN_WITHIN, begin(address)).await;
    let mut listener = begun.map_err(|_| sqlx::Error::PoolTimedOut)??;
    shared.state().listening = true;
    shared.tell(None);
    loop {
        match tokio::time::timeout(QUIET, listener.try_recv()).await {
            Ok(heard) => match heard? {
                Some(hint) => shared.tell(Uuid::parse_str(hint.payload()).ok().map(Incarnation)),
                None => return Ok(Ended::Lost),
            },
            Err(_) => return Ok(Ended::Quiet),
        }
    }
}

/// The pool is this connection's own: what becomes of one that is dropped concerns no other.
async fn begin(address: &Address) -> Result<PgListener, sqlx::Error> {
    let mut listener = PgListener::connect_with(&address.listener()).await?;
    listener.eager_reconnect(false);
    let channel: String = sqlx::query_scalar(sql::HINTS_CHANNEL).fetch_one(&mut listener).await?;
    listener.listen(&channel).await?;
    Ok(listener)
}
