//! What was sold before: what a refund has to know.

use amends::prelude::{Contract, Payload};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{Answer, Call, StockLine};
use crate::money::Money;
use crate::names::{CaptureId, OrderId};

/// What is known of an order that was paid.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Sale {
    /// The money that was taken for it.
    pub capture: CaptureId,
    /// How much that was.
    pub captured: Money,
    /// How much of it was given back since.
    pub refunded: Money,
    /// The goods that the customer has.
    pub sent: Vec<StockLine>,
}

impl Payload for Sale {
    const SCHEMA: &'static str = "sale/1";
}

/// Nothing was ever sold under that name.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NoSale {
    /// The name.
    pub order: OrderId,
}

impl Payload for NoSale {
    const SCHEMA: &'static str = "no-sale/1";
}

/// What was sold before.
#[async_trait]
pub trait Sales: Send + Sync + 'static {
    /// What it promises.
    fn contract(&self) -> Contract;

    /// What is known of `order`. While it is still being worked on the answer is
    /// [`TOO_EARLY`](super::code::TOO_EARLY).
    async fn sale(&self, call: &Call, order: &OrderId) -> Answer<Sale, NoSale>;
}
