//! The shop's three workflows, on participants that are called or written to.

use amends::Saga;
use amends_workflows::ports::{Participants, Sent};
use amends_workflows::{
    OrderPlaced, PaymentRequested, RefundRequested, order_saga, payment_saga, refund_saga,
};

/// One of each.
pub struct Workflows {
    /// Orders.
    pub order: Saga<OrderPlaced, Sent>,
    /// Payments without goods.
    pub payment: Saga<PaymentRequested, Sent>,
    /// Money back.
    pub refund: Saga<RefundRequested, Sent>,
}

impl Workflows {
    /// On these participants.
    ///
    /// # Errors
    /// When a definition is wrong.
    pub fn on(participants: &Participants) -> anyhow::Result<Self> {
        Ok(Self {
            order: order_saga(participants)?.saga,
            payment: payment_saga(participants)?.saga,
            refund: refund_saga(participants)?.saga,
        })
    }
}
