//! The participants, as the workflows see them: one object-safe trait each.
//!
//! A participant is somebody else's service. So every call carries the request id, which is what makes a
//! repeat safe; an answer is a value, a refusal with a reason, or a [`Fault`] with the participant's own
//! structured code; and what a code *means* is decided by [`rules`](crate::rules), never here.
//! `async_trait` serves these traits because a workflow holds them as `Arc<dyn …>`.
//!
//! A participant may also be one that is written to, through a broker: then its [`Port`] holds [`Messages`] instead, and
//! what a call would have said is the body of the message, under the name in [`operation`].

mod call;
mod inventory;
mod letters;
mod payments;
mod port;
mod risk;
mod sales;
mod shipping;

#[cfg(test)]
mod tests;

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
pub use port::{Messages, NotCalled, Port, find, find_undo};
pub use risk::{Allowance, LimitExceeded, Purchase, Risk, Score, Suspected};
pub use sales::{NoSale, Sale, Sales};
pub use shipping::{Dispatch, Parcel, Shipping};

/// Everybody the workflows talk to. Cheap to clone.
#[derive(Clone)]
pub struct Participants {
    /// The warehouse's stock.
    pub inventory: Port<dyn Inventory>,
    /// The payment gateway.
    pub payments: Port<dyn Payments>,
    /// The books.
    pub ledger: Port<dyn Ledger>,
    /// The carrier.
    pub shipping: Port<dyn Shipping>,
    /// Who may buy.
    pub risk: Port<dyn Risk>,
    /// What was sold before.
    pub sales: Port<dyn Sales>,
    /// Messages to customers.
    pub notifications: Port<dyn Notifications>,
    /// Receipts on paper.
    pub receipts: Port<dyn Receipts>,
}

impl Participants {
    /// All of them are this one, and are called.
    pub fn called<All>(all: Arc<All>) -> Self
    where
        All: Inventory + Payments + Ledger + Shipping + Risk + Sales + Notifications + Receipts,
    {
        Self {
            inventory: Port::Calls(all.clone()),
            payments: Port::Calls(all.clone()),
            ledger: Port::Calls(all.clone()),
            shipping: Port::Calls(all.clone()),
            risk: Port::Calls(all.clone()),
            sales: Port::Calls(all.clone()),
            notifications: Port::Calls(all.clone()),
            receipts: Port::Calls(all),
        }
    }
}

/// What participants that are written to call what they do. A compensation has the name of what it undoes.
pub mod operation {
    /// Of the warehouse: [`Reserve`](super::Reserve), undone by releasing the goods.
    pub const RESERVE: &str = "reserve";
    /// Of the warehouse: [`Restock`](super::Restock).
    pub const RESTOCK: &str = "restock";
    /// Of the payment gateway: [`Authorize`](super::Authorize), undone by voiding it.
    pub const AUTHORIZE: &str = "authorize";
    /// Of the payment gateway: [`CaptureFunds`](super::CaptureFunds).
    pub const CAPTURE: &str = "capture";
    /// Of the payment gateway: [`RefundFunds`](super::RefundFunds).
    pub const REFUND: &str = "refund";
    /// Of the books: [`Settle`](super::Settle).
    pub const SETTLE: &str = "settle";
    /// Of the carrier: [`Dispatch`](super::Dispatch).
    pub const SHIP: &str = "ship";
    /// Of the risk check: [`Purchase`](super::Purchase).
    pub const FRAUD: &str = "fraud";
    /// Of the risk check: [`Purchase`](super::Purchase).
    pub const LIMIT: &str = "limit";
    /// Of those who remember sales: an [`OrderId`](crate::names::OrderId).
    pub const SALE: &str = "sale";
    /// Of the senders of messages: [`Notice`](super::Notice).
    pub const NOTIFY: &str = "notify";
    /// Of the letter shop: [`Receipt`](super::Receipt).
    pub const PRINT: &str = "print";
}
