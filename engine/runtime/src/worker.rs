//! The async shell around the pure machine, for one node.
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
//! * Where nodes share the store, the [`heartbeat`] keeps this one in, [`membership`] looks after those that
//!   are gone, and the [`lease`] is asked before anything is committed or sent. [`purge`] looks after what
//!   ended long ago.
//! * What people have set for a workflow, a dependency or this node is [looked for](controls) as often as due sagas.
//! * What people and participants have to say comes as [`mail`], durable before it is looked at, and is consumed
//!   by the row that decides it. A hint inside the process makes that immediate; looking is the truth. A saga
//!   that has ended is taken up for its mail, and given up again once nothing of it moves by itself. A reply to a
//!   saga that is in memory is [`brought`] to it, and becomes durable with the row that decides it.
//! * What the world is [`told`] is a message of the row itself, and a [`publisher`] sends it until it is acknowledged.
//! * [`admission`] says what may be sent now, [`Limits`](crate::Limits) bound what is in memory. A start that
//!   finds no room waits with its caller.
//!
//! # Failure cases
//!
//! * *The process dies*: what was journalled as started is unknown; the next owner takes the saga over and
//!   settles it.
//! * *The store does not answer*: the same rows again until it does; attempts under way finish and their
//!   answers wait; no new start is taken.
//! * *Somebody else holds what one row needs*: that row alone is submitted again later, with everything that hangs
//!   on it; all other sagas go on.
//! * *This node was frozen*, or cannot reach the store for half a lease: it commits and sends nothing before it
//!   has renewed; what was journalled as started and not sent is taken back.
//! * *Another node took a saga*: the refused row is dropped with everything that hung on it, and the saga is
//!   loaded anew if it is still ours.
//! * *The store refuses the content of a row*, a journal cannot be read, or deciding a saga panics: that saga
//!   is set aside with the reason, all others go on.
//! * *A claim's answer was lost*: the saga is owned here and not in memory; the sweep finds it.
//! * *The store, or another node, dismissed this incarnation*: the engine stops and says so to everybody who asks.
//! * *A [`part`] panics*: the same.

mod definitions;
mod input;

mod driver;
mod settled;
mod standing;

mod active;
mod aside;
mod transition;

mod controls;
mod heartbeat;
mod lease;
mod membership;
mod purge;

mod committer;
mod recovery;

mod admission;
mod announce;
mod brought;
mod command;
mod invoke;
mod mail;
mod part;
mod publisher;
mod rows;
mod time;
mod told;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use amends_core::Incarnation;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::authoring::DependencyLimits;
use crate::controls::Board;
use crate::engine::{Counted, Limits, StopReason};
use crate::ports::{Clock, Ids, NodeStore, OutboxStore, PurgeStore, SagaMail, SagaStore, Sharing};
pub(crate) use committer::Backoff;
pub(crate) use definitions::{Definitions, Registered};
pub(crate) use input::{Brought, Request, StartRequest, Started, Told, Until, Watched};
pub(crate) use invoke::{forward_outcome, previewed};
pub(crate) use lease::Lease;
use membership::Membership;
pub(crate) use publisher::{Outbox, Publishers};
pub(crate) use recovery::fold;
pub(crate) use rows::{kind_word, reason_text};
pub(crate) use standing::on_desk;
pub(crate) use told::Audience;

/// What a worker is made of.
#[derive(Clone)]
pub(crate) struct Parts {
    pub(crate) store: Arc<dyn SagaStore>,
    pub(crate) nodes: Arc<dyn NodeStore>,
    pub(crate) mail: Arc<dyn SagaMail>,
    pub(crate) purge: Arc<dyn PurgeStore>,
    pub(crate) board: Arc<Board>,
    pub(crate) outbox: Arc<dyn OutboxStore>,
    pub(crate) publishers: Publishers,
    pub(crate) audience: Arc<Audience>,
    pub(crate) incarnation: Incarnation,
    /// What the node is called, and on which host, for people.
    pub(crate) called: Arc<str>,
    pub(crate) definitions: Arc<Definitions>,
    pub(crate) dependencies: BTreeMap<Arc<str>, DependencyLimits>,
    pub(crate) limits: Limits,
    pub(crate) clock: Arc<dyn Clock>,
    /// What the clock's [`elapsed`](crate::ports::Clock::elapsed) showed when the incarnation was about to join.
    pub(crate) joined: Duration,
    pub(crate) ids: Arc<dyn Ids>,
}

/// How a running worker is reached.
pub(crate) struct Worker {
    pub(crate) starts: mpsc::Sender<StartRequest>,
    pub(crate) requests: mpsc::Sender<Request>,
    /// Set once it has stopped.
    pub(crate) stopped: Arc<OnceLock<StopReason>>,
    /// Cancelled once that is set.
    pub(crate) ended: CancellationToken,
    /// Its parts, the loop first.
    pub(crate) parts: Vec<JoinHandle<()>>,
    pub(crate) publishing: Outbox,
    pub(crate) lease: Arc<Lease>,
    pub(crate) counted: Arc<Counted>,
    /// They have something to finish when the loop has ended.
    pub(crate) publishers: Vec<JoinHandle<()>>,
}

