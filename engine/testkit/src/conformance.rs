//! What every store must do, as tests that an adapter runs against itself.

pub mod store;
