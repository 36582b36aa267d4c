//! What a payment does, step by step. Its pivot is the order's: taking held money is the same everywhere.

mod authorise;
mod checks;
mod receipt;
mod settle;

// The public interface is:
pub use authorise::AuthorisePayment;
pub use checks::{CheckFraud, CheckLimit};
pub use receipt::{PrintReceipt, SendReceipt};
pub use settle::SettlePayment;
