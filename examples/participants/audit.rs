//! The audit: what happened here, compared with how the sagas ended.
//!
//! Every rule is one SQL statement that lists what breaks it, so a rule holds when its statement finds
//! nothing. The ends of the sagas come from the engine, all else from the participants' own file; the two
//! have nothing in common but the business keys.

use std::fmt;

use amends_workflows::Money;
use sea_orm::{ConnectionTrait, DatabaseConnection, DbErr, TransactionTrait};

use super::place::Place;
use super::sql;

/// How a saga ended, or that it did not, in the engine's words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ended {
    /// `order`, `payment` or `refund`.
    pub workflow: String,
    /// Its business key. Participants know sagas by nothing else, so the shop gives no key to sagas of two
    /// workflows.
    pub key: String,
    /// How.
    pub end: End,
    /// What its input says it is about.
    pub amount: Money,
}

/// How a saga ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// It did what it was to do.
    Completed,
    /// It was turned back.
    Compensated,
    /// Two people ended it as it stood. What it left in place is named in its journal, and for them to mend.
    Closed,
    /// It has not ended: it runs, or waits for somebody.
    Open,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Completed => "completed",
            Self::Compensated => "compensated",
            Self::Closed => "closed",
            Self::Open => "open",
        })
    }
}

/// What one rule found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// What has to hold.
    pub rule: &'static str,
    /// Does it?
    pub ok: bool,
    /// What was looked at, or the first things that break it.
    pub detail: String,
}

struct Rule {
    says: &'static str,
    /// A number and what it counts, so that "nothing is wrong" can be told from "nothing is there".
    looked_at: &'static str,
    /// Rows with one text column, `fault`, each an offence.
    faults: &'static str,
}

/// SQL for a number and what it counts, in the singular where it is one.
macro_rules! counted {
    ($number:literal, $one:literal, $many:literal) => {
        concat!($number, " || CASE ", $number, " WHEN 1 THEN ' ", $one, "' ELSE ' ", $many, "' END")
    };
}

