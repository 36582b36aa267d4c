//! The money is taken: the point of no return.

use std::sync::Arc;

use amends::prelude::{ByQuery, Contract, Finding, QueryError, Reconcile, Step, StepContext, StepError};

use crate::ports::{Authorization, Call, Capture, CaptureFunds, Declined, Payments};
use crate::rules::{self, PAYMENT_GATEWAY};

/// Takes what was held. Never sent twice on a guess: after a lost answer the gateway is asked first.
pub struct CapturePayment {
    payments: Arc<dyn Payments>,
}

impl CapturePayment {
    /// Through this gateway.
    pub fn new(payments: Arc<dyn Payments>) -> Self {
        Self { payments }
    }
}

impl Step for CapturePayment {
    type Input = Authorization;
    type Output = Capture;
    type Refusal = Declined;
    type Settle = ByQuery;

    fn contract(&self) -> Contract {
        self.payments.contract()
    }

    async fn run(&self, cx: &StepContext, held: Authorization) -> Result<Capture, StepError<Declined>> {
        let ask = CaptureFunds { authorization: held.id, amount: held.amount };
        let answer = self.payments.capture(&Call::of(cx), &ask).await;
        rules::forward(cx, &PAYMENT_GATEWAY, "capture", answer)
    }
}

impl Reconcile for CapturePayment {
    async fn reconcile(
        &self,
        cx: &StepContext,
        _: Authorization,
    ) -> Result<Finding<Capture, Declined>, QueryError> {
        rules::query(&PAYMENT_GATEWAY, "captured", self.payments.captured(&Call::of(cx)).await)
    }
}
