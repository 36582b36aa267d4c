//! Bad days, planned: which call fails, at which attempt, and how.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use sea_orm::{ConnectionTrait, DbErr, QueryResult};
use serde::{Deserialize, Serialize};

use super::{service, sql};

/// A fault of the calls that one business key makes: deterministic, and durable across a kill, because it is
/// looked up by (key, call, attempt) and the engine counts attempts in its journal.
///
/// A call is named as in [`CALLS`]; `call/query` is the query about it, for which `from` and `to` count
/// queries instead of attempts.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct PlannedFault {
    call: String,
    from: u32,
    to: u32,
    kind: Kind,
    millis: u64,
}

/// How a call fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// It takes effect, and its answer is lost.
    LostApplied,
    /// It is lost on its way.
    LostNotApplied,
    /// It takes `millis` longer, and is heard of as running meanwhile. If the caller stops listening it takes
    /// effect all the same.
    Slow,
    /// Its answer is lost at once, and it takes effect `millis` later; never, if the process dies before.
    Late,
    /// Not now; with `millis`, not before that much later.
    Transient,
    /// The caller's credential is not accepted.
    Persistent,
    /// The participant says no, finally.
    Refused,
    /// A query's answer that nobody can make sense of.
    Unclear,
    /// A query's lie: nothing is known of it.
    Absent,
    /// It is taken, and done `millis` later: queries hear of it as being worked on. Kept across a kill.
    Accepted,
    /// Only a part of it is done.
    Partial,
    /// Somebody has sent other values under the same request id before, and they were refused.
    Mismatch,
    /// Somebody has closed the transmission out before it arrived.
    Fenced,
    /// Of a compensation: what it is to undo is moved before it arrives, so it does nothing.
    Stale,
    /// It says no, and takes effect all the same.
    RefusedApplied,
    /// Of a compensation: the first time it finds nothing to undo, although there is something.
    Overlooked,
    /// It takes effect, and its result is larger than anybody records.
    Oversized,
}

/// Why something is no fault that could be planned.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InvalidFault {
    /// There is no such call.
    #[error("no participant has a call `{0}`; there are {1}")]
    NoSuchCall(String, String),
    /// Nobody asks about that call.
    #[error("nobody asks about `{0}`")]
    NoQuery(String),
    /// A call cannot fail in this way.
    #[error("`{call}` cannot be `{kind}`")]
    NotOf {
        /// The call.
        call: String,
        /// The way.
        kind: Kind,
    },
    /// It would fail at no attempt.
    #[error("it fails from {from} to {to}, which is never")]
    Never {
        /// The first attempt.
        from: u32,
        /// The last one.
        to: u32,
    },
    /// The participants promise that what has not happened within the settle window does not happen.
    #[error("{millis} ms is not within the settle window of {window} ms")]
    BreaksTheContract {
        /// How long it would take.
        millis: u64,
        /// How long it may take.
        window: u128,
    },
}

/// What a call is, for a plan of faults.
struct Planable {
    name: &'static str,
    what: What,
    has_query: bool,
    can_refuse: bool,
    has_parts: bool,
    can_move: bool,
    can_be_large: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Effect,
    Undoing,
    Read,
}

const fn call(name: &'static str, what: What) -> Planable {
    Planable {
        name,
        what,
        has_query: false,
        can_refuse: false,
        has_parts: false,
        can_move: false,
        can_be_large: false,
    }
}

impl Planable {
    const fn asked_about(self) -> Self {
        Self { has_query: true, ..self }
    }

    const fn can_refuse(self) -> Self {
        Self { can_refuse: true, ..self }
    }

    const fn has_parts(self) -> Self {
        Self { has_parts: true, ..self }
    }

    const fn can_move(self) -> Self {
        Self { can_move: true, ..self }
    }

    const fn can_be_large(self) -> Self {
        Self { can_be_large: true, ..self }
    }
}

