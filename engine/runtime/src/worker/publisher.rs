//! Publishing what stands in the outbox: one loop for each kind of messages.
//!
//! A loop reads what waits in the lanes of this node, publishes some of it at a time, and removes what was
//! acknowledged. Commits of this node wake it; looking is the truth, because messages also come from other nodes and
//! earlier processes. Each removal is a transaction of the store: while others are under way, what was acknowledged waits a
//! moment to be removed together. Events do not, for the next one of a saga waits for the removal.
//!
//! What can fail, and what becomes of it:
//! * *No answer, or none in time*: nobody knows, and the same message goes out again under the same id, at growing
//!   delays. While nothing at all gets through, one message at a time is tried.
//! * *One message never gets through while others do*: after some tries it is noted in the store and waits longer.
//! * *A message is refused*: noted in the store, shown to people, tried again later. Only later events of its own
//!   saga wait for it.
//! * *The process dies between publishing and removing*: the next owner of the lane publishes it again.
//! * *The store does not answer*: nothing new is read; what was acknowledged is removed as soon as it does.
//! * *This node was dismissed*: it publishes nothing more. What was under way may still arrive, and comes again from
//!   the next owner.

mod lanes;
mod pace;

use std::collections::{HashSet, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use amends_core::{Incarnation, Timestamp};
use futures_util::FutureExt as _;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{Notify, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use super::input::News;
use super::invoke::panic_text;
use super::lease::Lease;
use super::part;
use crate::engine::{Counted, OutboxTrouble, StopReason};
use crate::ports::{
    Clock, Fault, OutboxKind, OutboxMessage, OutboxPlace, OutboxStore, PublishError, Published, Publisher,
    REFUSAL_WAIT_MAX, Sharing,
};
use crate::visible::visible;
use pace::Pace;
pub(crate) use pace::Trouble;

/// The most messages that one read brings, beside those under way.
const PAGE: usize = 256;

/// So many acknowledged messages are removed at once, or fewer after so long.
const REMOVED_TOGETHER: (usize, Duration) = (64, Duration::from_millis(20));

/// The wait after a removal that the store did not answer.
const REMOVED_AGAIN: Duration = Duration::from_millis(100);

/// The first wait of a refused message until it is tried again; it doubles.
const REFUSAL_WAIT_MIN: Duration = Duration::from_secs(5);

/// The longest reason that is kept of a failure, in bytes.
const REASON_BYTES_MAX: usize = 4_096;

/// After so many tries a message that does not get through, while others do, is noted in the store.
const TRIES_UNNOTED: u32 = 5;

/// Who publishes what: by kind, in the order of [`OutboxKind::ALL`].
#[derive(Clone, Default)]
pub(crate) struct Publishers([Option<Arc<dyn Publisher>>; 3]);

impl Publishers {
    pub(crate) fn set(&mut self, kind: OutboxKind, publisher: Arc<dyn Publisher>) {
        self.0[kind as usize] = Some(publisher);
    }

    /// Is anything of this kind published?
    pub(crate) fn publish(&self, kind: OutboxKind) -> bool {
        self.0[kind as usize].is_some()
    }
}

/// How messages are published.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Messages of one kind under way.
    pub(super) under_way_max: usize,
    /// An answer that comes later is none.
    pub(super) within: Duration,
    /// How often one looks, without being woken.
    pub(super) look_every: Duration,
}

/// What every loop works with.
#[derive(Clone)]
pub(super) struct Outside {
    pub(super) store: Arc<dyn OutboxStore>,
    pub(super) sharing: Sharing,
    pub(super) incarnation: Incarnation,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) lease: Arc<Lease>,
    pub(super) news: UnboundedSender<News>,
    /// Set once the worker's loop has ended.
    pub(super) stopped: Arc<OnceLock<StopReason>>,
    pub(super) counted: Arc<Counted>,
    pub(super) bounds: Bounds,
}

