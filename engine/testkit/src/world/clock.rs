//! The world's time: virtual, and going on across crashes.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use amends::ports::{Clock, SystemClock};
use amends_core::Timestamp;
use async_trait::async_trait;
use tokio::runtime::Handle;

/// 2026-01-01T00:00:00Z: when every world begins.
pub(crate) const BEGINNING: Timestamp = Timestamp(1_767_225_600_000_000);

/// Virtual time that every process of a world shares: engines come and go, participants and tests stay.
///
/// While a process runs, the time is that of its paused runtime, which jumps to the next timer whenever
/// nothing else can be done. Between two processes it stands still.
#[derive(Debug)]
pub(crate) struct WorldClock {
    shown: AtomicI64,
    process: Mutex<Option<Arc<SystemClock>>>,
}

impl WorldClock {
    pub(crate) fn new() -> Self {
        Self { shown: AtomicI64::new(BEGINNING.0), process: Mutex::new(None) }
    }

    /// A process begins: its time goes on where the time of the last one stood. Called inside its runtime.
    pub(crate) fn process_begins(&self) {
        let process = Arc::new(SystemClock::starting_at(self.shown()));
        *self.process.lock().unwrap_or_else(PoisonError::into_inner) = Some(process);
    }

    /// The process is gone.
    pub(crate) fn process_ended(&self) {
        *self.process.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn shown(&self) -> Timestamp {
        Timestamp(self.shown.load(Ordering::Relaxed))
    }

    /// Outside a runtime tokio's clock would be the machine's, so there the last time seen inside stands.
    fn process(&self) -> Option<Arc<SystemClock>> {
        Handle::try_current().ok()?;
        self.process.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl Clock for WorldClock {
    fn now(&self) -> Timestamp {
        if let Some(process) = self.process() {
            self.shown.fetch_max(process.now().0, Ordering::Relaxed);
        }
        self.shown()
    }

    async fn sleep_until(&self, at: Timestamp) {
        match self.process() {
            Some(process) => process.sleep_until(at).await,
            None => std::future::pending().await,
        }
    }
}
