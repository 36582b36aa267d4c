//! The money goes back: the point of no return.

use amends::prelude::{ByRepeating, Contract, Problem, Step, StepContext, StepError};
use amends::{Outgoing, Transmission};

use crate::ports::{Call, Declined, Payments, Port, RefundFunds, Refunded, operation};
use crate::refund::Refundable;
use crate::rules::{self, PAYMENT_GATEWAY};

/// Gives the money back. The gateway keeps its answers by request id, so a repeat gives nothing twice.
pub struct RefundPayment {
    payments: Port<dyn Payments>,
}

impl RefundPayment {
    /// Through this gateway.
    pub fn new(payments: Port<dyn Payments>) -> Self {
        Self { payments }
    }
}

fn ask(what: &Refundable) -> RefundFunds {
    RefundFunds { capture: what.capture.clone(), amount: what.amount }
}

impl Step for RefundPayment {
    type Input = Refundable;
    type Output = Refunded;
    type Refusal = Declined;
    type Settle = ByRepeating;

    fn contract(&self) -> Contract {
        self.payments.contract(Payments::contract)
    }

    async fn run(&self, cx: &StepContext, what: Refundable) -> Result<Refunded, StepError<Declined>> {
        let answer = self.payments.called()?.refund(&Call::of(cx), &ask(&what)).await;
        rules::forward(cx, &PAYMENT_GATEWAY, "refund", answer)
    }

    fn command(&self, of: &Transmission, what: &Refundable) -> Result<Option<Outgoing>, Problem> {
        self.payments.command(of, operation::REFUND, &ask(what))
    }
}