impl Outside {
    /// Has the worker ended otherwise than in an orderly way? After that one the rest is still published.
    fn is_over(&self) -> bool {
        self.stopped.get().is_some_and(|reason| !matches!(reason, StopReason::ShutDown))
    }
}

/// How the loops are reached.
#[derive(Clone)]
pub(crate) struct Outbox {
    wakers: [Arc<Notify>; 3],
    publishes: [bool; 3],
    /// The lanes of this node.
    lanes: Arc<watch::Sender<Vec<u16>>>,
    troubles: [Trouble; 3],
    ending: CancellationToken,
}

impl Outbox {
    /// Messages of this kind were committed.
    pub(crate) fn wake(&self, kind: OutboxKind) {
        self.wakers[kind as usize].notify_one();
    }

    /// This node has other lanes than before.
    fn lanes_changed(&self, lanes: Vec<u16>) {
        self.lanes.send_replace(lanes);
        OutboxKind::ALL.into_iter().for_each(|kind| self.wake(kind));
    }

    /// Does this node publish messages of this kind?
    pub(crate) fn publishes(&self, kind: OutboxKind) -> bool {
        self.publishes[kind as usize]
    }

    /// What does not get through at present, from this node.
    pub(crate) fn troubles(&self) -> Vec<OutboxTrouble> {
        let trouble = |kind: OutboxKind| self.troubles[kind as usize].now(kind);
        OutboxKind::ALL.into_iter().filter_map(trouble).collect()
    }

    /// From now on a loop ends as soon as it finds nothing that it can publish.
    pub(crate) fn end(&self) {
        self.ending.cancel();
    }
}

/// Starts a loop for each kind that somebody publishes.
pub(super) fn spawn(publishers: Publishers, outside: &Outside) -> (Outbox, Vec<JoinHandle<()>>) {
    let outbox = Outbox {
        wakers: Default::default(),
        publishes: OutboxKind::ALL.map(|kind| publishers.publish(kind)),
        lanes: Arc::new(watch::Sender::new(Vec::new())),
        troubles: Default::default(),
        ending: CancellationToken::new(),
    };
    let mut parts = Vec::new();
    for (kind, publisher) in OutboxKind::ALL.into_iter().zip(publishers.0) {
        let Some(publisher) = publisher else { continue };
        let publishing = Publishing {
            outside: outside.clone(),
            kind,
            publisher,
            waker: outbox.wakers[kind as usize].clone(),
            ending: outbox.ending.clone(),
            lanes: outbox.lanes.subscribe(),
            read: VecDeque::new(),
            look: true,
            under_way: HashSet::new(),
            calls: JoinSet::new(),
            acknowledged: Vec::new(),
            remove_at: None,
            pace: Pace::new(outbox.troubles[kind as usize].clone(), outside.bounds.under_way_max),
        };
        parts.push(part::spawn("publishing", &outside.news, publishing.run()));
    }
    if !parts.is_empty() {
        let lanes = lanes::run(outside.clone(), outbox.clone());
        parts.push(part::spawn("claiming lanes of the outbox", &outside.news, lanes));
    }
    (outbox, parts)
}

/// One kind of messages.
struct Publishing {
    outside: Outside,
    kind: OutboxKind,
    publisher: Arc<dyn Publisher>,
    waker: Arc<Notify>,
    ending: CancellationToken,
    /// The lanes of this node, and whether it has had others since it last read.
    lanes: watch::Receiver<Vec<u16>>,
    /// What was read and is not under way yet.
    read: VecDeque<OutboxMessage>,
    /// There may be more in the store.
    look: bool,
    under_way: HashSet<OutboxPlace>,
    calls: JoinSet<Called>,
    /// What is to be removed, and when at the latest.
    acknowledged: Vec<OutboxPlace>,
    remove_at: Option<Timestamp>,
    pace: Pace,
}

/// How a call ended.
type Called = (OutboxMessage, Result<Published, PublishError>);

