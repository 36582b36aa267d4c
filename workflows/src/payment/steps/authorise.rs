//! The money is held, with what the checks found out.

use amends::prelude::{
    ByQuery, Compensate, CompensationError, Contract, Finding, Forward, InDoubt, Problem, QueryError,
    Reconcile, ReconcileCompensation, Step, StepContext, StepError, Undo, UndoFinding,
};
use amends::{Outgoing, Transmission};

use crate::payment::PaymentRequested;
use crate::ports::{
    Allowance, Authorization, Authorize, Call, Declined, Payments, Port, Score, find, find_undo, operation,
};
use crate::rules::{self, PAYMENT_GATEWAY};

/// Holds the payment on the card.
///
/// The order's step of the same kind settles by repeating; this one shows the other way with the same gateway:
/// it asks, forward and back. And should asking not help once the saga has turned back, it need not wait for
/// a person: the gateway keeps a barrier, so a void may be sent for a request that may still arrive.
pub struct AuthorisePayment {
    payments: Port<dyn Payments>,
}

impl AuthorisePayment {
    /// Through this gateway.
    pub fn new(payments: Port<dyn Payments>) -> Self {
        Self { payments }
    }
}

fn ask((payment, risk, _within_limit): &(PaymentRequested, Score, Allowance)) -> Authorize {
    Authorize {
        reference: payment.payment().to_string(),
        card: payment.card().clone(),
        amount: payment.amount(),
        risk_score: Some(risk.score),
    }
}

impl Step for AuthorisePayment {
    /// The allowance is not sent along; that it is needed is what keeps the order of things.
    type Input = (PaymentRequested, Score, Allowance);
    type Output = Authorization;
    type Refusal = Declined;
    type Settle = ByQuery;

    fn contract(&self) -> Contract {
        self.payments.contract(Payments::contract)
    }

    async fn run(&self, cx: &StepContext, input: Self::Input) -> Result<Authorization, StepError<Declined>> {
        let answer = self.payments.called()?.authorize(&Call::of(cx), &ask(&input)).await;
        rules::forward(cx, &PAYMENT_GATEWAY, "authorize", answer)
    }

    fn command(&self, of: &Transmission, input: &Self::Input) -> Result<Option<Outgoing>, Problem> {
        self.payments.command(of, operation::AUTHORIZE, &ask(input))
    }
}

impl Reconcile for AuthorisePayment {
    async fn reconcile(
        &self,
        cx: &StepContext,
        input: Self::Input,
    ) -> Result<Finding<Authorization, Declined>, QueryError> {
        match &self.payments {
            Port::Calls(payments) => {
                rules::query(&PAYMENT_GATEWAY, "authorization", payments.authorization(&Call::of(cx)).await)
            }
            Port::Messages(messages) => find(&**messages, cx, operation::AUTHORIZE, &ask(&input)).await,
        }
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
        let answer = self.payments.called()?.void(&Call::of(cx), payment.payment().as_str()).await;
        rules::backward(&PAYMENT_GATEWAY, "void", answer)
    }

    fn undo_command(
        &self,
        of: &Transmission,
        input: &Self::Input,
        forward: &Forward<Authorization>,
    ) -> Result<Option<Outgoing>, Problem> {
        self.payments.undo_command(of, operation::AUTHORIZE, &ask(input), forward)
    }
}

impl ReconcileCompensation for AuthorisePayment {
    async fn reconcile_compensation(
        &self,
        cx: &StepContext,
        input: Self::Input,
    ) -> Result<UndoFinding, QueryError> {
        match &self.payments {
            Port::Calls(payments) => {
                rules::query(&PAYMENT_GATEWAY, "voided", payments.voided(&Call::of(cx)).await)
            }
            Port::Messages(messages) => find_undo(&**messages, cx, operation::AUTHORIZE, &ask(&input)).await,
        }
    }
}
