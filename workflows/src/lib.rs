//! Order, payment and refund sagas, real enough to copy.
//!
//! Each workflow is a folder with one file per concern: `model` says what goes through it, `steps` what is
//! done and undone, `definition` in which order, `tests` that it survives. The participants are traits in
//! [`ports`]; this crate holds none of them, starts no engine and knows no database.

pub mod money;
pub mod names;
pub mod order;
pub mod payment;
pub mod policies;
pub mod ports;
pub mod refund;
pub mod rules;

#[cfg(test)]
mod fakes;

// The public interface is:
pub use money::{Currency, Money};
pub use order::{OrderPlaced, OrderSaga, order_saga};
pub use payment::{PaymentRequested, PaymentSaga, payment_saga};
pub use policies::policies;
pub use refund::{RefundRequested, RefundSaga, refund_saga};
