//! The money is held.

use amends::prelude::{
    ByRepeating, Compensate, CompensationError, Contract, Forward, Problem, Step, StepContext, StepError,
    Undo,
};
use amends::{Outgoing, Transmission};

use crate::order::OrderPlaced;
use crate::ports::{Authorization, Authorize, Call, Declined, Payments, Port, operation};
use crate::rules::{self, PAYMENT_GATEWAY};

/// Holds the order's total on the card. The gateway keeps its answers by request id, so after a lost answer
/// the same request is simply sent again, forward and back.
pub struct AuthorizePayment {
    payments: Port<dyn Payments>,
}

impl AuthorizePayment {
    /// Through this gateway.
    pub fn new(payments: Port<dyn Payments>) -> Self {
        Self { payments }
    }
}

fn ask(order: &OrderPlaced) -> Authorize {
    Authorize {
        reference: order.order().to_string(),
        card: order.card().clone(),
        amount: order.total(),
        risk_score: None,
    }
}

impl Step for AuthorizePayment {
    type Input = OrderPlaced;
    type Output = Authorization;
    type Refusal = Declined;
    type Settle = ByRepeating;

    fn contract(&self) -> Contract {
        self.payments.contract(Payments::contract)
    }

    async fn run(&self, cx: &StepContext, order: OrderPlaced) -> Result<Authorization, StepError<Declined>> {
        let answer = self.payments.called()?.authorize(&Call::of(cx), &ask(&order)).await;
        rules::forward(cx, &PAYMENT_GATEWAY, "authorize", answer)
    }

    fn command(&self, of: &Transmission, order: &OrderPlaced) -> Result<Option<Outgoing>, Problem> {
        self.payments.command(of, operation::AUTHORIZE, &ask(order))
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
        let answer = self.payments.called()?.void(&Call::of(cx), order.order().as_str()).await;
        rules::backward(&PAYMENT_GATEWAY, "void", answer)
    }

    fn undo_command(
        &self,
        of: &Transmission,
        order: &OrderPlaced,
        forward: &Forward<Authorization>,
    ) -> Result<Option<Outgoing>, Problem> {
        self.payments.undo_command(of, operation::AUTHORIZE, &ask(order), forward)
    }
}
