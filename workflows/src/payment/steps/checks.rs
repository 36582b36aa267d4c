//! May this be paid? Two reads: they change nothing, so they are simply asked again.

use amends::prelude::{Contract, NoEffect, Problem, Step, StepContext, StepError};
use amends::{Outgoing, Transmission};

use crate::payment::PaymentRequested;
use crate::ports::{Allowance, Call, LimitExceeded, Port, Risk, Score, Suspected, operation};
use crate::rules::{self, RISK_ENGINE};

/// Does it look like fraud?
pub struct CheckFraud {
    risk: Port<dyn Risk>,
}

impl CheckFraud {
    /// Asks this one.
    pub fn new(risk: Port<dyn Risk>) -> Self {
        Self { risk }
    }
}

impl Step for CheckFraud {
    type Input = PaymentRequested;
    type Output = Score;
    type Refusal = Suspected;
    type Settle = NoEffect;

    fn contract(&self) -> Contract {
        self.risk.contract(Risk::contract)
    }

    async fn run(&self, cx: &StepContext, payment: PaymentRequested) -> Result<Score, StepError<Suspected>> {
        let answer = self.risk.called()?.fraud(&Call::of(cx), &payment.purchase()).await;
        rules::forward(cx, &RISK_ENGINE, "fraud", answer)
    }

    fn command(&self, of: &Transmission, payment: &PaymentRequested) -> Result<Option<Outgoing>, Problem> {
        self.risk.command(of, operation::FRAUD, &payment.purchase())
    }
}

/// Is it within the customer's limit?
pub struct CheckLimit {
    risk: Port<dyn Risk>,
}

impl CheckLimit {
    /// Asks this one.
    pub fn new(risk: Port<dyn Risk>) -> Self {
        Self { risk }
    }
}

impl Step for CheckLimit {
    type Input = PaymentRequested;
    type Output = Allowance;
    type Refusal = LimitExceeded;
    type Settle = NoEffect;

    fn contract(&self) -> Contract {
        self.risk.contract(Risk::contract)
    }

    async fn run(
        &self,
        cx: &StepContext,
        payment: PaymentRequested,
    ) -> Result<Allowance, StepError<LimitExceeded>> {
        let answer = self.risk.called()?.limit(&Call::of(cx), &payment.purchase()).await;
        rules::forward(cx, &RISK_ENGINE, "limit", answer)
    }

    fn command(&self, of: &Transmission, payment: &PaymentRequested) -> Result<Option<Outgoing>, Problem> {
        self.risk.command(of, operation::LIMIT, &payment.purchase())
    }
}
