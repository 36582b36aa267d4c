//! May this be paid? Two reads: they change nothing, so they are simply asked again.

use std::sync::Arc;

use amends::prelude::{Contract, NoEffect, Step, StepContext, StepError};

use crate::payment::PaymentRequested;
use crate::ports::{Allowance, Call, LimitExceeded, Risk, Score, Suspected};
use crate::rules::{self, RISK_ENGINE};

/// Does it look like fraud?
pub struct CheckFraud {
    risk: Arc<dyn Risk>,
}

impl CheckFraud {
    /// Asks this one.
    pub fn new(risk: Arc<dyn Risk>) -> Self {
        Self { risk }
    }
}

impl Step for CheckFraud {
    type Input = PaymentRequested;
    type Output = Score;
    type Refusal = Suspected;
    type Settle = NoEffect;

    fn contract(&self) -> Contract {
        self.risk.contract()
    }

    async fn run(&self, cx: &StepContext, payment: PaymentRequested) -> Result<Score, StepError<Suspected>> {
        let answer = self.risk.fraud(&Call::of(cx), &payment.purchase()).await;
        rules::forward(cx, &RISK_ENGINE, "fraud", answer)
    }
}

/// Is it within the customer's limit?
pub struct CheckLimit {
    risk: Arc<dyn Risk>,
}

impl CheckLimit {
    /// Asks this one.
    pub fn new(risk: Arc<dyn Risk>) -> Self {
        Self { risk }
    }
}

impl Step for CheckLimit {
    type Input = PaymentRequested;
    type Output = Allowance;
    type Refusal = LimitExceeded;
    type Settle = NoEffect;

    fn contract(&self) -> Contract {
        self.risk.contract()
    }

    async fn run(
        &self,
        cx: &StepContext,
        payment: PaymentRequested,
    ) -> Result<Allowance, StepError<LimitExceeded>> {
        let answer = self.risk.limit(&Call::of(cx), &payment.purchase()).await;
        rules::forward(cx, &RISK_ENGINE, "limit", answer)
    }
}
