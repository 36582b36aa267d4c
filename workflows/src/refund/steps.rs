//! What a refund does, step by step.

mod money;
mod notify;
mod restock;
mod sale;

// The public interface is:
pub use money::RefundPayment;
pub use notify::NotifyRefund;
pub use restock::RestockGoods;
pub use sale::{CheckRefundable, ReadSale};
