//! The money is taken: the point of no return.

use amends::prelude::{
    ByQuery, Contract, Finding, Problem, QueryError, Reconcile, Step, StepContext, StepError,
};
use amends::{Outgoing, Transmission};

use crate::ports::{Authorization, Call, Capture, CaptureFunds, Declined, Payments, Port, find, operation};
use crate::rules::{self, PAYMENT_GATEWAY};

/// Takes what was held. Never sent twice on a guess: after a lost answer the gateway is asked first.
pub struct CapturePayment {
    payments: Port<dyn Payments>,
}

impl CapturePayment {
    /// Through this gateway.
    pub fn new(payments: Port<dyn Payments>) -> Self {
        Self { payments }
    }
}

fn ask(held: &Authorization) -> CaptureFunds {
    CaptureFunds { authorization: held.id.clone(), amount: held.amount }
}

impl Step for CapturePayment {
    type Input = Authorization;
    type Output = Capture;
    type Refusal = Declined;
    type Settle = ByQuery;

    fn contract(&self) -> Contract {
        self.payments.contract(Payments::contract)
    }

    async fn run(&self, cx: &StepContext, held: Authorization) -> Result<Capture, StepError<Declined>> {
        let answer = self.payments.called()?.capture(&Call::of(cx), &ask(&held)).await;
        rules::forward(cx, &PAYMENT_GATEWAY, "capture", answer)
    }

    fn command(&self, of: &Transmission, held: &Authorization) -> Result<Option<Outgoing>, Problem> {
        self.payments.command(of, operation::CAPTURE, &ask(held))
    }
}

impl Reconcile for CapturePayment {
    async fn reconcile(
        &self,
        cx: &StepContext,
        held: Authorization,
    ) -> Result<Finding<Capture, Declined>, QueryError> {
        match &self.payments {
            Port::Calls(payments) => {
                rules::query(&PAYMENT_GATEWAY, "captured", payments.captured(&Call::of(cx)).await)
            }
            Port::Messages(messages) => find(&**messages, cx, operation::CAPTURE, &ask(&held)).await,
        }
    }
}
