//! The customer is told.

use std::sync::Arc;

use amends::prelude::{ByRepeating, Contract, Never, Step, StepContext, StepError};

use crate::order::OrderPlaced;
use crate::ports::{Call, Notice, Notifications, Parcel, Sent};
use crate::rules::{self, POST_OFFICE};

/// Tells the customer that the parcel is on its way.
pub struct NotifyCustomer {
    notifications: Arc<dyn Notifications>,
}

impl NotifyCustomer {
    /// Through this sender.
    pub fn new(notifications: Arc<dyn Notifications>) -> Self {
        Self { notifications }
    }
}

impl Step for NotifyCustomer {
    type Input = (OrderPlaced, Parcel);
    type Output = Sent;
    type Refusal = Never;
    type Settle = ByRepeating;

    fn contract(&self) -> Contract {
        self.notifications.contract()
    }

    async fn run(&self, cx: &StepContext, (order, parcel): Self::Input) -> Result<Sent, StepError<Never>> {
        let text = format!("Order {} is on its way: {}.", order.order(), parcel.tracking);
        let notice = Notice { to: order.customer().clone(), text };
        let answer = self.notifications.notify(&Call::of(cx), &notice).await;
        rules::forward(cx, &POST_OFFICE, "notify", answer)
    }
}
