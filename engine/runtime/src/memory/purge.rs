//! How the in-memory store forgets.

use amends_core::Timestamp;
use async_trait::async_trait;

use super::MemoryStore;
use crate::ports::{Fault, PurgeStore};

#[async_trait]
impl PurgeStore for MemoryStore {
    async fn purge(&self, ended_before: Timestamp, _now: Timestamp, limit: u32) -> Result<u32, Fault> {
        Ok(count(self.lock().purge(ended_before, limit as usize)))
    }

    async fn forget(&self, ended_before: Timestamp, limit: u32) -> Result<u32, Fault> {
        Ok(count(self.lock().forget(ended_before, limit as usize)))
    }

    async fn purge_intake(&self, closed_before: Timestamp, limit: u32) -> Result<u32, Fault> {
        Ok(count(self.lock().intake.purge(closed_before, limit as usize)))
    }

    async fn purge_orders(&self, given_before: Timestamp, limit: u32) -> Result<u32, Fault> {
        Ok(count(self.lock().controls.purge(given_before, limit as usize)))
    }
}

fn count(rows: usize) -> u32 {
    u32::try_from(rows).expect("it is at most the limit")
}
