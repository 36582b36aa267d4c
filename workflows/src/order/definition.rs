//! The order saga's shape.
//!
//! ```text
//!                 ┌─▶ reserve-stock ──────┐
//!    order placed ┤   ⟲ release           ├─▶ capture-payment ──▶ ship-parcel ──▶ notify-customer
//!                 └─▶ authorize-payment ──┘   ◆ pivot             ▸ retriable     ▸ retriable
//!                     ⟲ void
//! ```
//!
//! | step | an unknown outcome is settled | undone by, and *its* unknown |
//! |---|---|---|
//! | reserve-stock | by query | release, by query |
//! | authorize-payment | by repeating | void, by repeating |
//! | capture-payment | by query | nothing: the pivot |
//! | ship-parcel | by repeating | |
//! | notify-customer | by repeating | |

use amends::prelude::{Configure, Handle, PlanErrors, Saga, SagaBuilder};

use super::model::OrderPlaced;
use super::steps::{AuthorizePayment, CapturePayment, NotifyCustomer, ReserveStock, ShipParcel};
use crate::ports::{Authorization, Capture, Parcel, Participants, Reservation, Sent};

/// The order saga, with handles to read a saga's results by.
#[derive(Clone, Debug)]
pub struct OrderSaga {
    /// Register this.
    pub saga: Saga<OrderPlaced, Sent>,
    /// The goods set aside.
    pub stock: Handle<Reservation>,
    /// The money held.
    pub authorization: Handle<Authorization>,
    /// The money taken.
    pub capture: Handle<Capture>,
    /// The goods sent.
    pub parcel: Handle<Parcel>,
}

/// Builds the order saga on these participants.
///
/// # Errors
/// When the definition is wrong, which a test excludes.
pub fn order_saga(p: &Participants) -> Result<OrderSaga, PlanErrors> {
    let (s, order) = SagaBuilder::<OrderPlaced>::new("order", 1);
    let mut s = s.compensation_default("compensation");

    let reserve = ReserveStock::new(p.inventory.clone()).retry("warehouse").query("warehouse");
    let stock = s.step("reserve-stock", reserve, order);

    let authorize = AuthorizePayment::new(p.payments.clone()).retry("checkout").query("payment-gateway");
    let authorization = s.step("authorize-payment", authorize, order);

    let capture = CapturePayment::new(p.payments.clone()).retry("payment-gateway").query("payment-gateway");
    let (capture, mut s) = s.pivot("capture-payment", capture, authorization);

    let ship = ShipParcel::new(p.shipping.clone()).retry("carrier").query("carrier");
    let parcel = s.retriable("ship-parcel", ship, (order, stock, capture));

    let notify = NotifyCustomer::new(p.notifications.clone()).retry("post-office").query("post-office");
    let sent = s.retriable("notify-customer", notify, (order, parcel));

    Ok(OrderSaga { saga: s.finish(sent)?, stock, authorization, capture, parcel })
}
