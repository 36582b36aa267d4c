//! What a customer gets to read: messages, and receipts on paper.

use amends::prelude::{Contract, Payload};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{Answer, Call};
use crate::money::Money;
use crate::names::CustomerId;

/// Tell a customer something.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Notice {
    /// Whom.
    pub to: CustomerId,
    /// What.
    pub text: String,
}

/// It is on its way to the customer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Sent {
    /// What the sender calls it.
    pub message: String,
}

impl Payload for Sent {
    const SCHEMA: &'static str = "sent/1";
}

/// Messages to customers.
#[async_trait]
pub trait Notifications: Send + Sync + 'static {
    /// What the sender promises.
    fn contract(&self) -> Contract;

    /// Sends a message. A repeat of the request is answered with the same message.
    async fn notify(&self, call: &Call, notice: &Notice) -> Answer<Sent>;
}

/// Put it on paper.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Receipt {
    /// For whom.
    pub to: CustomerId,
    /// For what.
    pub reference: String,
    /// About how much.
    pub amount: Money,
}

/// Receipts on paper, from a letter shop that takes orders and answers no questions: it promises nothing,
/// keeps no request ids and cannot be asked. What became of an order it did not confirm, a person finds out.
#[async_trait]
pub trait Receipts: Send + Sync + 'static {
    /// What the letter shop promises.
    fn contract(&self) -> Contract;

    /// Has a receipt printed and sent.
    async fn print(&self, call: &Call, receipt: &Receipt) -> Answer<Sent>;
}
