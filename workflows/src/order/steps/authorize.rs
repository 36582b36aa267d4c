//! The money is held.

use std::sync::Arc;

use amends::prelude::{
    ByRepeating, Compensate, CompensationError, Contract, Forward, Step, StepContext, StepError, Undo,
};

use crate::order::OrderPlaced;
use crate::ports::{Authorization, Authorize, Call, Declined, Payments};
use crate::rules::{self, PAYMENT_GATEWAY};

/// Holds the order's total on the card. The gateway keeps its answers by request id, so after a lost answer
/// the same request is simply sent again, forward and back.
pub struct AuthorizePayment {
    payments: Arc<dyn Payments>,
}

impl AuthorizePayment {
    /// Through this gateway.
    pub fn new(payments: Arc<dyn Payments>) -> Self {
        Self { payments }
    }
}

impl Step for AuthorizePayment {
    type Input = OrderPlaced;
    type Output = Authorization;
    type Refusal = Declined;
    type Settle = ByRepeating;

    fn contract(&self) -> Contract {
        self.payments.contract()
    }

    async fn run(&self, cx: &StepContext, order: OrderPlaced) -> Result<Authorization, StepError<Declined>> {
        let ask = Authorize {
            reference: order.order().to_string(),
            card: order.card().clone(),
            amount: order.total(),
            risk_score: None,
        };
        let answer = self.payments.authorize(&Call::of(cx), &ask).await;
        rules::forward(cx, &PAYMENT_GATEWAY, "authorize", answer)
    }
}

impl Compensate for AuthorizePayment {
    type UndoSettle = ByRepeating;

    async fn compensate(
        &self,
        cx: &StepContext,
        order: OrderPlaced,
        _: Forward<Authorization>,
    ) -> Result<Undo, CompensationError> {
        // The gateway voids by the forward request id: it needs no recorded result, and in doubt it voids or
        // closes out for ever. So all cases of `Forward` are one.
        let answer = self.payments.void(&Call::of(cx), order.order().as_str()).await;
        rules::backward(&PAYMENT_GATEWAY, "void", answer)
    }
}
