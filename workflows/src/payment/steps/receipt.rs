//! The customer gets a receipt, on paper or as a message.

use amends::prelude::{ByOperator, ByRepeating, Contract, Never, Problem, Step, StepContext, StepError};
use amends::{Outgoing, Transmission};

use crate::payment::PaymentRequested;
use crate::ports::{Call, Notice, Notifications, Port, Receipt, Receipts, Sent, Settlement, operation};
use crate::rules::{self, POST_OFFICE};

/// Has a receipt printed and sent.
///
/// The letter shop keeps no request ids and answers no questions. So an order that it did not confirm is for a
/// person, who calls them: two receipts for one payment are worse than a late one.
pub struct PrintReceipt {
    receipts: Port<dyn Receipts>,
}

impl PrintReceipt {
    /// At this letter shop.
    pub fn new(receipts: Port<dyn Receipts>) -> Self {
        Self { receipts }
    }
}

fn receipt((payment, settled): &(PaymentRequested, Settlement)) -> Receipt {
    Receipt {
        to: payment.customer().clone(),
        reference: payment.payment().to_string(),
        amount: settled.amount,
    }
}

impl Step for PrintReceipt {
    type Input = (PaymentRequested, Settlement);
    type Output = Sent;
    type Refusal = Never;
    type Settle = ByOperator;

    fn contract(&self) -> Contract {
        self.receipts.contract(Receipts::contract)
    }

    async fn run(&self, cx: &StepContext, input: Self::Input) -> Result<Sent, StepError<Never>> {
        let answer = self.receipts.called()?.print(&Call::of(cx), &receipt(&input)).await;
        rules::forward(cx, &POST_OFFICE, "print", answer)
    }

    fn command(&self, of: &Transmission, input: &Self::Input) -> Result<Option<Outgoing>, Problem> {
        self.receipts.command(of, operation::PRINT, &receipt(input))
    }
}

/// Sends the receipt as a message. The sender answers a repeated request with the same message.
pub struct SendReceipt {
    notifications: Port<dyn Notifications>,
}

impl SendReceipt {
    /// Through this sender.
    pub fn new(notifications: Port<dyn Notifications>) -> Self {
        Self { notifications }
    }
}

fn notice((payment, settled): &(PaymentRequested, Settlement)) -> Notice {
    let text = format!("Received with thanks: {} for {}.", settled.amount, payment.payment());
    Notice { to: payment.customer().clone(), text }
}

impl Step for SendReceipt {
    type Input = (PaymentRequested, Settlement);
    type Output = Sent;
    type Refusal = Never;
    type Settle = ByRepeating;

    fn contract(&self) -> Contract {
        self.notifications.contract(Notifications::contract)
    }

    async fn run(&self, cx: &StepContext, input: Self::Input) -> Result<Sent, StepError<Never>> {
        let answer = self.notifications.called()?.notify(&Call::of(cx), &notice(&input)).await;
        rules::forward(cx, &POST_OFFICE, "notify", answer)
    }

    fn command(&self, of: &Transmission, input: &Self::Input) -> Result<Option<Outgoing>, Problem> {
        self.notifications.command(of, operation::NOTIFY, &notice(input))
    }
}
