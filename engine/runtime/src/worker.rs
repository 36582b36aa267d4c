//! The async shell around the pure machine, for one process.
//!
//! # The protocol
//!
//! * One loop ([`driver`]) owns every active saga and never waits for anything but its inputs.
//! * What arrives for a saga is decided in one [`transition`]: one journal row, however much it holds. While
//!   that row is with the store, the saga decides nothing; what arrives waits for the next row. So there is at
//!   most one row of a saga under way, and its state is at most one row ahead of the store.
//! * The [`committer`] writes whatever waits as one batch. Only after acceptance does anything leave the
//!   process: attempts and queries are sent ([`invoke`]), callers are answered, the log is written.
//! * A saga comes into memory by a start or through [`recovery`] (claim, load, replay), and continues through
//!   the same code: a restart is nothing special.
//! * [`permits`] bound what is under way, [`Limits`](crate::Limits) bound what is in memory. A start that
//!   finds no room waits with its caller.
//!
//! # Failure cases
//!
//! * *The process dies*: what was journalled as started is unknown; the next owner takes the saga over and
//!   settles it.
//! * *The store does not answer*: the same rows again until it does; attempts under way finish and their
//!   answers wait; no new start is taken.
//! * *Another node took a saga*: the refused row is dropped with everything that hung on it, and the saga is
//!   loaded anew if it is still ours.
//! * *The store refuses the content of a row*, a journal cannot be read, or deciding a saga panics: that saga
//!   is set aside with the reason, all others go on.
//! * *The store dismissed this incarnation*: the engine stops and says so to everybody who asks.

mod definitions;
mod input;

mod driver;
mod settled;
mod standing;

mod active;
mod transition;

mod committer;
mod recovery;

mod announce;
mod invoke;
mod permits;
mod rows;
mod time;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, OnceLock};

use amends_core::Incarnation;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::engine::{Limits, StopReason};
use crate::ports::{Clock, Ids, SagaStore};
pub(crate) use committer::Backoff;
pub(crate) use definitions::{Definitions, Registered};
pub(crate) use input::{Operate, Request, StartRequest, Started, Until, Watched};
pub(crate) use invoke::{forward_outcome, previewed};
pub(crate) use recovery::fold;
pub(crate) use rows::{kind_word, reason_text};
pub(crate) use standing::on_desk;
pub(crate) use time::EngineClock;

/// What a worker is made of.
pub(crate) struct Parts {
    pub(crate) store: Arc<dyn SagaStore>,
    pub(crate) incarnation: Incarnation,
    pub(crate) definitions: Arc<Definitions>,
    pub(crate) limits: Limits,
    pub(crate) clock: Arc<EngineClock>,
    pub(crate) ids: Arc<dyn Ids>,
}

/// How a running worker is reached.
pub(crate) struct Worker {
    pub(crate) starts: mpsc::Sender<StartRequest>,
    pub(crate) requests: mpsc::Sender<Request>,
    /// Set once it has stopped.
    pub(crate) stopped: Arc<OnceLock<StopReason>>,
    /// Its parts: the loop, the committer, the recovery.
    pub(crate) parts: [JoinHandle<()>; 3],
}

/// The most commands of people that wait; more wait with their callers.
const REQUESTS_MAX: usize = 1_024;

/// Starts the worker's parts. The incarnation has joined the store.
pub(crate) fn spawn(parts: Parts) -> Worker {
    let Parts { store, incarnation, definitions, limits, clock, ids } = parts;
    let (starts, starts_inlet) = mpsc::channel(limits.starts_waiting_max);
    let (requests, requests_inlet) = mpsc::channel(REQUESTS_MAX);
    let (news, news_inlet) = mpsc::unbounded_channel();
    let (commits, commits_inlet) = mpsc::unbounded_channel();
    let (errands, errands_inlet) = mpsc::unbounded_channel();
    let port: Arc<dyn Clock> = clock.clone();
    let committer = committer::run(store.clone(), incarnation, port.clone(), commits_inlet, news.clone());
    let references = definitions.references();
    let recovery = recovery::Recovery {
        store,
        incarnation,
        clock: clock.clone(),
        definitions,
        references,
        news: news.clone(),
    };
    let driver = driver::Driver {
        incarnation,
        ids,
        wires: invoke::Wires { clock: port, news },
        inlets: driver::Inlets {
            news: news_inlet,
            requests: requests_inlet,
            starts: starts_inlet,
            alarm: driver::Alarm::default(),
        },
        outlets: driver::Outlets { commits, errands },
        sagas: driver::Sagas {
            active: HashMap::new(),
            listed: VecDeque::new(),
            round: Vec::new(),
            permits: permits::Permits::new(limits.max_running),
            timers: time::Timers::default(),
            watchers: HashMap::new(),
            parked: BTreeMap::new(),
            claim_at: Some(clock.now()),
        },
        mode: driver::Mode::default(),
        clock,
        limits,
    };
    let stopped = Arc::new(OnceLock::new());
    let told = stopped.clone();
    let driver = tokio::spawn(async move {
        let reason = driver.run().await;
        let _ = told.set(reason);
    });
    Worker {
        starts,
        requests,
        stopped,
        parts: [driver, tokio::spawn(committer), tokio::spawn(recovery.run(errands_inlet))],
    }
}