const RULES: &[Rule] = &[
    Rule {
        says: "stock balances: what there was is on the shelf, set aside or sent",
        looked_at: concat!(
            "SELECT ",
            counted!("coalesce(sum(initial), 0)", "piece of ", "pieces of "),
            " || ",
            counted!("count(*)", "kind", "kinds"),
            " FROM stock"
        ),
        faults:
            "SELECT sku || ': ' || initial || ' is not ' || on_hand || ' + ' || reserved || ' + ' || shipped
                 AS fault FROM stock WHERE initial <> on_hand + reserved + shipped",
    },
    Rule {
        says: "the shelves agree with the reservations",
        looked_at: concat!(
            "SELECT ",
            counted!("count(*)", "reservation", "reservations"),
            " FROM reservation"
        ),
        faults: "WITH line AS (
                     SELECT sku,
                         sum(CASE WHEN state IN ('held', 'packed') THEN quantity ELSE 0 END) AS held,
                         sum(CASE state WHEN 'shipped' THEN quantity - returned ELSE 0 END) AS sent
                     FROM reservation_line JOIN reservation ON id = reservation GROUP BY sku)
                 SELECT stock.sku || ': ' || reserved || ' reserved and ' || shipped || ' sent, but '
                     || coalesce(held, 0) || ' and ' || coalesce(sent, 0) || ' by the reservations' AS fault
                 FROM stock LEFT JOIN line ON line.sku = stock.sku
                 WHERE reserved <> coalesce(held, 0) OR shipped <> coalesce(sent, 0)",
    },
    Rule {
        says: "money sums to zero in every movement",
        looked_at: concat!("SELECT ", counted!("count(*)", "movement", "movements"), " FROM movement"),
        faults:
            "SELECT kind || ' for ' || business_key || ': ' || string_agg(CAST(minor AS TEXT), ',') AS fault
                 FROM movement LEFT JOIN entry ON movement = id GROUP BY id
                 HAVING count(minor) <> 2 OR sum(minor) <> 0 OR count(DISTINCT currency) <> 1",
    },
    Rule {
        says: "the accounts agree with what the gateway says it holds and took",
        looked_at: concat!(
            "SELECT ",
            counted!("count(DISTINCT currency)", "currency, ", "currencies, "),
            " || ",
            counted!("count(DISTINCT account)", "account", "accounts"),
            " FROM entry"
        ),
        faults: "WITH said (account, currency, minor) AS (
                     SELECT 'held', currency, minor FROM \"authorization\" WHERE state = 'held'
                     UNION ALL SELECT 'clearing', currency, minor - refunded FROM capture
                         WHERE id NOT IN (SELECT capture FROM settlement)
                     UNION ALL SELECT 'merchant', currency, minor - refunded FROM capture
                         WHERE id IN (SELECT capture FROM settlement)
                     UNION ALL SELECT account, currency, -minor FROM entry WHERE account <> 'customers')
                 SELECT account || ' is off by ' || sum(minor) || ' ' || currency AS fault
                 FROM said GROUP BY account, currency HAVING sum(minor) <> 0",
    },
    Rule {
        says: "no more was given back than was taken",
        looked_at: concat!("SELECT ", counted!("count(*)", "refund", "refunds"), " FROM refund"),
        faults: "SELECT capture.id || ': ' || coalesce(sum(refund.minor), 0) || ' of ' || capture.minor
                     || ', and the gateway says ' || capture.refunded AS fault
                 FROM capture LEFT JOIN refund ON refund.capture = capture.id GROUP BY capture.id
                 HAVING coalesce(sum(refund.minor), 0) > capture.minor
                     OR coalesce(sum(refund.minor), 0) <> capture.refunded",
    },
    Rule {
        says: "at most one effect per request id",
        looked_at: concat!("SELECT ", counted!("count(*)", "effect", "effects"), " FROM effect"),
        faults: "SELECT call || ' for ' || business_key || ': effects ' || effects AS fault
                 FROM effects WHERE effects > 1",
    },
    Rule {
        says: "everything that happened belongs to a saga",
        looked_at: concat!("SELECT ", counted!("count(*)", "saga", "sagas"), " FROM ended"),
        faults: "SELECT call || ' for ' || business_key AS fault FROM effect
                 WHERE business_key NOT IN (SELECT key FROM ended)",
    },
    Rule {
        says: "a completed order or payment was paid once, with the right amount",
        looked_at: "SELECT count(*) || ' completed' FROM ended
                    WHERE workflow IN ('order', 'payment') AND ended_as = 'completed'",
        faults: "SELECT workflow || ' ' || key || ': ' || count(capture.id) || ' captures of '
                     || coalesce(sum(capture.minor), 0) || ' instead of one of ' || ended.minor AS fault
                 FROM ended
                 LEFT JOIN \"authorization\" ON reference = key
                 LEFT JOIN capture ON capture.authorization = \"authorization\".id
                 WHERE workflow IN ('order', 'payment') AND ended_as = 'completed' GROUP BY workflow, key
                 HAVING count(capture.id) <> 1 OR sum(capture.minor) <> ended.minor
                     OR max(capture.currency) <> ended.currency",
    },
    Rule {
        says: "a completed order was sent once, and its customer told once",
        looked_at: concat!("SELECT ", counted!("count(*)", "parcel", "parcels"), " FROM shipment"),
        faults: "SELECT 'order ' || key || ': parcels ' || parcels || ', letters ' || letters AS fault
                 FROM (SELECT key,
                           (SELECT count(*) FROM shipment WHERE order_id = key) AS parcels,
                           (SELECT count(*) FROM effect
                            WHERE business_key = key AND call = 'notify-customer') AS letters
                       FROM ended WHERE workflow = 'order' AND ended_as = 'completed') AS one
                 WHERE parcels <> 1 OR letters <> 1",
    },
    Rule {
        says: "a completed payment was settled once, and receipted once",
        looked_at: concat!("SELECT ", counted!("count(*)", "settlement", "settlements"), " FROM settlement"),
        faults: "SELECT 'payment ' || key || ': settlements ' || settled || ', receipts ' || letters AS fault
                 FROM (SELECT key,
                           (SELECT count(*) FROM effect
                            WHERE business_key = key AND call = 'settle-payment') AS settled,
                           (SELECT count(*) FROM effect
                            WHERE business_key = key AND call IN ('print-receipt', 'notify-customer')) AS letters
                       FROM ended WHERE workflow = 'payment' AND ended_as = 'completed') AS one
                 WHERE settled <> 1 OR letters <> 1",
    },
    Rule {
        says: "a completed refund gave the right amount back, once",
        looked_at: "SELECT count(*) || ' completed' FROM ended
                    WHERE workflow = 'refund' AND ended_as = 'completed'",
        faults: "SELECT 'refund ' || key || ': ' || count(refund.id) || ' of '
                     || coalesce(sum(refund.minor), 0) || ' instead of one of ' || ended.minor AS fault
                 FROM ended LEFT JOIN refund ON business_key = key
                 WHERE workflow = 'refund' AND ended_as = 'completed' GROUP BY workflow, key
                 HAVING count(refund.id) <> 1 OR sum(refund.minor) <> ended.minor
                     OR max(refund.currency) <> ended.currency",
    },
    Rule {
        says: "what was turned back left nothing: no money taken or given back, no parcel",
        looked_at: "SELECT count(*) || ' turned back' FROM ended WHERE ended_as = 'compensated'",
        faults: "SELECT workflow || ' ' || key || ': ' || call AS fault
                 FROM ended JOIN effect ON business_key = key
                 WHERE ended_as = 'compensated' AND call IN
                     ('capture-payment', 'settle-payment', 'refund-payment', 'ship-parcel', 'restock')",
    },
    Rule {
        says: "nothing is held for what has ended: no money on a card, no goods set aside",
        looked_at: "SELECT count(*) || ' ended' FROM ended WHERE ended_as NOT IN ('open', 'closed')",
        faults: "SELECT workflow || ' ' || key || ': money is held' AS fault
                 FROM ended JOIN \"authorization\" ON reference = key
                 WHERE ended_as NOT IN ('open', 'closed') AND state = 'held'
                 UNION ALL SELECT workflow || ' ' || key || ': goods are set aside'
                 FROM ended JOIN reservation ON order_id = key
                 WHERE ended_as NOT IN ('open', 'closed') AND state IN ('held', 'packed')",
    },
];

