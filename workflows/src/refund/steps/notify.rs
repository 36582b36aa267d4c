//! The customer is told.

use amends::prelude::{ByRepeating, Contract, Never, Problem, Step, StepContext, StepError};
use amends::{Outgoing, Transmission};

use crate::ports::{Call, Notice, Notifications, Port, Refunded, Sent, operation};
use crate::refund::RefundRequested;
use crate::rules::{self, POST_OFFICE};

/// Tells the customer that the money is on its way.
pub struct NotifyRefund {
    notifications: Port<dyn Notifications>,
}

impl NotifyRefund {
    /// Through this sender.
    pub fn new(notifications: Port<dyn Notifications>) -> Self {
        Self { notifications }
    }
}

fn ask((request, refunded): &(RefundRequested, Refunded)) -> Notice {
    let text = format!("{} of order {} are on their way to you.", refunded.amount, request.order);
    Notice { to: request.customer.clone(), text }
}

impl Step for NotifyRefund {
    type Input = (RefundRequested, Refunded);
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
