//! What an order does, step by step.

mod authorize;
mod capture;
mod notify;
mod reserve;
mod ship;

// The public interface is:
pub use authorize::AuthorizePayment;
pub use capture::CapturePayment;
pub use notify::NotifyCustomer;
pub use reserve::ReserveStock;
pub use ship::ShipParcel;
