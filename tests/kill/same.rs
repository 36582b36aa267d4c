//! What a kill must not change.

use std::collections::BTreeSet;

use sea_orm::DatabaseConnection;

use crate::process::{Page, texts};

/// What must be the same however often the process was killed. Not: how many attempts it took, since when
/// something waits and on which desk an unlucky moment put it, and whether a person was needed for what a
/// kill happened to heal.
#[derive(Debug, PartialEq, Eq)]
pub struct Same {
    pub outcomes: BTreeSet<Vec<String>>,
    lines: Vec<String>,
    waiting: BTreeSet<Vec<String>>,
    pub rules: Vec<Vec<String>>,
    stock: Vec<String>,
    accounts: Vec<String>,
    parcels_and_letters: Vec<String>,
}

impl Same {
    pub async fn of(page: &Page, participants: &DatabaseConnection) -> Self {
        let outcome = |mut row: Vec<String>| {
            if row[1] == "on a desk" {
                row[2].clear();
            }
            row
        };
        // Effects that a turned-back saga had and undid may be fewer when a kill came before them.
        let counts_undone = |rule: &str| {
            rule.starts_with("the shelves agree")
                || rule.starts_with("money sums")
                || rule.starts_with("the accounts agree")
                || rule.starts_with("at most one effect")
        };
        let rule = |mut row: Vec<String>| {
            if counts_undone(&row[0]) {
                row[2].clear();
            }
            row
        };
        let stock =
            "SELECT sku || ' ' || on_hand || ' ' || reserved || ' ' || shipped FROM stock ORDER BY sku";
        let accounts = "SELECT account || ' ' || currency || ' ' || sum(minor) FROM entry \
                        WHERE account <> 'held' GROUP BY account, currency ORDER BY account, currency";
        let sent = "SELECT call || ' for ' || business_key FROM effects \
                    WHERE call IN ('ship-parcel', 'notify-customer', 'capture-payment', 'refund-payment') \
                    ORDER BY call, business_key";
        let lines = page.sections["LINES"].iter().filter(|line| !line.contains("operator   "));
        Self {
            outcomes: page.rows("OUTCOMES").into_iter().map(outcome).collect(),
            lines: lines.cloned().collect(),
            waiting: page.rows("DESK").into_iter().map(|row| row[..2].to_vec()).collect(),
            rules: page.rows("AUDIT").into_iter().map(rule).collect(),
            stock: texts(participants, stock).await,
            accounts: texts(participants, accounts).await,
            parcels_and_letters: texts(participants, sent).await,
        }
    }
}
