//! The customer is told.

use std::sync::Arc;

use amends::prelude::{ByRepeating, Contract, Never, Step, StepContext, StepError};

use crate::ports::{Call, Notice, Notifications, Refunded, Sent};
use crate::refund::RefundRequested;
use crate::rules::{self, POST_OFFICE};

/// Tells the customer that the money is on its way.
pub struct NotifyRefund {
    notifications: Arc<dyn Notifications>,
}

impl NotifyRefund {
    /// Through this sender.
    pub fn new(notifications: Arc<dyn Notifications>) -> Self {
        Self { notifications }
    }
}

impl Step for NotifyRefund {
    type Input = (RefundRequested, Refunded);
    type Output = Sent;
    type Refusal = Never;
    type Settle = ByRepeating;

    fn contract(&self) -> Contract {
        self.notifications.contract()
    }

    async fn run(
        &self,
        cx: &StepContext,
        (request, refunded): Self::Input,
    ) -> Result<Sent, StepError<Never>> {
        let text = format!("{} of order {} are on their way to you.", refunded.amount, request.order);
        let notice = Notice { to: request.customer, text };
        let answer = self.notifications.notify(&Call::of(cx), &notice).await;
        rules::forward(cx, &POST_OFFICE, "notify", answer)
    }
}
