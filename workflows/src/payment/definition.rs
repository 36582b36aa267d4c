//! The payment saga's shape.
//!
//! ```text
//!              ┌─▶ check-fraud ─┐                                                ┌─▶ send-receipt, if on no paper
//!    requested ┤   ○ read       ├─▶ authorise ──▶ capture-payment ──▶ settle ──┤   ▸ retriable
//!              └─▶ check-limit ─┘   ⟲ void        ◆ pivot             ▸        └─▶ print-receipt, otherwise
//!                  ○ read                                                          ▸ retriable
//! ```
//!
//! | step | an unknown outcome is settled | undone by, and *its* unknown |
//! |---|---|---|
//! | check-fraud, check-limit | asked again: they change nothing | |
//! | authorise | by query; in doubt the void closes it out | void, by query |
//! | capture-payment | by query | nothing: the pivot |
//! | settle | by query | |
//! | send-receipt | by repeating | |
//! | print-receipt | by an operator | |
//!
//! Version 1 printed every receipt.

use amends::prelude::{Configure, Handle, PlanErrors, Saga, SagaBuilder};

use super::model::PaymentRequested;
use super::steps::{AuthorisePayment, CheckFraud, CheckLimit, PrintReceipt, SendReceipt, SettlePayment};
use crate::order::CapturePayment;
use crate::ports::{Authorization, Capture, Participants, Sent, Settlement};

/// The payment saga, with handles to read a saga's results by.
#[derive(Clone, Debug)]
pub struct PaymentSaga {
    /// Register this.
    pub saga: Saga<PaymentRequested, Sent>,
    /// The money held.
    pub authorization: Handle<Authorization>,
    /// The money taken.
    pub capture: Handle<Capture>,
    /// The money on the merchant's account.
    pub settlement: Handle<Settlement>,
}

/// Builds the payment saga on these participants.
///
/// # Errors
/// When the definition is wrong, which a test excludes.
pub fn payment_saga(p: &Participants) -> Result<PaymentSaga, PlanErrors> {
    let (s, payment) = SagaBuilder::<PaymentRequested>::new("payment", 2);
    let mut s = s.compensation_default("compensation");

    let fraud = s.read("check-fraud", CheckFraud::new(p.risk.clone()).retry("risk-engine"), payment);
    let limit = s.read("check-limit", CheckLimit::new(p.risk.clone()).retry("risk-engine"), payment);

    let authorise = AuthorisePayment::new(p.payments.clone()).retry("checkout").query("payment-gateway");
    let authorization = s.step("authorise", authorise, (payment, fraud, limit));

    let capture = CapturePayment::new(p.payments.clone()).retry("payment-gateway").query("payment-gateway");
    let (capture, mut s) = s.pivot("capture-payment", capture, authorization);

    let settle = SettlePayment::new(p.ledger.clone()).retry("ledger").query("ledger");
    let settlement = s.retriable("settle", settle, capture);

    let send = SendReceipt::new(p.notifications.clone()).retry("post-office").query("post-office");
    let print = PrintReceipt::new(p.receipts.clone()).retry("post-office");
    let sent = s.either(
        "paperless",
        payment.map(|payment| payment.is_paperless()),
        |b| b.retriable("send-receipt", send, (payment, settlement)),
        |b| b.retriable("print-receipt", print, (payment, settlement)),
    );

    Ok(PaymentSaga { saga: s.finish(sent)?, authorization, capture, settlement })
}