/// Every call that a fault can be planned for.
const CALLS: &[Planable] = &[
    call("reserve-stock", What::Effect).asked_about().can_refuse().has_parts(),
    call("release-stock", What::Undoing).asked_about().can_move(),
    call("restock", What::Effect).asked_about().has_parts(),
    call("authorize-payment", What::Effect).asked_about().can_refuse(),
    call("void-payment", What::Undoing).asked_about(),
    call("capture-payment", What::Effect).asked_about().can_refuse().has_parts(),
    call("refund-payment", What::Effect).can_refuse(),
    call("settle-payment", What::Effect).asked_about(),
    call("ship-parcel", What::Effect).can_be_large(),
    call("notify-customer", What::Effect),
    call("print-receipt", What::Effect),
    call("check-fraud", What::Read).can_refuse(),
    call("check-limit", What::Read).can_refuse(),
    call("read-sale", What::Read).can_refuse(),
];

impl PlannedFault {
    /// A fault of `call` at attempts `from` to `to`.
    ///
    /// # Errors
    /// When no such call exists, or it cannot fail in this way.
    pub fn new(call: &str, (from, to): (u32, u32), kind: Kind, millis: u64) -> Result<Self, InvalidFault> {
        let (name, is_query) = call.strip_suffix("/query").map_or((call, false), |name| (name, true));
        let Some(known) = CALLS.iter().find(|known| known.name == name) else {
            let all: Vec<&str> = CALLS.iter().map(|known| known.name).collect();
            return Err(InvalidFault::NoSuchCall(call.to_owned(), all.join(", ")));
        };
        if is_query && !known.has_query {
            return Err(InvalidFault::NoQuery(name.to_owned()));
        }
        let possible = match kind {
            Kind::Unclear | Kind::Absent => is_query,
            Kind::Refused => known.can_refuse && !is_query,
            Kind::LostApplied | Kind::Late => known.what != What::Read && !is_query,
            Kind::Accepted => known.what == What::Effect && known.has_query && !is_query,
            Kind::Partial => known.has_parts && !is_query,
            Kind::Mismatch => known.what == What::Effect && known.can_refuse && !is_query,
            Kind::Fenced => known.what == What::Effect && !is_query,
            Kind::Stale => known.can_move && !is_query,
            Kind::Overlooked => known.what == What::Undoing && !is_query,
            Kind::RefusedApplied => known.what == What::Effect && known.can_refuse && !is_query,
            Kind::Oversized => known.can_be_large && !is_query,
            Kind::LostNotApplied | Kind::Slow | Kind::Transient | Kind::Persistent => true,
        };
        if !possible {
            return Err(InvalidFault::NotOf { call: call.to_owned(), kind });
        }
        if from == 0 || to < from {
            return Err(InvalidFault::Never { from, to });
        }
        let window = service::SETTLE_WINDOW.as_millis();
        if matches!(kind, Kind::Late | Kind::Slow) && u128::from(millis) >= window {
            return Err(InvalidFault::BreaksTheContract { millis, window });
        }
        Ok(Self { call: call.to_owned(), from, to, kind, millis })
    }
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::LostApplied => "lost_applied",
            Self::LostNotApplied => "lost_not_applied",
            Self::Slow => "slow",
            Self::Late => "late",
            Self::Transient => "transient",
            Self::Persistent => "persistent",
            Self::Refused => "refused",
            Self::Unclear => "unclear",
            Self::Absent => "absent",
            Self::Accepted => "accepted",
            Self::Partial => "partial",
            Self::Mismatch => "mismatch",
            Self::Fenced => "fenced",
            Self::Stale => "stale",
            Self::RefusedApplied => "refused_applied",
            Self::Overlooked => "overlooked",
            Self::Oversized => "oversized",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A fault as it is written down: `{"call": "capture-payment", "kind": "lost_applied"}` fails attempt 1.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a planned fault, an object")]
struct Written {
    call: String,
    kind: Kind,
    #[serde(default = "one")]
    from: u32,
    /// As `from`, if it is not there; but what a participant says finally then stands for every attempt, as it
    /// would in life, even if the first one is lost in a crash.
    #[serde(default)]
    to: Option<u32>,
    #[serde(default)]
    millis: u64,
}

fn one() -> u32 {
    1
}

impl TryFrom<Written> for PlannedFault {
    type Error = InvalidFault;