impl Publishing {
    /// Runs until the worker is dismissed, or until it is told to end and nothing is left to do.
    async fn run(mut self) {
        while !self.outside.is_over() {
            match self.round().await {
                Ok(true) => return,
                Ok(false) => {}
                Err(Fault::Fenced) => {
                    let _ = self.outside.news.send(News::Dismissed(Fault::Fenced));
                    return;
                }
                Err(fault) => {
                    self.pace.store_failed(&fault, self.now());
                    self.look = true;
                }
            }
            self.wait().await;
        }
    }

    fn now(&self) -> Timestamp {
        self.outside.clock.now()
    }

    /// Does what can be done now. Says whether it was told to end and nothing is left.
    async fn round(&mut self) -> Result<bool, Fault> {
        while let Some(called) = self.calls.try_join_next() {
            // An error says that the runtime ends: its panics are caught.
            if let Ok(called) = called {
                self.settle(called).await?;
            }
        }
        self.remove().await?;
        self.follow_lanes();
        self.fill().await?;
        self.publish().await?;
        let idle =
            self.calls.is_empty() && (!self.pace.gets_through() || (self.read.is_empty() && !self.look));
        Ok(self.ending.is_cancelled() && idle)
    }

    /// Returns when there may be something to do.
    async fn wait(&mut self) {
        let at = self.pace.next(self.now()).unwrap_or(Timestamp::MAX);
        let look_at = self.now() + self.outside.bounds.look_every;
        let at = at.min(look_at).min(self.remove_at.unwrap_or(look_at));
        let ended = tokio::select! {
            biased;
            Some(called) = self.calls.join_next() => Some(called),
            () = self.waker.notified() => { self.look = true; None }
            () = self.outside.clock.sleep_until(at) => { self.look |= self.remove_at != Some(at); None }
            () = self.ending.cancelled(), if self.calls.is_empty() && !self.look => { self.look = true; None }
        };
        if let Some(Ok(called)) = ended
            && let Err(fault) = self.settle(called).await
        {
            self.pace.store_failed(&fault, self.now());
        }
    }

    async fn settle(&mut self, (message, answer): Called) -> Result<(), Fault> {
        let (place, now) = (message.place, self.now());
        self.under_way.remove(&place);
        match answer {
            Ok(Published { duplicate }) => {
                tracing::debug!(saga = %place.saga, id = %message.id, kind = self.kind.word(), duplicate, "published");
                self.pace.went_through(place);
                self.acknowledged.push(place);
                self.remove_at.get_or_insert(now + REMOVED_TOGETHER.1);
                if self.kind == OutboxKind::Command {
                    let acknowledged = News::Acknowledged { saga: place.saga, message: message.id };
                    let _ = self.outside.news.send(acknowledged);
                }
            }
            Err(PublishError::Refused(reason)) => {
                tracing::warn!(
                    saga = %place.saga,
                    id = %message.id,
                    kind = self.kind.word(),
                    subject = %message.subject,
                    reason = %visible(&reason),
                    "a message is refused; it stays in the outbox",
                );
                self.pace.went_through(place);
                self.note(&message, &reason).await?;
            }
            Err(PublishError::Unavailable(reason)) => {
                let tries = self.pace.failed(place, self.under_way.len(), &reason, now);
                if tries >= TRIES_UNNOTED {
                    self.pace.went_elsewhere(place);
                    self.note(&message, &reason).await?;
                }
            }
        }
        Ok(())
    }

    /// It stays, and is read again after a while.
    async fn note(&mut self, message: &OutboxMessage, reason: &str) -> Result<(), Fault> {
        let factor = 2_u32.saturating_pow(message.refusals);
        let next_at = self.now() + REFUSAL_WAIT_MIN.saturating_mul(factor).min(REFUSAL_WAIT_MAX);
        self.outside.store.note_refusal(self.outside.incarnation, message.place, reason, next_at).await
    }

