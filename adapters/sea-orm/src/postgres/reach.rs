//! What is told of a server that lets nobody in.

use sea_orm::sqlx;

/// Where there is no answer at all.
pub(super) const CORRECT: &str =
    "start the server and see that it can be reached from here, or correct the URL's host and port";

/// Does it pass by itself: no connection left, or a server that is starting or stopping?
pub(super) fn passes(error: &sqlx::Error) -> bool {
    matches!(code_of(error).as_deref(), Some("53300" | "57P03"))
}

/// The error in its own words, which hold no password, and what to do about it.
pub(super) fn told(error: &sqlx::Error) -> String {
    let advice = match (error, code_of(error).as_deref()) {
        (sqlx::Error::Io(_), _) => CORRECT,
        (_, Some("28P01" | "28000")) => {
            "correct the user and password in the URL, or let this user in (the server's pg_hba.conf)"
        }
        (_, Some("3D000")) => "create it first (`createdb`), or correct the URL",
        (_, Some("53300")) => "let fewer processes connect, or raise the server's max_connections",
        _ => return error.to_string(),
    };
    format!("{error}; {advice}")
}

fn code_of(error: &sqlx::Error) -> Option<String> {
    error.as_database_error().and_then(|error| error.code()).map(|code| code.into_owned())
}
