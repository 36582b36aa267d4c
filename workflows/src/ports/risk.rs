//! Who may buy: two questions that change nothing.

use amends::prelude::{Contract, Payload};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{Answer, Call};
use crate::money::Money;
use crate::names::{CardToken, CustomerId};

/// Somebody wants to pay this much with this card.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Purchase {
    /// Who.
    pub customer: CustomerId,
    /// With which card.
    pub card: CardToken,
    /// How much.
    pub amount: Money,
}

/// What the fraud check thinks of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Score {
    /// From 0, harmless, to 100.
    pub score: u32,
}

impl Payload for Score {
    const SCHEMA: &'static str = "risk-score/1";
}

/// It looks like fraud.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Suspected {
    /// The rule that caught it.
    pub rule: String,
    /// From 0, harmless, to 100.
    pub score: u32,
}

impl Payload for Suspected {
    const SCHEMA: &'static str = "fraud-suspected/1";
}

/// It is within the customer's limit.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Allowance {
    /// The limit of one payment.
    pub limit: Money,
}

impl Payload for Allowance {
    const SCHEMA: &'static str = "allowance/1";
}

/// It is more than the customer may pay at once.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LimitExceeded {
    /// The limit of one payment.
    pub limit: Money,
    /// What was asked for.
    pub asked: Money,
}

impl Payload for LimitExceeded {
    const SCHEMA: &'static str = "limit-exceeded/1";
}

/// Who may buy.
#[async_trait]
pub trait Risk: Send + Sync + 'static {
    /// What it promises.
    fn contract(&self) -> Contract;

    /// Does it look like fraud?
    async fn fraud(&self, call: &Call, purchase: &Purchase) -> Answer<Score, Suspected>;

    /// Is it within the customer's limit?
    async fn limit(&self, call: &Call, purchase: &Purchase) -> Answer<Allowance, LimitExceeded>;
}
