//! The places of a simulation: at each of them one node at a time, which is replaced when it is gone.

use std::sync::Arc;
use std::time::Duration;

use amends::authoring::{Definition, Policies, Saga};
use amends::engine::Retention;
use amends::ports::Store;
use amends::{Engine, Limits};
use amends_core::{Incarnation, Timestamp};
use fastrand::Rng;
use futures_util::future::join;
use tokio::task::JoinHandle;

use super::bearing::Bearing;
use super::messages::{FaultyBroker, Misbehaving, Outbound, Receiver, replies, triggers};
use super::setup::{Setup, span};
use super::store::FaultyStore;
use super::trouble::Trouble;
use crate::cluster::{Cluster, NodeId};

/// After how long sagas are purged, where they are. By an hour more than the shortest that there is, and than any clock here
/// is ahead.
pub(super) const PURGED_AFTER: Duration = Duration::from_secs(9_000);

/// After how long they are forgotten, where they are; and an hour.
pub(super) const FORGOTTEN_AFTER: Duration = Duration::from_secs(4 * 3_600);

/// How long a node that shuts down waits for what runs.
const GRACE: Duration = Duration::from_secs(5);

pub(super) struct Nodes {
    cluster: Cluster,
    store: FaultyStore,
    /// Where anything comes or goes by messages.
    broker: Option<FaultyBroker>,
    places: Vec<Option<NodeId>>,
    skew: Option<(f64, Rng)>,
    /// How many nodes began with a clock that is ahead.
    skewed: u64,
}

impl Nodes {
    /// `bearing` is what they keep to.
    pub(super) fn new(
        setup: &Setup,
        behind: Arc<dyn Store>,
        bearing: &Bearing,
        misbehaving: Option<Misbehaving>,
    ) -> Self {
        let mut store = None;
        let mut cluster = Cluster::on(setup.seed, |clock| {
            let faulty = FaultyStore::of(setup, behind, clock);
            store = Some(faulty.clone());
            Arc::new(faulty)
        });
        let mut chance = setup.chance("limits", 0);
        cluster.limits(bearing.limits(Limits {
            max_active: chance.usize(8..=64),
            release_after: span(&mut chance, 1_000, 60_000),
            mail_open_max: mail_open_max(setup),
            retention: retention(setup),
            ..Limits::default()
        }));
        cluster.policies(bearing.policies(Policies::new()));
        let has_messages = [Trouble::Events, Trouble::Commands].iter().any(|of| setup.rate(*of).is_some());
        let broker = has_messages.then(|| FaultyBroker::of(setup, cluster.clock(), misbehaving));
        if let Some(broker) = broker.clone() {
            if setup.rate(Trouble::Commands).is_some() {
                cluster.commands(Arc::new(Outbound(broker.clone())));
            }
            cluster.while_stirred(move || broker.take_stirred());
        }
        let skew = setup.rate(Trouble::ClockSkew).map(|rate| (rate, setup.chance("skew", 0)));
        let store = store.expect("the cluster was given a store");
        Self { cluster, store, broker, places: vec![None; setup.nodes as usize], skew, skewed: 0 }
    }

    pub(super) fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    pub(super) fn store(&self) -> &FaultyStore {
        &self.store
    }

    pub(super) fn broker(&self) -> Option<&FaultyBroker> {
        self.broker.as_ref()
    }

    pub(super) fn now(&self) -> Timestamp {
        self.cluster.now()
    }

    pub(super) fn skewed(&self) -> u64 {
        self.skewed
    }

    /// Lets every node do what it can do, and time pass to the next thing that is due, at most until then.
    pub(super) fn run_once(&mut self, until: Timestamp) -> bool {
        self.cluster.run_once(until)
    }