/// How many offences a finding shows.
const FAULTS_SHOWN: usize = 3;

/// Compares what happened at a place with how the sagas ended. Nothing that is kept there is changed.
///
/// # Errors
/// When the database fails.
pub async fn audit(place: &Place, ended: &[Ended]) -> Result<Vec<Finding>, DbErr> {
    // One connection for all of it: the table of ends lives and dies with it. And one transaction, so that
    // all rules look at the same moment.
    let db = place.connect(1).await?;
    let findings = look(&db, ended).await;
    db.close().await?;
    findings
}

async fn look(db: &DatabaseConnection, ended: &[Ended]) -> Result<Vec<Finding>, DbErr> {
    let txn = db.begin().await?;
    txn.execute_unprepared(
        "CREATE TEMP TABLE ended (workflow TEXT, key TEXT, ended_as TEXT, minor BIGINT, currency TEXT,
         PRIMARY KEY (workflow, key))",
    )
    .await?;
    for saga in ended {
        let insert = "INSERT INTO ended VALUES ($1, $2, $3, $4, $5)";
        let values = [
            saga.workflow.as_str().into(),
            saga.key.as_str().into(),
            saga.end.to_string().into(),
            saga.amount.minor().into(),
            saga.amount.currency().code().into(),
        ];
        sql::execute(&txn, insert, values).await?;
    }
    let mut findings = Vec::with_capacity(RULES.len());
    for rule in RULES {
        findings.push(rule.look(&txn).await?);
    }
    txn.commit().await?;
    Ok(findings)
}

impl Rule {
    async fn look(&self, db: &impl ConnectionTrait) -> Result<Finding, DbErr> {
        let rows = sql::all(db, self.faults, []).await?;
        let faults: Vec<String> =
            rows.iter().take(FAULTS_SHOWN).map(|row| row.try_get("", "fault")).collect::<Result<_, _>>()?;
        let detail = if faults.is_empty() {
            let row = sql::first(db, self.looked_at, []).await?;
            row.map_or(Ok(String::new()), |row| row.try_get_by_index(0))?
        } else {
            let more = rows.len() - faults.len();
            let more = if more > 0 { format!("; and {more} more") } else { String::new() };
            format!("{}{more}", faults.join("; "))
        };
        Ok(Finding { rule: self.says, ok: rows.is_empty(), detail })
    }
}
