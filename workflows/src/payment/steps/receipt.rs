//! The customer gets a receipt on paper.

use std::sync::Arc;

use amends::prelude::{ByOperator, Contract, Never, Step, StepContext, StepError};

use crate::payment::PaymentRequested;
use crate::ports::{Call, Receipt, Receipts, Sent, Settlement};
use crate::rules::{self, POST_OFFICE};

/// Has a receipt printed and sent.
///
/// The letter shop keeps no request ids and answers no questions. So an order that it did not confirm is for a
/// person, who calls them: two receipts for one payment are worse than a late one.
pub struct PrintReceipt {
    receipts: Arc<dyn Receipts>,
}

impl PrintReceipt {
    /// At this letter shop.
    pub fn new(receipts: Arc<dyn Receipts>) -> Self {
        Self { receipts }
    }
}

impl Step for PrintReceipt {
    type Input = (PaymentRequested, Settlement);
    type Output = Sent;
    type Refusal = Never;
    type Settle = ByOperator;

    fn contract(&self) -> Contract {
        self.receipts.contract()
    }

    async fn run(&self, cx: &StepContext, (payment, settled): Self::Input) -> Result<Sent, StepError<Never>> {
        let receipt = Receipt {
            to: payment.customer().clone(),
            reference: payment.payment().to_string(),
            amount: settled.amount,
        };
        let answer = self.receipts.print(&Call::of(cx), &receipt).await;
        rules::forward(cx, &POST_OFFICE, "print", answer)
    }
}
