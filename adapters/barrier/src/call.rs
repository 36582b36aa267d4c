//! What a call brings with it.

use serde::Serialize;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::Error;

/// One transmission of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// The stable id of the request: the same for every attempt, after every crash and replay.
    pub request_id: Uuid,
    /// The attempt that was transmitted, counted from 1. It decides only whether a fence covers the call.
    pub attempt: u32,
    /// The digest of the input, over a form that is the same for equal inputs. A later call with the same
    /// request id and another digest is a [`Mismatch`](crate::Answer::Mismatch).
    pub input_digest: [u8; 32],
}

/// The SHA-256 of `input` as JSON with its keys in order, for a service that has its input as a value.
///
/// Two texts that decode to equal values have the same digest, whatever their white space and key order. A
/// service that keeps the text it was sent, and must tell `100` from `100.0` in it, computes its own digest.
///
/// # Errors
///
/// [`Error::Unwritable`] if `input` has no JSON form, for instance a map whose keys are not strings.
pub fn digest<I: Serialize + ?Sized>(input: &I) -> Result<[u8; 32], Error> {
    let mut value = serde_json::to_value(input).map_err(Error::Unwritable)?;
    // A no-op unless some crate of the build has switched on `preserve_order`, which would otherwise
    // change every digest.
    value.sort_all_objects();
    Ok(Sha256::digest(value.to_string()).into())
}