/// The most hints and questions of callers that wait; more wait with their callers.
const REQUESTS_MAX: usize = 1_024;

/// Starts the worker's parts. The incarnation has joined the store.
pub(crate) fn spawn(parts: Parts) -> Worker {
    let Parts { store, nodes, mail, purge, board, outbox, publishers, audience, incarnation, .. } = parts;
    let Parts { definitions, dependencies, limits, clock, joined, ids, .. } = parts;
    let (starts, starts_inlet) = mpsc::channel(limits.starts_waiting_max);
    let (requests, requests_inlet) = mpsc::channel(REQUESTS_MAX);
    let (news, news_inlet) = mpsc::unbounded_channel();
    let (errands, errands_inlet) = mpsc::unbounded_channel();
    let shared = nodes.sharing() == Sharing::Shared;
    let hints = if shared { nodes.hints(incarnation) } else { None };
    let lease = Arc::new(if shared {
        Lease::of(clock.clone(), limits.lease, joined)
    } else {
        Lease::unlimited(clock.clone())
    });
    let term = (lease.clone(), limits.lease);
    let heartbeat = heartbeat::run(nodes.clone(), incarnation, clock.clone(), term.clone(), news.clone());
    let membership = Membership::new(nodes.clone(), incarnation, clock.clone(), term, news.clone());
    let stopped = Arc::new(OnceLock::new());
    let counted = Arc::new(Counted::default());
    let outside = publisher::Outside {
        store: outbox,
        sharing: nodes.sharing(),
        incarnation,
        clock: clock.clone(),
        lease: lease.clone(),
        news: news.clone(),
        stopped: stopped.clone(),
        counted: counted.clone(),
        bounds: publisher::Bounds {
            under_way_max: limits.publishing_max,
            within: limits.publish_within,
            look_every: limits.claim_every,
        },
    };
    let (publishing, publishers) = publisher::spawn(publishers, &outside);
    drop(outside);
    let look_out = controls::LookOut {
        board: board.clone(),
        nodes: nodes.clone(),
        clock: clock.clone(),
        lease: lease.clone(),
        every: limits.claim_every,
        news: news.clone(),
    };
    let leaving = controls::Leaving {
        store: store.clone(),
        board: board.clone(),
        incarnation,
        clock: clock.clone(),
        within: limits.drain_within,
    };
    let mut permits = admission::Admission::new(&limits, &dependencies, definitions.dependencies());
    let orders = board.current();
    permits.limit(orders.limits(), clock.now());
    let (commits, writers) = committer::writers(&committer::Submitter {
        store: store.clone(),
        incarnation,
        clock: clock.clone(),
        lease: lease.clone(),
        retention: limits.retention,
        news: news.clone(),
    });
    let purge = purge::Purge {
        store: purge,
        clock: clock.clone(),
        lease: lease.clone(),
        retention: limits.retention,
        news: news.clone(),
    };
    let references = definitions.references();
    let recovery = recovery::Recovery {
        store,
        nodes,
        lease: lease.clone(),
        mail,
        incarnation,
        clock: clock.clone(),
        definitions,
        references,
        news: news.clone(),
    };
    let purges = limits.retention.purge_after.is_some();
    let driver = driver::Driver {
        incarnation,
        ids,
        wires: invoke::Wires {
            clock: clock.clone(),
            lease: lease.clone(),
            news: news.clone(),
            counted: counted.clone(),
        },
        inlets: driver::Inlets {
            news: news_inlet,
            requests: requests_inlet,
            starts: starts_inlet,
            controls: board.subscribe(),
            alarm: driver::Alarm::default(),
            hints,
        },
        outlets: driver::Outlets { commits, errands, outbox: publishing.clone() },
        audience,
        sagas: driver::Sagas {
            active: HashMap::new(),
            listed: VecDeque::new(),
            round: Vec::new(),
            permits,
            timers: time::Timers::default(),
            watchers: HashMap::new(),
            posters: mail::Posters::default(),
            claim_at: Some(clock.now()),
            look_again: false,
            hinted_from: clock.now(),
            controls: orders,
        },
        mode: driver::Mode::default(),
        clock,
        limits,
    };
    let ended = CancellationToken::new();
    let (told, end) = (stopped.clone(), ended.clone());
    let driver = tokio::spawn(async move {
        let reason = part::whole("the loop", driver.run()).await.unwrap_or_else(|broken| broken);
        if matches!(reason, StopReason::Drained { .. }) {
            leaving.leave().await;
        }
        let _ = told.set(reason);
        end.cancel();
    });
    let mut parts = vec![
        driver,
        part::spawn("recovery", &news, recovery.run(errands_inlet)),
        part::spawn("membership", &news, membership.run()),
        part::spawn("the look-out for controls", &news, look_out.run()),
    ];
    parts.extend(writers.into_iter().map(|writer| part::spawn("the committer", &news, writer)));
    if purges {
        parts.push(part::spawn("purging", &news, purge.run()));
    }
    if shared {
        parts.push(part::spawn("the heartbeat", &news, heartbeat));
    }
    Worker { starts, requests, stopped, ended, parts, publishing, lease, publishers, counted }
}