    async fn remove(&mut self) -> Result<(), Fault> {
        let Some(remove_at) = self.remove_at else { return Ok(()) };
        let may_wait = self.kind != OutboxKind::Event && !self.calls.is_empty();
        if may_wait && self.acknowledged.len() < REMOVED_TOGETHER.0 && self.now() < remove_at {
            return Ok(());
        }
        self.remove_at = Some(self.now() + REMOVED_AGAIN); // should the store not answer
        self.outside.store.remove_published(self.outside.incarnation, &self.acknowledged).await?;
        self.acknowledged.clear();
        self.remove_at = None;
        // The next event of each of these sagas may go now.
        self.look |= self.kind == OutboxKind::Event;
        Ok(())
    }

    /// What was read of lanes that are another node's now is that one's to publish, and to try again.
    fn follow_lanes(&mut self) {
        if self.lanes.has_changed().unwrap_or(false) {
            self.pace.keep_lanes(&self.lanes.borrow_and_update());
            self.read.clear();
            self.look = true;
        }
    }

    /// Reads more, if everything read is under way.
    async fn fill(&mut self) -> Result<(), Fault> {
        if !self.look || !self.read.is_empty() || self.pace.room(self.under_way.len(), self.now()) == 0 {
            return Ok(());
        }
        let known = self.under_way.len() + self.pace.held() + self.acknowledged.len();
        let limit = PAGE + known;
        let Outside { store, incarnation, .. } = &self.outside;
        let limit_of_read = u32::try_from(limit).unwrap_or(u32::MAX);
        let messages = store.unpublished(*incarnation, self.kind, self.now(), limit_of_read).await?;
        self.look = messages.len() >= limit;
        let now = self.now();
        let fresh = |message: &OutboxMessage| {
            !self.under_way.contains(&message.place)
                && !self.acknowledged.contains(&message.place)
                && !self.pace.holds(message.place, now)
        };
        self.read = messages.into_iter().filter(fresh).collect();
        Ok(())
    }

    /// Sends as many as may be under way.
    async fn publish(&mut self) -> Result<(), Fault> {
        while self.pace.room(self.under_way.len(), self.now()) > 0 {
            let Some(message) = self.read.pop_front() else { return Ok(()) };
            self.outside.lease.held().await?;
            self.under_way.insert(message.place);
            if self.kind == OutboxKind::Command {
                self.outside.counted.call();
            }
            let (publisher, clock) = (self.publisher.clone(), self.outside.clock.clone());
            let within = self.outside.bounds.within;
            self.calls.spawn(call(publisher, clock, within, message));
        }
        Ok(())
    }
}

/// One call: its answer in time, or none.
async fn call(
    publisher: Arc<dyn Publisher>,
    clock: Arc<dyn Clock>,
    within: Duration,
    message: OutboxMessage,
) -> Called {
    let unavailable = |reason| Err(PublishError::Unavailable(reason));
    // A publisher may do its work before it returns a future, and panic there.
    let published = async { publisher.publish(&message).await };
    let answer = tokio::select! {
        biased;
        answer = AssertUnwindSafe(published).catch_unwind() => match answer {
            Ok(answer) => answer,
            Err(panic) => unavailable(format!("the publisher panicked: {}", panic_text(&*panic))),
        },
        () = clock.sleep_until(clock.now() + within) => unavailable(format!("no answer within {within:?}")),
    };
    (message, answer.map_err(shortened))
}

/// Reasons are other people's text: they are kept in rows and shown in logs.
fn shortened(error: PublishError) -> PublishError {
    let short = |mut reason: String| {
        reason.truncate(reason.floor_char_boundary(REASON_BYTES_MAX));
        reason
    };
    match error {
        PublishError::Unavailable(reason) => PublishError::Unavailable(short(reason)),
        PublishError::Refused(reason) => PublishError::Refused(short(reason)),
    }
}
