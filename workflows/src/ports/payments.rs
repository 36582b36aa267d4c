//! The payment gateway, and the books that say where the money is.

use amends::prelude::{Contract, Finding, Never, Payload, UndoFinding};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{Answer, Call, Fault, UndoAnswer};
use crate::money::Money;
use crate::names::{AuthorizationId, CaptureId, CardToken, RefundReference, SettlementId};

/// Hold this much on a card.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Authorize {
    /// For what: the order or the payment.
    pub reference: String,
    /// On which card.
    pub card: CardToken,
    /// How much.
    pub amount: Money,
    /// What the fraud check thought of it, where there was one.
    pub risk_score: Option<u32>,
}

/// Money held on a card.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Authorization {
    /// What the gateway calls it.
    pub id: AuthorizationId,
    /// How much.
    pub amount: Money,
}

impl Payload for Authorization {
    const SCHEMA: &'static str = "authorization/1";
}

/// The gateway said no.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Declined {
    /// Why.
    pub reason: DeclineReason,
}

impl Payload for Declined {
    const SCHEMA: &'static str = "declined/1";
}

/// Why a gateway says no.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeclineReason {
    /// There is not that much money.
    InsufficientFunds,
    /// The card is reported stolen.
    StolenCard,
    /// The card is no longer valid.
    ExpiredCard,
    /// Nothing is held under that authorization (any more), or less than is asked for.
    NothingHeld,
    /// Not that much was taken, or it was given back already.
    NothingToRefund,
}

/// Take what is held.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CaptureFunds {
    /// What is held.
    pub authorization: AuthorizationId,
    /// How much of it.
    pub amount: Money,
}

/// Money taken.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Capture {
    /// What the gateway calls it.
    pub id: CaptureId,
    /// How much.
    pub amount: Money,
}

impl Payload for Capture {
    const SCHEMA: &'static str = "capture/1";
}

/// Give money back.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RefundFunds {
    /// Of what was taken.
    pub capture: CaptureId,
    /// How much of it.
    pub amount: Money,
}

/// Money given back.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Refunded {
    /// What the gateway calls it.
    pub id: RefundReference,
    /// How much.
    pub amount: Money,
}

impl Payload for Refunded {
    const SCHEMA: &'static str = "refunded/1";
}

/// The payment gateway.
#[async_trait]
pub trait Payments: Send + Sync + 'static {
    /// What the gateway promises.
    fn contract(&self) -> Contract;

    /// Holds money on a card.
    async fn authorize(&self, call: &Call, ask: &Authorize) -> Answer<Authorization, Declined>;

    /// What became of [`authorize`](Self::authorize).
    async fn authorization(&self, call: &Call) -> Result<Finding<Authorization, Declined>, Fault>;

    /// Lets go of the money that the request `call.forward_request_id` held.
    async fn void(&self, call: &Call, reference: &str) -> UndoAnswer;

    /// What became of [`void`](Self::void).
    async fn voided(&self, call: &Call) -> Result<UndoFinding, Fault>;

    /// Takes what is held: from here on only a refund gives it back.
    async fn capture(&self, call: &Call, ask: &CaptureFunds) -> Answer<Capture, Declined>;

    /// What became of [`capture`](Self::capture).
    async fn captured(&self, call: &Call) -> Result<Finding<Capture, Declined>, Fault>;

    /// Gives money back.
    async fn refund(&self, call: &Call, ask: &RefundFunds) -> Answer<Refunded, Declined>;
}

/// Move what was taken to the merchant's account.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Settle {
    /// What was taken.
    pub capture: CaptureId,
    /// How much.
    pub amount: Money,
}

/// Money on the merchant's account.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Settlement {
    /// What the ledger calls it.
    pub id: SettlementId,
    /// How much.
    pub amount: Money,
}

impl Payload for Settlement {
    const SCHEMA: &'static str = "settlement/1";
}

/// The books.
#[async_trait]
pub trait Ledger: Send + Sync + 'static {
    /// What the ledger promises.
    fn contract(&self) -> Contract;

    /// Moves what was taken to the merchant's account.
    async fn settle(&self, call: &Call, ask: &Settle) -> Answer<Settlement>;

    /// What became of [`settle`](Self::settle).
    async fn settled(&self, call: &Call) -> Result<Finding<Settlement, Never>, Fault>;
}
