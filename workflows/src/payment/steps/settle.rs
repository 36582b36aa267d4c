//! The money reaches the merchant's account.

use std::sync::Arc;

use amends::prelude::{
    ByQuery, Contract, Finding, Never, QueryError, Reconcile, Step, StepContext, StepError,
};

use crate::ports::{Call, Capture, Ledger, Settle, Settlement};
use crate::rules::{self, LEDGER};

/// Books what was taken to the merchant's account.
pub struct SettlePayment {
    ledger: Arc<dyn Ledger>,
}

impl SettlePayment {
    /// In these books.
    pub fn new(ledger: Arc<dyn Ledger>) -> Self {
        Self { ledger }
    }
}

impl Step for SettlePayment {
    type Input = Capture;
    type Output = Settlement;
    type Refusal = Never;
    type Settle = ByQuery;

    fn contract(&self) -> Contract {
        self.ledger.contract()
    }

    async fn run(&self, cx: &StepContext, taken: Capture) -> Result<Settlement, StepError<Never>> {
        let ask = Settle { capture: taken.id, amount: taken.amount };
        let answer = self.ledger.settle(&Call::of(cx), &ask).await;
        rules::forward(cx, &LEDGER, "settle", answer)
    }
}

impl Reconcile for SettlePayment {
    async fn reconcile(
        &self,
        cx: &StepContext,
        _: Capture,
    ) -> Result<Finding<Settlement, Never>, QueryError> {
        rules::query(&LEDGER, "settled", self.ledger.settled(&Call::of(cx)).await)
    }
}
