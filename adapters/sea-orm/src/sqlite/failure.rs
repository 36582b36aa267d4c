//! Whose fault an error is, which decides what happens next.

use amends::ports::Fault;
use sea_orm::sqlx;

/// Why a transaction did not commit.
#[derive(Debug)]
pub(super) enum Failure {
    /// Another connection holds the write lock: try again, within bounds.
    Busy(String),
    /// Some row is refused for what it holds: split the batch until it stands alone.
    Content(String),
    /// Not every row was new. Nothing was kept; look at them one by one.
    NotAllNew,
    /// The whole call fails.
    Fault(Fault),
}

impl Failure {
    /// What a caller is told when nothing more can be done about it here.
    pub(super) fn into_fault(self) -> Fault {
        match self {
            Self::Busy(reason) => {
                Fault::Unavailable(format!("another connection holds the write lock: {reason}"))
            }
            Self::Content(reason) => Fault::Corrupt(reason),
            Self::NotAllNew => Fault::Corrupt("rows that do not exist cannot be inserted".to_owned()),
            Self::Fault(fault) => fault,
        }
    }
}

// SQLite's primary result codes.
const BUSY: u32 = 5;
const LOCKED: u32 = 6;
const CORRUPT: u32 = 11;
const TOO_BIG: u32 = 18;
const CONSTRAINT: u32 = 19;
const MISMATCH: u32 = 20;
const NOT_A_DATABASE: u32 = 26;

/// The primary result code, without SQLite's extension in the upper bits.
fn primary_code(error: &sqlx::Error) -> Option<u32> {
    let code: u32 = error.as_database_error()?.code()?.parse().ok()?;
    Some(code & 0xff)
}

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        match primary_code(&error) {
            Some(BUSY | LOCKED) => Self::Busy(error.to_string()),
            Some(CONSTRAINT | TOO_BIG | MISMATCH) => Self::Content(error.to_string()),
            _ => Self::Fault(read_fault(&error)),
        }
    }
}

/// Who is at fault when a statement fails that writes nothing.
pub(crate) fn read_fault(error: &sqlx::Error) -> Fault {
    match (primary_code(error), error) {
        (Some(CORRUPT | NOT_A_DATABASE), _)
        | (_, sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_)) => Fault::Corrupt(error.to_string()),
        _ => Fault::Unavailable(error.to_string()),
    }
}
