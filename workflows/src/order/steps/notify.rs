//! The customer is told.

use amends::prelude::{ByRepeating, Contract, Never, Problem, Step, StepContext, StepError};
use amends::{Outgoing, Transmission};

use crate::order::OrderPlaced;
use crate::ports::{Call, Notice, Notifications, Parcel, Port, Sent, operation};
use crate::rules::{self, POST_OFFICE};

/// Tells the customer that the parcel is on its way.
pub struct NotifyCustomer {
    notifications: Port<dyn Notifications>,
}

impl NotifyCustomer {
    /// Through this sender.
    pub fn new(notifications: Port<dyn Notifications>) -> Self {
        Self { notifications }
    }
}

fn ask((order, parcel): &(OrderPlaced, Parcel)) -> Notice {
    let text = format!("Order {} is on its way: {}.", order.order(), parcel.tracking);
    Notice { to: order.customer().clone(), text }
}

impl Step for NotifyCustomer {
    type Input = (OrderPlaced, Parcel);
    type Output = Sent;
    type Refusal = Never;
    type Settle = ByRepeating;

    fn contract(&self) -> Contract {
        self.notifications.contract(Notifications::contract)
    }

    async fn run(&self, cx: &StepContext, input: Self::Input) -> Result<Sent, StepError<Never>> {
        let answer = self.notifications.called()?.notify(&Call::of(cx), &ask(&input)).await;
        rules::forward(cx, &POST_OFFICE, "notify", answer)
    }

    fn command(&self, of: &Transmission, input: &Self::Input) -> Result<Option<Outgoing>, Problem> {
        self.notifications.command(of, operation::NOTIFY, &ask(input))
    }
}
