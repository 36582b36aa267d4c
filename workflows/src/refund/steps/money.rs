//! The money goes back: the point of no return.

use std::sync::Arc;

use amends::prelude::{ByRepeating, Contract, Step, StepContext, StepError};

use crate::ports::{Call, Declined, Payments, RefundFunds, Refunded};
use crate::refund::Refundable;
use crate::rules::{self, PAYMENT_GATEWAY};

/// Gives the money back. The gateway keeps its answers by request id, so a repeat gives nothing twice.
pub struct RefundPayment {
    payments: Arc<dyn Payments>,
}

impl RefundPayment {
    /// Through this gateway.
    pub fn new(payments: Arc<dyn Payments>) -> Self {
        Self { payments }
    }
}

impl Step for RefundPayment {
    type Input = Refundable;
    type Output = Refunded;
    type Refusal = Declined;
    type Settle = ByRepeating;

    fn contract(&self) -> Contract {
        self.payments.contract()
    }

    async fn run(&self, cx: &StepContext, what: Refundable) -> Result<Refunded, StepError<Declined>> {
        let ask = RefundFunds { capture: what.capture, amount: what.amount };
        let answer = self.payments.refund(&Call::of(cx), &ask).await;
        rules::forward(cx, &PAYMENT_GATEWAY, "refund", answer)
    }
}
