//! PostgreSQL's SQLSTATE codes.

use super::Says;

/// By the code, or by its class: the first two characters.
pub(super) fn says(code: &str) -> Says {
    match code {
        // Serialization failure, deadlock, and a lock that was not given within `lock_timeout`.
        "40001" | "40P01" | "55P03" => Says::Busy,
        // `statement_timeout`, or somebody who cancels.
        "57014" => Says::Slow,
        // A damaged page of a table or an index.
        "XX001" | "XX002" => Says::Damaged,
        _ => match code.get(..2) {
            // A row twice in one statement, data of a wrong form, a constraint, a limit of the server, a trigger
            // that raises.
            Some("21" | "22" | "23" | "54" | "P0") => Says::Content,
            _ => Says::Other,
        },
    }
}
