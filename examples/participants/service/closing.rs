//! Closing an attempt out that is to be answered without effect: another process may have the same command in hand.

use amends_barrier::{self as barrier, Answer, Closing, Outcome};
use serde_json::Value;
use uuid::Uuid;

use super::Service;

impl Service {
    /// What the barrier then says of this attempt: what is said now, or what it kept meanwhile. Whoever calls does not know
    /// the asked-for values, which are this barrier's digest.
    pub(in super::super) async fn close_out(
        &self,
        request_id: Uuid,
        attempt: u32,
        said: &str,
    ) -> Result<Answer<Outcome<Value, Value>>, barrier::Error> {
        let closing = Closing { request_id, attempt, input_digest: None };
        barrier::in_transaction(&self.0.writer, async |txn| barrier::close_out(txn, closing, said).await)
            .await
    }
}
