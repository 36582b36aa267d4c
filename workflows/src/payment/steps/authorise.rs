//! The money is held, with what the checks found out.

use std::sync::Arc;

use amends::prelude::{
    ByQuery, Compensate, CompensationError, Contract, Finding, Forward, InDoubt, QueryError, Reconcile,
    ReconcileCompensation, Step, StepContext, StepError, Undo, UndoFinding,
};

use crate::payment::PaymentRequested;
use crate::ports::{Allowance, Authorization, Authorize, Call, Declined, Payments, Score};
use crate::rules::{self, PAYMENT_GATEWAY};

/// Holds the payment on the card.
///
/// The order's step of the same kind settles by repeating; this one shows the other way with the same gateway:
/// it asks, forward and back. And should asking not help once the saga has turned back, it need not wait for
/// a person: the gateway keeps a barrier, so a void may be sent for a request that may still arrive.
pub struct AuthorisePayment {
    payments: Arc<dyn Payments>,
}

impl AuthorisePayment {
    /// Through this gateway.
    pub fn new(payments: Arc<dyn Payments>) -> Self {
        Self { payments }
    }
}

impl Step for AuthorisePayment {
    /// The allowance is not sent along; that it is needed is what keeps the order of things.
    type Input = (PaymentRequested, Score, Allowance);
    type Output = Authorization;
    type Refusal = Declined;
    type Settle = ByQuery;

    fn contract(&self) -> Contract {
        self.payments.contract()
    }

    async fn run(
        &self,
        cx: &StepContext,
        (payment, risk, _within_limit): Self::Input,
    ) -> Result<Authorization, StepError<Declined>> {
        let ask = Authorize {
            reference: payment.payment().to_string(),
            card: payment.card().clone(),
            amount: payment.amount(),
            risk_score: Some(risk.score),
        };
        let answer = self.payments.authorize(&Call::of(cx), &ask).await;
        rules::forward(cx, &PAYMENT_GATEWAY, "authorize", answer)
    }
}

impl Reconcile for AuthorisePayment {
    async fn reconcile(
        &self,
        cx: &StepContext,
        _: Self::Input,
    ) -> Result<Finding<Authorization, Declined>, QueryError> {
        rules::query(&PAYMENT_GATEWAY, "authorization", self.payments.authorization(&Call::of(cx)).await)
    }
}

impl Compensate for AuthorisePayment {
    type UndoSettle = ByQuery;

    const IN_DOUBT: InDoubt = InDoubt::Fence;

    async fn compensate(
        &self,
        cx: &StepContext,
        (payment, ..): Self::Input,
        _: Forward<Authorization>,
    ) -> Result<Undo, CompensationError> {
        // The gateway voids by the forward request id, recorded result or not; in doubt, it voids or closes
        // the request out for ever. So all cases of `Forward` are one.
        let answer = self.payments.void(&Call::of(cx), payment.payment().as_str()).await;
        rules::backward(&PAYMENT_GATEWAY, "void", answer)
    }
}

impl ReconcileCompensation for AuthorisePayment {
    async fn reconcile_compensation(
        &self,
        cx: &StepContext,
        _: Self::Input,
    ) -> Result<UndoFinding, QueryError> {
        rules::query(&PAYMENT_GATEWAY, "voided", self.payments.voided(&Call::of(cx)).await)
    }
}
