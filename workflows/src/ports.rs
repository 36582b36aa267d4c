//! The participants, as the workflows see them: one object-safe trait each.
//!
//! A participant is somebody else's service. So every call carries the request id, which is what makes a
//! repeat safe; an answer is a value, a refusal with a reason, or a [`Fault`] with the participant's own
//! structured code; and what a code *means* is decided by [`rules`](crate::rules), never here.
//! `async_trait` serves these traits because a workflow holds them as `Arc<dyn …>`.

mod call;
mod inventory;
mod letters;
mod payments;
mod risk;
mod sales;
mod shipping;

use std::sync::Arc;

// The public interface is:
pub use call::{Answer, Call, CallError, Fault, UndoAnswer, UndoError, code};
pub use inventory::{
    Goods, GoodsState, Inventory, OutOfStock, Reservation, Reserve, Restock, Restocked, StockLine,
};
pub use letters::{Notice, Notifications, Receipt, Receipts, Sent};
pub use payments::{
    Authorization, Authorize, Capture, CaptureFunds, DeclineReason, Declined, Ledger, Payments, RefundFunds,
    Refunded, Settle, Settlement,
};
pub use risk::{Allowance, LimitExceeded, Purchase, Risk, Score, Suspected};
pub use sales::{NoSale, Sale, Sales};
pub use shipping::{Dispatch, Parcel, Shipping};

/// Everybody the workflows talk to. Cheap to clone.
#[derive(Clone)]
pub struct Participants {
    /// The warehouse's stock.
    pub inventory: Arc<dyn Inventory>,
    /// The payment gateway.
    pub payments: Arc<dyn Payments>,
    /// The books.
    pub ledger: Arc<dyn Ledger>,
    /// The carrier.
    pub shipping: Arc<dyn Shipping>,
    /// Who may buy.
    pub risk: Arc<dyn Risk>,
    /// What was sold before.
    pub sales: Arc<dyn Sales>,
    /// Messages to customers.
    pub notifications: Arc<dyn Notifications>,
    /// Receipts on paper.
    pub receipts: Arc<dyn Receipts>,
}
