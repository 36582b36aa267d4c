//! The refund saga's shape.
//!
//! ```text
//!                                                                          ┌─▶ restock, if goods came back
//!    requested ──▶ read-sale ──▶ check-refundable ──▶ refund-payment ──────┤   ▸ retriable
//!                  ○ read        ○ read               ◆ pivot              └─▶ notify-customer
//!                                                                              ▸ retriable
//! ```
//!
//! | step | an unknown outcome is settled |
//! |---|---|
//! | read-sale, check-refundable | asked again: they change nothing |
//! | refund-payment | by repeating: a pivot may, where the participant keeps its answers |
//! | restock | by query |
//! | notify-customer | by repeating |
//!
//! There is nothing to undo: before the pivot nothing has an effect, and after it there is no way back.
//!
//! Version 1 went to the warehouse for every refund, with nothing to put on a shelf for most.

use amends::prelude::{Configure, Handle, PlanErrors, Saga, SagaBuilder};

use super::model::{RefundRequested, Refundable};
use super::steps::{CheckRefundable, NotifyRefund, ReadSale, RefundPayment, RestockGoods};
use crate::ports::{Participants, Refunded, Restocked, Sale, Sent};

/// The refund saga, with handles to read a saga's results by.
#[derive(Clone, Debug)]
pub struct RefundSaga {
    /// Register this.
    pub saga: Saga<RefundRequested, Sent>,
    /// What was sold.
    pub sale: Handle<Sale>,
    /// What may be given back.
    pub refundable: Handle<Refundable>,
    /// The money given back.
    pub refunded: Handle<Refunded>,
    /// The goods that came back, if any did.
    pub restocked: Handle<Option<Restocked>>,
}

/// Builds the refund saga on these participants.
///
/// # Errors
/// When the definition is wrong, which a test excludes.
pub fn refund_saga(p: &Participants) -> Result<RefundSaga, PlanErrors> {
    let (mut s, request) = SagaBuilder::<RefundRequested>::new("refund", 2);

    let sale = s.read("read-sale", ReadSale::new(p.sales.clone()).retry("sales"), request);
    let refundable = s.read("check-refundable", CheckRefundable, (request, sale));

    let refund = RefundPayment::new(p.payments.clone()).retry("payment-gateway").query("payment-gateway");
    let (refunded, mut s) = s.pivot("refund-payment", refund, refundable);

    let restock = RestockGoods::new(p.inventory.clone()).retry("warehouse").query("warehouse");
    let any = request.map(|request| !request.returned.is_empty());
    let restocked = s.when("goods-came-back", any, |b| b.retriable("restock", restock, request));

    let notify = NotifyRefund::new(p.notifications.clone()).retry("post-office").query("post-office");
    let sent = s.retriable("notify-customer", notify, (request, refunded));

    Ok(RefundSaga { saga: s.finish(sent)?, sale, refundable, refunded, restocked })
}
