//! The warehouse's stock.

use amends::prelude::{Contract, Finding, Never, Payload, UndoFinding};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{Answer, Call, Fault, UndoAnswer};
use crate::names::{OrderId, ReservationId, Sku};

/// So many of one thing.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "so many pieces of a SKU, an object")]
pub struct StockLine {
    /// The thing.
    pub sku: Sku,
    /// How many.
    pub quantity: u32,
}

/// Set these goods aside.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Reserve {
    /// For which order.
    pub order: OrderId,
    /// All of them, or none.
    pub lines: Vec<StockLine>,
}

/// Goods set aside.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Reservation {
    /// What the warehouse calls it.
    pub id: ReservationId,
}

impl Payload for Reservation {
    const SCHEMA: &'static str = "reservation/1";
}

/// How goods stand that were set aside.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GoodsState {
    /// Set aside, and untouched.
    Held,
    /// Somebody has packed them since.
    Packed,
    /// On the shelf again.
    Released,
    /// Sent.
    Shipped,
}

/// Goods that were set aside, as they stand now.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Goods {
    /// What the warehouse calls them.
    pub reservation: ReservationId,
    /// How they stand.
    pub state: GoodsState,
}

impl Payload for Goods {
    const SCHEMA: &'static str = "goods/1";
}

/// There is not enough of something.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct OutOfStock {
    /// Of what.
    pub sku: Sku,
    /// How many were asked for.
    pub wanted: u32,
    /// How many there are.
    pub available: u32,
}

impl Payload for OutOfStock {
    const SCHEMA: &'static str = "out-of-stock/1";
}

/// Goods come back.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Restock {
    /// Of which order they were.
    pub order: OrderId,
    /// Which; none is fine.
    pub lines: Vec<StockLine>,
}

/// Goods are on the shelf again.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Restocked {
    /// How many pieces.
    pub pieces: u32,
}

impl Payload for Restocked {
    const SCHEMA: &'static str = "restocked/1";
}

/// The warehouse's stock.
#[async_trait]
pub trait Inventory: Send + Sync + 'static {
    /// What the warehouse promises.
    fn contract(&self) -> Contract;

    /// Sets goods aside: all lines, or none.
    async fn reserve(&self, call: &Call, ask: &Reserve) -> Answer<Reservation, OutOfStock>;

    /// What became of [`reserve`](Self::reserve).
    async fn reservation(&self, call: &Call) -> Result<Finding<Reservation, OutOfStock>, Fault>;

    /// Puts the goods of the reservation `call.forward_request_id` back on the shelf. Where they do not stand as
    /// `expected`, if anything is, it leaves them alone and answers [`UndoError::Stale`](super::UndoError::Stale).
    async fn release(&self, call: &Call, order: &OrderId, expected: Option<&Goods>) -> UndoAnswer;

    /// What became of [`release`](Self::release).
    async fn released(&self, call: &Call) -> Result<UndoFinding, Fault>;

    /// Takes goods back that had been sent.
    async fn restock(&self, call: &Call, ask: &Restock) -> Answer<Restocked>;

    /// What became of [`restock`](Self::restock).
    async fn restocked(&self, call: &Call) -> Result<Finding<Restocked, Never>, Fault>;
}
