//! The order saga: goods and money are held side by side, taken once, sent and told.

mod definition;
mod model;
mod steps;

#[cfg(test)]
mod tests;

// The public interface is:
pub use definition::{OrderSaga, order_saga};
pub use model::{Buyer, InvalidOrder, OrderLine, OrderPlaced};
pub use steps::{AuthorizePayment, CapturePayment, NotifyCustomer, ReserveStock, ShipParcel};
