//! The payment saga: two checks side by side, then money is held, taken, settled and receipted.

mod definition;
mod model;
mod steps;

#[cfg(test)]
mod tests;

// The public interface is:
pub use definition::{PaymentSaga, payment_saga};
pub use model::{InvalidPayment, PaymentRequested};
pub use steps::{AuthorisePayment, CheckFraud, CheckLimit, PrintReceipt, SendReceipt, SettlePayment};
