//! What is recorded: read from the store, whether a process runs or not.

use std::sync::{Arc, Mutex, PoisonError};

use amends::SagaView;
use amends::ports::{Clock as _, Loaded, SagaQuery as _};
use amends_core::{SagaId, SagaPlan};
use futures_util::FutureExt as _;

use super::clock::WorldClock;
use super::store::WatchedStore;

/// The committed journals of a world, and the plans to read them with. A clone reads the same.
#[derive(Clone)]
pub(super) struct Records {
    store: WatchedStore,
    clock: Arc<WorldClock>,
    plans: Arc<Mutex<Vec<Arc<SagaPlan>>>>,
}

impl Records {
    pub(super) fn new(store: WatchedStore, clock: Arc<WorldClock>) -> Self {
        Self { store, clock, plans: Arc::default() }
    }

    pub(super) fn know(&self, plan: Arc<SagaPlan>) {
        self.plans.lock().unwrap_or_else(PoisonError::into_inner).push(plan);
    }

    pub(super) fn loaded(&self, saga: SagaId) -> Loaded {
        let loaded = self.store.read(saga).now_or_never().expect("a store in memory answers at once");
        loaded.expect("a store in memory answers").expect("a saga of this world exists")
    }

    pub(super) fn view(&self, saga: SagaId) -> SagaView {
        let loaded = self.loaded(saga);
        let definition = &loaded.row.definition;
        let plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        let plan = plans
            .iter()
            .find(|plan| (&plan.workflow, plan.version) == (&definition.workflow, definition.version));
        let plan = plan.expect("a saga of this world has a registered workflow").clone();
        drop(plans);
        SagaView::new(plan, &loaded, self.clock.now())
            .unwrap_or_else(|error| panic!("a journal that this engine wrote can be read: {error}"))
    }
}
