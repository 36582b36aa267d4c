//! Notices and events by HTTP POST, for whoever has no broker.
//!
//! One message is one request, with its id as `Idempotency-Key`. It is made once: what fails stays in the outbox and
//! comes again from there, under the same key, at growing delays. So nothing is retried here, and no redirect is
//! followed.
//!
//! ```
//! use std::time::Duration;
//!
//! use amends_webhook::Webhook;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let pager = Webhook::to("https://pager.example/notices")?
//!     .secret("authorization", "Bearer …from a file…")?
//!     .timeout(Duration::from_secs(5));
//! // Engine::builder(store).notifier(Arc::new(pager))
//! # Ok(())
//! # }
//! ```

mod answer;
mod webhook;

// The public interface is:
pub use webhook::{Webhook, WebhookError};
