//! SQLite's result codes.

use super::Says;

const BUSY: u32 = 5;
const LOCKED: u32 = 6;
const CORRUPT: u32 = 11;
const TOO_BIG: u32 = 18;
const CONSTRAINT: u32 = 19;
const MISMATCH: u32 = 20;
const NOT_A_DATABASE: u32 = 26;

/// By the primary result code: SQLite's extension stands in the upper bits.
pub(super) fn says(code: &str) -> Says {
    match code.parse::<u32>().map(|code| code & 0xff) {
        Ok(BUSY | LOCKED) => Says::Busy,
        Ok(CONSTRAINT | TOO_BIG | MISMATCH) => Says::Content,
        Ok(CORRUPT | NOT_A_DATABASE) => Says::Damaged,
        _ => Says::Other,
    }
}
