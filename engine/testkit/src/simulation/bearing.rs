//! What dependencies can bear, in the runs in which they bear little.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use amends::authoring::{Breaker, DependencyLimits, Policies, Rate, RetryBudget};
use amends::engine::{LaneShares, Limits};
use fastrand::Rng;

use super::setup::Setup;
use super::trouble::Trouble;

/// The dependencies of a simulation.
pub(super) const NAMES: [&str; 2] = ["bank", "depot"];

/// What every node promises to keep to, and what it is held against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bearing {
    /// What each dependency can bear; none where every one can bear everything.
    pub dependencies: BTreeMap<Arc<str>, DependencyLimits>,
    /// How the lanes share.
    pub lanes: LaneShares,
}

impl Bearing {
    /// As the setup says.
    pub(super) fn of(setup: &Setup) -> Self {
        let (mut dependencies, mut lanes) = (BTreeMap::new(), LaneShares::default());
        if setup.rate(Trouble::Scarce).is_some() {
            for (nth, name) in (0..).zip(NAMES) {
                dependencies.insert(Arc::from(name), limits(&mut setup.chance("bearing", nth)));
            }
            if setup.chance("lanes", 0).bool() {
                lanes = LaneShares { first: 20, retry: 1, reconciliation: 8, compensation: 8 };
            }
        }
        Self { dependencies, lanes }
    }

    /// The policies with these dependencies.
    pub(super) fn policies(&self, policies: Policies) -> Policies {
        let all = self.dependencies.iter();
        all.fold(policies, |policies, (name, limits)| policies.dependency(name, limits.clone()))
    }

    /// The limits with these shares.
    pub(super) fn limits(&self, limits: Limits) -> Limits {
        Limits { lanes: self.lanes, ..limits }
    }

    /// One of them, or none.
    pub(super) fn choose(&self, chance: &mut Rng) -> Option<Arc<str>> {
        let which = chance.usize(0..=NAMES.len());
        self.dependencies.keys().nth(which).cloned()
    }
}

fn limits(chance: &mut Rng) -> DependencyLimits {
    let rate = |chance: &mut Rng| chance.bool().then(|| Rate::per_second(chance.u32(1..=5)));
    DependencyLimits {
        concurrency_max: Some(chance.u32(1..=3)),
        rate: rate(chance),
        query_rate: rate(chance),
        retry_budget: (chance.f64() < 0.7).then(|| RetryBudget {
            share_percent: chance.u32(10..=60),
            constant_per_second: chance.u32(0..=1),
            window: Duration::from_secs(10),
        }),
        breaker: chance.bool().then(|| Breaker { calls_min: 5, ..Breaker::default() }),
        per_tenant: false,
    }
}
