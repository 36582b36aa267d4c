//! The carrier.

use amends::prelude::{Contract, Payload};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{Answer, Call};
use crate::names::{OrderId, ReservationId, TrackingNumber};

/// Send these goods.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Dispatch {
    /// Of which order.
    pub order: OrderId,
    /// The goods, where the warehouse has set them aside.
    pub reservation: ReservationId,
    /// Where to.
    pub address: String,
}

/// Goods on their way.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Parcel {
    /// What the carrier calls it.
    pub tracking: TrackingNumber,
}

impl Payload for Parcel {
    const SCHEMA: &'static str = "parcel/1";
}

/// The carrier.
#[async_trait]
pub trait Shipping: Send + Sync + 'static {
    /// What the carrier promises.
    fn contract(&self) -> Contract;

    /// Sends goods. A repeat of the request is answered with the same parcel.
    async fn ship(&self, call: &Call, ask: &Dispatch) -> Answer<Parcel>;
}
