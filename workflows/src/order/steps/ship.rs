//! The goods are sent.

use std::sync::Arc;

use amends::prelude::{ByRepeating, Contract, Never, Step, StepContext, StepError};

use crate::order::OrderPlaced;
use crate::ports::{Call, Capture, Dispatch, Parcel, Reservation, Shipping};
use crate::rules::{self, CARRIER};

/// Hands the reserved goods to the carrier, who answers a repeated request with the same parcel.
pub struct ShipParcel {
    shipping: Arc<dyn Shipping>,
}

impl ShipParcel {
    /// With this carrier.
    pub fn new(shipping: Arc<dyn Shipping>) -> Self {
        Self { shipping }
    }
}

impl Step for ShipParcel {
    /// The capture is not sent along; that it is needed is what keeps unpaid goods in the warehouse.
    type Input = (OrderPlaced, Reservation, Capture);
    type Output = Parcel;
    type Refusal = Never;
    type Settle = ByRepeating;

    fn contract(&self) -> Contract {
        self.shipping.contract()
    }

    async fn run(
        &self,
        cx: &StepContext,
        (order, goods, _paid): Self::Input,
    ) -> Result<Parcel, StepError<Never>> {
        let ask = Dispatch {
            order: order.order().clone(),
            reservation: goods.id,
            address: order.address().to_owned(),
        };
        let answer = self.shipping.ship(&Call::of(cx), &ask).await;
        rules::forward(cx, &CARRIER, "ship", answer)
    }
}