    fn try_from(written: Written) -> Result<Self, InvalidFault> {
        let Written { call, kind, from, to, millis } = written;
        let stands = matches!(
            kind,
            Kind::Refused
                | Kind::RefusedApplied
                | Kind::Accepted
                | Kind::Partial
                | Kind::Mismatch
                | Kind::Oversized
        );
        let last = if stands { u32::MAX } else { from };
        Self::new(&call, (from, to.unwrap_or(last)), kind, millis)
    }
}

impl From<PlannedFault> for Written {
    fn from(fault: PlannedFault) -> Self {
        let PlannedFault { call, from, to, kind, millis } = fault;
        Self { call, kind, from, to: Some(to), millis }
    }
}

/// The plan in memory: read for every call, so not from the file each time.
#[derive(Default)]
pub(super) struct Plan {
    by_key: HashMap<String, Vec<PlannedFault>>,
}

/// What happens to this call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Fate {
    pub(super) kind: Kind,
    pub(super) after: Duration,
}

impl Plan {
    /// Reads the plan that the file holds.
    pub(super) async fn load(db: &impl ConnectionTrait) -> Result<Self, DbErr> {
        let mut plan = Self::default();
        for row in sql::all(db, "SELECT * FROM fault ORDER BY business_key, call, attempt_from", []).await? {
            plan.by_key.entry(row.try_get("", "business_key")?).or_default().push(read(&row)?);
        }
        Ok(plan)
    }

    /// What is planned for this business key is this.
    pub(super) fn set(&mut self, key: &str, faults: Vec<PlannedFault>) {
        if faults.is_empty() {
            self.by_key.remove(key);
        } else {
            self.by_key.insert(key.to_owned(), faults);
        }
    }

    /// Is there any fault for this call, at whatever attempt?
    pub(super) fn knows(&self, key: &str, call: &str) -> bool {
        self.by_key.get(key).is_some_and(|faults| faults.iter().any(|fault| fault.call == call))
    }

    /// The first fault planned for this attempt of this call.
    pub(super) fn fate(&self, key: &str, call: &str, attempt: u32) -> Option<Fate> {
        let faults = self.by_key.get(key)?;
        let fault = faults.iter().find(|f| f.call == call && (f.from..=f.to).contains(&attempt))?;
        Some(Fate { kind: fault.kind, after: Duration::from_millis(fault.millis) })
    }
}

/// What is planned for this business key.
pub(super) async fn planned(db: &impl ConnectionTrait, key: &str) -> Result<Vec<PlannedFault>, DbErr> {
    let select = "SELECT * FROM fault WHERE business_key = $1 ORDER BY call, attempt_from";
    sql::all(db, select, [key.into()]).await?.iter().map(read).collect()
}

fn read(row: &QueryResult) -> Result<PlannedFault, DbErr> {
    let kind: String = row.try_get("", "kind")?;
    let kind = serde_json::from_value(kind.into()).map_err(|e| DbErr::Type(e.to_string()))?;
    let number = |column: &str| row.try_get::<i64>("", column);
    Ok(PlannedFault {
        call: row.try_get("", "call")?,
        from: u32::try_from(number("attempt_from")?).unwrap_or(u32::MAX),
        to: u32::try_from(number("attempt_to")?).unwrap_or(u32::MAX),
        kind,
        millis: u64::try_from(number("millis")?).unwrap_or(0),
    })
}

/// Writes a fault down, unless one is planned there already.
pub(super) async fn write(db: &impl ConnectionTrait, key: &str, fault: &PlannedFault) -> Result<(), DbErr> {
    let insert = "INSERT INTO fault VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING";
    let PlannedFault { call, from, to, kind, millis } = fault;
    let millis = i64::try_from(*millis).unwrap_or(i64::MAX);
    let (from, to) = (i64::from(*from), i64::from(*to));
    let values =
        [key.into(), call.as_str().into(), from.into(), to.into(), kind.word().into(), millis.into()];
    sql::execute(db, insert, values).await?;
    Ok(())
}
