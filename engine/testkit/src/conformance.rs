//! What every store and every broker must do, as tests that an adapter runs against itself.

pub mod broker;
pub mod store;