    /// A node takes a free place; whoever starts a process sees to it that the store is there.
    pub(super) fn join(&mut self, place: usize, workflows: &[&Definition], sagas: Vec<Saga<u32, u32>>) {
        if self.places[place].is_some() {
            return;
        }
        let ahead = self.ahead();
        let node = self.store.calmly(|| self.cluster.join_ahead(workflows, ahead));
        self.places[place] = Some(node);
        let Some(broker) = self.broker.clone() else { return };
        self.cluster.begin(node, move |engine| {
            let receiver = Receiver::new(engine, broker);
            async move {
                join(triggers(receiver.clone(), sagas), replies(receiver)).await;
            }
        });
    }

    fn ahead(&mut self) -> Duration {
        let Some((rate, chance)) = &mut self.skew else { return Duration::ZERO };
        if chance.f64() >= *rate {
            return Duration::ZERO;
        }
        self.skewed += 1;
        match chance.u8(0..4) {
            0 | 1 => span(chance, 1, 2_000),
            2 => span(chance, 2_000, 90_000),
            _ => Duration::from_secs(3_600),
        }
    }

    pub(super) fn kill(&mut self, place: usize) {
        if let Some(node) = self.places[place].take() {
            self.cluster.kill(node);
        }
    }

    /// The node begins to shut down; it is gone when somebody kills it, a little later than this takes.
    pub(super) fn drain(&self, place: usize) {
        self.ask(place, |engine| async move { drop(engine.shutdown(GRACE).await) });
    }

    /// The node of this place, or all.
    pub(super) fn freeze(&mut self, place: Option<usize>, freeze: bool) {
        let all = place.map_or(0..self.places.len(), |place| place..place + 1);
        for node in self.places[all].iter().flatten() {
            if freeze { self.cluster.freeze(*node) } else { self.cluster.wake(*node) }
        }
    }

    /// Who is at this place.
    pub(super) fn incarnation(&self, place: usize) -> Option<Incarnation> {
        self.places[place].map(|node| self.cluster.incarnation(node))
    }

    pub(super) fn cut(&self, place: usize, cut: bool) {
        if let Some(node) = self.places[place] {
            self.cluster.wire(node).cut(cut);
        }
    }

    /// Asks the node of this place, or the next one that lives. None if nobody does.
    pub(super) fn ask<T, F>(&self, place: usize, something: impl FnOnce(Engine) -> F) -> Option<JoinHandle<T>>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let places = self.places.len();
        let node = (0..places).find_map(|further| self.places[(place + further) % places])?;
        self.cluster.begin(node, something)
    }

    /// Kills who died at a commit, or whose engine has stopped, and says where.
    pub(super) fn bury(&mut self) -> Vec<usize> {
        let died = self.store.take_died();
        let is_gone = |node: NodeId| {
            self.cluster.stopped(node).is_some() || died.contains(&self.cluster.incarnation(node))
        };
        let gone = (0..self.places.len()).filter(|place| self.places[*place].is_some_and(is_gone));
        let gone: Vec<usize> = gone.collect();
        gone.iter().for_each(|place| self.kill(*place));
        gone
    }

    /// Nothing fails any more, and nobody stands still.
    pub(super) fn heal(&mut self) {
        self.store.heal();
        self.broker.iter().for_each(FaultyBroker::heal);
        self.skew = None;
        self.freeze(None, false);
        (0..self.places.len()).for_each(|place| self.cut(place, false));
    }
}

/// How long what has ended is kept.
fn retention(setup: &Setup) -> Retention {
    if setup.rate(Trouble::Purge).is_none() {
        return Retention::default();
    }
    let forgets = setup.chance("retention", 0).bool();
    Retention { purge_after: Some(PURGED_AFTER), forget_after: forgets.then_some(FORGOTTEN_AFTER) }
}

/// How much mail of one saga may wait: little, where it floods.
fn mail_open_max(setup: &Setup) -> u32 {
    match setup.rate(Trouble::MailFlood) {
        Some(_) => setup.chance("mail", 0).u32(2..=8),
        None => Limits::default().mail_open_max,
    }
}
