//! The refund saga: what was sold is looked up, money goes back, goods come back, the customer is told.

mod definition;
mod model;
mod steps;

#[cfg(test)]
mod tests;

// The public interface is:
pub use definition::{RefundSaga, refund_saga};
pub use model::{NotRefundable, RefundRequested, Refundable, refundable};
pub use steps::{CheckRefundable, NotifyRefund, ReadSale, RefundPayment, RestockGoods};
