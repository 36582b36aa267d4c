//! Whose fault an error is, which decides what happens next.

mod postgres;
mod sqlite;

use amends::ports::Fault;
use sea_orm::sqlx;
use sea_orm::sqlx::postgres::PgDatabaseError;
use sea_orm::{ConnAcquireErr, DbErr, RuntimeErr};

/// Why a transaction did not commit.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Somebody else holds what it needs: try again, within bounds.
    Busy(String),
    /// The database gave it up because it took too long.
    Slow(String),
    /// Somebody else holds what some row needs, and the database could otherwise be written to: split the batch
    /// until those rows stand alone.
    Held(String),
    /// Some row is refused for what it holds: split the batch until it stands alone.
    Content(String),
    /// Not every row was new. Nothing was kept; look at them one by one.
    NotAllNew,
    /// The whole call fails.
    Fault(Fault),
}

impl Failure {
    /// What a caller is told when nothing more can be done about it here.
    pub(crate) fn into_fault(self) -> Fault {
        match self {
            Self::Busy(reason) | Self::Held(reason) => {
                Fault::Unavailable(format!("somebody else holds what this needs: {reason}"))
            }
            Self::Slow(reason) => Fault::Unavailable(reason),
            Self::Content(reason) => Fault::Corrupt(reason),
            Self::NotAllNew => Fault::Corrupt("rows that do not exist cannot be inserted".to_owned()),
            Self::Fault(fault) => fault,
        }
    }
}

/// What a database says of a statement that it did not carry out.
enum Says {
    /// Somebody else holds what the statement needs.
    Busy,
    /// The statement took too long.
    Slow,
    /// A row is refused for what it holds.
    Content,
    /// What is stored is damaged.
    Damaged,
    /// Anything else.
    Other,
}

fn says(error: &sqlx::Error) -> Says {
    match error {
        sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) => Says::Damaged,
        sqlx::Error::Database(error) => {
            let code = error.code().unwrap_or_default();
            match error.try_downcast_ref::<PgDatabaseError>() {
                Some(_) => postgres::says(&code),
                None => sqlite::says(&code),
            }
        }
        _ => Says::Other,
    }
}

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        match says(&error) {
            Says::Busy => Self::Busy(error.to_string()),
            Says::Slow => Self::Slow(error.to_string()),
            Says::Content => Self::Content(error.to_string()),
            Says::Damaged | Says::Other => Self::Fault(sqlx_fault(&error)),
        }
    }
}

/// Who is at fault when a statement fails that writes nothing: the stored rows, or the way to them.
fn sqlx_fault(error: &sqlx::Error) -> Fault {
    match says(error) {
        Says::Damaged => Fault::Corrupt(error.to_string()),
        _ => Fault::Unavailable(error.to_string()),
    }
}

/// Why a call ends that got no connection.
pub(crate) const NO_CONNECTION: &str = "no connection was free, or could be made, in time";

/// As [`sqlx_fault`], for what SeaORM says.
pub(crate) fn fault(error: DbErr) -> Fault {
    match error {
        DbErr::Conn(error) | DbErr::Exec(error) | DbErr::Query(error) => match error {
            RuntimeErr::SqlxError(error) => sqlx_fault(&error),
            RuntimeErr::Internal(text) => Fault::Unavailable(text),
        },
        DbErr::ConnectionAcquire(ConnAcquireErr::Timeout) => Fault::Unavailable(NO_CONNECTION.to_owned()),
        DbErr::Type(_) | DbErr::Json(_) => Fault::Corrupt(error.to_string()),
        other => Fault::Unavailable(other.to_string()),
    }
}
