//! The customer gets a receipt, on paper or as a message.

use std::sync::Arc;

use amends::prelude::{ByOperator, ByRepeating, Contract, Never, Step, StepContext, StepError};

use crate::payment::PaymentRequested;
use crate::ports::{Call, Notice, Notifications, Receipt, Receipts, Sent, Settlement};
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

/// Sends the receipt as a message. The sender answers a repeated request with the same message.
pub struct SendReceipt {
    notifications: Arc<dyn Notifications>,
}

impl SendReceipt {
    /// Through this sender.
    pub fn new(notifications: Arc<dyn Notifications>) -> Self {
        Self { notifications }
    }
}

impl Step for SendReceipt {
    type Input = (PaymentRequested, Settlement);
    type Output = Sent;
    type Refusal = Never;
    type Settle = ByRepeating;

    fn contract(&self) -> Contract {
        self.notifications.contract()
    }

    async fn run(&self, cx: &StepContext, (payment, settled): Self::Input) -> Result<Sent, StepError<Never>> {
        let text = format!("Received with thanks: {} for {}.", settled.amount, payment.payment());
        let notice = Notice { to: payment.customer().clone(), text };
        let answer = self.notifications.notify(&Call::of(cx), &notice).await;
        rules::forward(cx, &POST_OFFICE, "notify", answer)
    }
}
