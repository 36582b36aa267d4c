//! The async shell around the pure machine.
