//! What a start came upon.

use super::SagaHandle;

/// What a start came upon: see [`Engine::start_or_find`](crate::Engine::start_or_find).
#[derive(Clone, Debug)]
pub enum Begun<O = amends_core::Json> {
    /// Nothing: the saga began with it.
    New(SagaHandle<O>),
    /// The saga, which began before with the same input.
    Before(SagaHandle<O>),
}

impl<O> Begun<O> {
    /// The saga.
    pub fn saga(&self) -> &SagaHandle<O> {
        match self {
            Self::New(saga) | Self::Before(saga) => saga,
        }
    }

    /// The saga.
    pub fn into_saga(self) -> SagaHandle<O> {
        match self {
            Self::New(saga) | Self::Before(saga) => saga,
        }
    }
}
