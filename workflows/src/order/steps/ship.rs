//! The goods are sent.

use amends::prelude::{ByRepeating, Contract, Never, Problem, Step, StepContext, StepError};
use amends::{Outgoing, Transmission};

use crate::order::OrderPlaced;
use crate::ports::{Call, Capture, Dispatch, Parcel, Port, Reservation, Shipping, operation};
use crate::rules::{self, CARRIER};

/// Hands the reserved goods to the carrier, who answers a repeated request with the same parcel.
pub struct ShipParcel {
    shipping: Port<dyn Shipping>,
}

impl ShipParcel {
    /// With this carrier.
    pub fn new(shipping: Port<dyn Shipping>) -> Self {
        Self { shipping }
    }
}

fn ask((order, goods, _paid): &(OrderPlaced, Reservation, Capture)) -> Dispatch {
    Dispatch {
        order: order.order().clone(),
        reservation: goods.id.clone(),
        address: order.address().to_owned(),
    }
}

impl Step for ShipParcel {
    /// The capture is not sent along; that it is needed is what keeps unpaid goods in the warehouse.
    type Input = (OrderPlaced, Reservation, Capture);
    type Output = Parcel;
    type Refusal = Never;
    type Settle = ByRepeating;

    fn contract(&self) -> Contract {
        self.shipping.contract(Shipping::contract)
    }

    async fn run(&self, cx: &StepContext, input: Self::Input) -> Result<Parcel, StepError<Never>> {
        let answer = self.shipping.called()?.ship(&Call::of(cx), &ask(&input)).await;
        rules::forward(cx, &CARRIER, "ship", answer)
    }

    fn command(&self, of: &Transmission, input: &Self::Input) -> Result<Option<Outgoing>, Problem> {
        self.shipping.command(of, operation::SHIP, &ask(input))
    }
}
