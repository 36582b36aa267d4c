//! The money reaches the merchant's account.

use amends::prelude::{
    ByQuery, Contract, Finding, Never, Problem, QueryError, Reconcile, Step, StepContext, StepError,
};
use amends::{Outgoing, Transmission};

use crate::ports::{Call, Capture, Ledger, Port, Settle, Settlement, find, operation};
use crate::rules::{self, LEDGER};

/// Books what was taken to the merchant's account.
pub struct SettlePayment {
    ledger: Port<dyn Ledger>,
}

impl SettlePayment {
    /// In these books.
    pub fn new(ledger: Port<dyn Ledger>) -> Self {
        Self { ledger }
    }
}

fn ask(taken: &Capture) -> Settle {
    Settle { capture: taken.id.clone(), amount: taken.amount }
}

impl Step for SettlePayment {
    type Input = Capture;
    type Output = Settlement;
    type Refusal = Never;
    type Settle = ByQuery;

    fn contract(&self) -> Contract {
        self.ledger.contract(Ledger::contract)
    }

    async fn run(&self, cx: &StepContext, taken: Capture) -> Result<Settlement, StepError<Never>> {
        let answer = self.ledger.called()?.settle(&Call::of(cx), &ask(&taken)).await;
        rules::forward(cx, &LEDGER, "settle", answer)
    }

    fn command(&self, of: &Transmission, taken: &Capture) -> Result<Option<Outgoing>, Problem> {
        self.ledger.command(of, operation::SETTLE, &ask(taken))
    }
}

impl Reconcile for SettlePayment {
    async fn reconcile(
        &self,
        cx: &StepContext,
        taken: Capture,
    ) -> Result<Finding<Settlement, Never>, QueryError> {
        match &self.ledger {
            Port::Calls(ledger) => rules::query(&LEDGER, "settled", ledger.settled(&Call::of(cx)).await),
            Port::Messages(messages) => find(&**messages, cx, operation::SETTLE, &ask(&taken)).await,
        }
    }
}
