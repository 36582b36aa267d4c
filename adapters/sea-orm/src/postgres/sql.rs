//! The texts of all statements that write, each built once for the life of the process.
//!
//! Rows come as one array per column, so one text serves any number of them.

use std::sync::LazyLock;

use sea_orm::{IdenStatic, Iterable};

use crate::entity::{mail, saga};

/// A column of the rows that are handed over, and its type.
type Column = (&'static str, &'static str);

/// Rows of `saga`. Phase, owner and wake-up time are those after the first transition: within one statement no
/// other part of it could still change the new row.
pub(super) const START: &[Column] = &[
    ("id", "uuid"),
    ("owner", "uuid"),
    ("wake_at", "bigint"),
    ("wake_set_at", "bigint"),
    ("occurred_at", "bigint"),
    ("deadline", "bigint"),
    ("started_at", "bigint"),
    ("ended_at", "bigint"),
    ("version", "bigint"),
    ("open_actions", "bigint"),
    ("workflow", "text"),
    ("key", "text"),
    ("digest", "bytea"),
    ("input_digest", "bytea"),
    ("phase", "text"),
    ("outcome", "text"),
    ("tenant", "text"),
    ("labels", "text"),
];

/// Rows of `journal`.
pub(super) const JOURNAL: &[Column] = &[
    ("saga_id", "uuid"),
    ("transition_id", "uuid"),
    ("seq", "bigint"),
    ("at", "bigint"),
    ("actor", "text"),
    ("events", "text"),
];

/// Changes of phase, and releases.
pub(super) const CHANGE: &[Column] = &[
    ("saga_id", "uuid"),
    ("seq", "bigint"),
    ("phase", "text"),
    ("outcome", "text"),
    ("open_actions", "bigint"),
    ("ended_at", "bigint"),
    ("release", "boolean"),
    ("wake_at", "bigint"),
    ("wake_set_at", "bigint"),
];

/// Desk entries; `seq` is of the transition that made them.
pub(super) const ITEM: &[Column] = &[
    ("saga_id", "uuid"),
    ("seq", "bigint"),
    ("item", "text"),
    ("desk", "text"),
    ("reason", "text"),
    ("since", "bigint"),
    ("workflow", "text"),
    ("step", "text"),
    ("direction", "text"),
    ("effect", "text"),
    ("fingerprint", "text"),
    ("attempts", "bigint"),
    ("error_kind", "text"),
    ("error_code", "text"),
    ("error_rule", "text"),
    ("classifier_version", "text"),
];

/// Desk entries that go.
pub(super) const REMOVED: &[Column] = &[("saga_id", "uuid"), ("seq", "bigint"), ("item", "text")];

/// Compensation records that begin, or begin and end.
pub(super) const REQUESTED: &[Column] = &[
    ("id", "uuid"),
    ("saga_id", "uuid"),
    ("seq", "bigint"),
    ("created_at", "bigint"),
    ("ended_at", "bigint"),
    ("step", "text"),
    ("business_key", "text"),
    ("reason_code", "text"),
    ("requested_by", "text"),
    ("approved_by", "text"),
    ("expected", "text"),
    ("proposed", "text"),
    ("affected", "text"),
    ("dry_run", "text"),
    ("result", "text"),
];

/// Compensation records that are approved, end, or both: a statement changes a row once.
pub(super) const CONTINUED: &[Column] = &[
    ("id", "uuid"),
    ("saga_id", "uuid"),
    ("seq", "bigint"),
    ("ended_at", "bigint"),
    ("approved_by", "text"),
    ("result", "text"),
];

/// Mail that a transition decides.
pub(super) const CONSUMED: &[Column] =
    &[("saga_id", "uuid"), ("seq", "bigint"), ("id", "uuid"), ("answer", "text")];

/// Mail that a transition decides and brings along; `seq` and `answer` are those of its decision.
pub(super) const BROUGHT: &[Column] = &[
    ("id", "uuid"),
    ("saga_id", "uuid"),
    ("posted_at", "bigint"),
    ("kind", "text"),
    ("idempotency", "text"),
    ("actor", "text"),
    ("body", "text"),
    ("consumed_seq", "bigint"),
    ("answer", "text"),
];

/// Messages to publish.
pub(super) const MESSAGE: &[Column] = &[
    ("lane", "smallint"),
    ("kind", "text"),
    ("saga_id", "uuid"),
    ("seq", "bigint"),
    ("n", "smallint"),
    ("message_id", "uuid"),
    ("written_at", "bigint"),
    ("subject", "text"),
    ("headers", "text"),
    ("body", "text"),
];

/// A statement under construction: its parts in order, and the number of its next parameter.
struct Text {
    parts: Vec<String>,
    next: usize,
}

impl Text {
    /// `unnest($2::uuid[], …) AS alias(id, …)`
    fn rows(&mut self, alias: &str, columns: &[Column]) -> String {
        let arrays: Vec<String> =
            (self.next..).zip(columns).map(|(n, (_, of))| format!("${n}::{of}[]")).collect();
        self.next += columns.len();
        format!("unnest({}) AS {alias}({})", arrays.join(", "), names("", columns))
    }

    fn part(&mut self, name: &str, text: String) {
        self.parts.push(format!("{name} AS ({text})"));
    }
}

fn names(before: &str, columns: &[Column]) -> String {
    let names: Vec<String> = columns.iter().map(|(name, _)| format!("{before}{name}")).collect();
    names.join(", ")
}

/// Those that are columns of the table too: `seq` is there to find the transition.
fn without_seq(columns: &[Column]) -> Vec<Column> {
    columns.iter().copied().filter(|(name, _)| *name != "seq").collect()
}

/// Which parts a batch needs; few enough that each text is prepared once per connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Parts {
    /// New sagas.
    pub(super) starts: bool,
    /// Changes of phase, and releases.
    pub(super) changes: bool,
    /// Desk entries, compensation records and mail; with them come all the others.
    pub(super) rest: bool,
    /// Messages to publish.
    pub(super) outbox: bool,
}

impl Parts {
    /// The parts that the text for these really has.
    pub(super) fn rounded_up(self) -> Self {
        if self.rest { Self { starts: true, changes: true, rest: true, outbox: self.outbox } } else { self }
    }

    fn index(self) -> usize {
        let all = if self.rest { 3 } else { 0 } | (usize::from(self.outbox) << 3);
        all | usize::from(self.starts) | (usize::from(self.changes) << 1) | (usize::from(self.rest) << 2)
    }
}

/// One batch in one statement, with the parts that it needs. It returns one row of counts: is the incarnation
/// alive; sagas inserted; journal rows accepted; sagas updated; desk entries; compensation records; mail; messages.
///
/// The parts take their locks in this order: the `worker` row, new sagas by key, journal rows by saga, and the
/// rest by saga. Each filter on `new` or `ok` waits for that part to end.
pub(super) fn batch(parts: Parts) -> &'static str {
    static TEXTS: LazyLock<[String; 16]> = LazyLock::new(|| {
        std::array::from_fn(|n| {
            build(
                Parts { starts: n & 1 != 0, changes: n & 2 != 0, rest: n & 4 != 0, outbox: n & 8 != 0 }
                    .rounded_up(),
            )
        })
    });
    &TEXTS[parts.index()]
}

const OF_ACCEPTED: &str = "IN (SELECT saga_id, seq FROM ok)";

fn build(parts: Parts) -> String {
    let mut text = Text { parts: Vec::new(), next: 2 };
    text.parts
        .push("me AS MATERIALIZED (SELECT 1 FROM worker WHERE incarnation = $1 FOR KEY SHARE)".to_owned());
    if parts.starts {
        let rows = text.rows("b", START);
        text.part(
            "new",
            // No conflict target: the same start twice meets the primary key as well as the business key.
            format!(
                "INSERT INTO saga ({}) SELECT {} FROM {rows} WHERE EXISTS (SELECT 1 FROM me) \
                 ORDER BY b.workflow, b.key ON CONFLICT DO NOTHING RETURNING id",
                names("", START),
                names("b.", START)
            ),
        );
    }
    let rows = text.rows("b", JOURNAL);
    let new_only = if parts.starts { "AND (b.seq > 1 OR b.saga_id IN (SELECT id FROM new))" } else { "" };
    text.part(
        "ok",
        format!(
            "INSERT INTO journal ({}) SELECT {} FROM {rows} WHERE EXISTS (SELECT 1 FROM me) {new_only} \
             ORDER BY b.saga_id ON CONFLICT (saga_id, seq) DO NOTHING RETURNING saga_id, seq",
            names("", JOURNAL),
            names("b.", JOURNAL)
        ),
    );
    if parts.changes {
        let rows = text.rows("p", CHANGE);
        text.part("changed", change(&rows));
    }
    if parts.rest {
        desk(&mut text);
        compensations(&mut text);
        consumed(&mut text);
    }
    if parts.outbox {
        messages(&mut text);
    }
    let count = |present: bool, part: &str| {
        if present { format!("(SELECT count(*) FROM {part})") } else { "0::bigint".to_owned() }
    };
    let desk = format!("{} + {}", count(parts.rest, "put"), count(parts.rest, "removed"));
    let mail = format!("{} + {}", count(parts.rest, "consumed"), count(parts.rest, "brought"));
    let compensations = format!("{} + {}", count(parts.rest, "requested"), count(parts.rest, "continued"));
    format!(
        "WITH {} SELECT (SELECT count(*) FROM me), {}, (SELECT count(*) FROM ok), {}, {desk}, {compensations}, {mail}, {}",
        text.parts.join(", "),
        count(parts.starts, "new"),
        count(parts.changes, "changed"),
        count(parts.outbox, "written"),
    )
}

/// The phase follows the accepted journal row always; owner and wake-up time only if the saga is mine or has
/// ended.
fn change(rows: &str) -> String {
    const GIVEN_UP: &str = "p.release AND (s.owner = $1 OR p.ended_at IS NOT NULL)";
    let wake = |column: &str| {
        format!(
            "{column} = CASE WHEN {GIVEN_UP} THEN CASE WHEN s.set_aside_at IS NULL THEN p.{column} END \
             ELSE s.{column} END"
        )
    };
    format!(
        "UPDATE saga s SET phase = p.phase, outcome = p.outcome, open_actions = p.open_actions, \
         ended_at = p.ended_at, owner = CASE WHEN {GIVEN_UP} THEN NULL ELSE s.owner END, {}, {} \
         FROM {rows} WHERE s.id = p.saga_id AND (p.saga_id, p.seq) {OF_ACCEPTED} RETURNING 1",
        wake("wake_at"),
        wake("wake_set_at")
    )
}

fn desk(text: &mut Text) {
    let rows = text.rows("w", ITEM);
    let columns = without_seq(ITEM);
    let set: Vec<String> = columns[2..].iter().map(|(name, _)| format!("{name} = excluded.{name}")).collect();
    text.part(
        "put",
        format!(
            "INSERT INTO work_item ({}) SELECT {} FROM {rows} WHERE (w.saga_id, w.seq) {OF_ACCEPTED} \
             ORDER BY w.saga_id, w.item ON CONFLICT (saga_id, item) DO UPDATE SET {} RETURNING 1",
            names("", &columns),
            names("w.", &columns),
            set.join(", ")
        ),
    );
    let rows = text.rows("g", REMOVED);
    text.part(
        "removed",
        format!(
            "DELETE FROM work_item w USING {rows} WHERE w.saga_id = g.saga_id AND w.item = g.item \
             AND (g.saga_id, g.seq) {OF_ACCEPTED} RETURNING 1"
        ),
    );
}

fn compensations(text: &mut Text) {
    let rows = text.rows("r", REQUESTED);
    let columns = without_seq(REQUESTED);
    text.part(
        "requested",
        format!(
            "INSERT INTO compensation ({}) SELECT {} FROM {rows} WHERE (r.saga_id, r.seq) {OF_ACCEPTED} \
             ORDER BY r.saga_id, r.id ON CONFLICT (id) DO NOTHING RETURNING 1",
            names("", &columns),
            names("r.", &columns)
        ),
    );
    let rows = text.rows("e", CONTINUED);
    text.part(
        "continued",
        format!(
            "UPDATE compensation c SET ended_at = coalesce(e.ended_at, c.ended_at), \
             approved_by = coalesce(e.approved_by, c.approved_by), result = coalesce(e.result, c.result) \
             FROM {rows} WHERE c.id = e.id AND (e.saga_id, e.seq) {OF_ACCEPTED} RETURNING 1"
        ),
    );
}

/// Once: what is consumed already stays as it is.
fn consumed(text: &mut Text) {
    let rows = text.rows("a", CONSUMED);
    text.part(
        "consumed",
        format!(
            "UPDATE mail m SET consumed_seq = a.seq, answer = a.answer FROM {rows} \
             WHERE m.id = a.id AND m.saga_id = a.saga_id AND m.consumed_seq IS NULL \
             AND (a.saga_id, a.seq) {OF_ACCEPTED} RETURNING 1"
        ),
    );
    let rows = text.rows("t", BROUGHT);
    text.part(
        "brought",
        format!(
            "INSERT INTO mail ({}) SELECT {} FROM {rows} WHERE (t.saga_id, t.consumed_seq) {OF_ACCEPTED} \
             ORDER BY t.saga_id, t.idempotency ON CONFLICT (saga_id, idempotency) DO UPDATE \
             SET consumed_seq = excluded.consumed_seq, answer = excluded.answer \
             WHERE mail.consumed_seq IS NULL RETURNING 1",
            names("", BROUGHT),
            names("t.", BROUGHT)
        ),
    );
}

fn messages(text: &mut Text) {
    let rows = text.rows("o", MESSAGE);
    text.part(
        "written",
        format!(
            "INSERT INTO outbox ({}) SELECT {} FROM {rows} WHERE (o.saga_id, o.seq) {OF_ACCEPTED} \
             ORDER BY o.saga_id, o.n RETURNING 1",
            names("", MESSAGE),
            names("o.", MESSAGE)
        ),
    );
}

/// What stands at these sequences. Always in a statement after the batch: in the same one it would see neither
/// what the batch wrote nor what it waited for.
pub(super) const TRANSITIONS_AT: &str = "SELECT saga_id, transition_id FROM journal \
    WHERE (saga_id, seq) IN (SELECT * FROM unnest($1::uuid[], $2::bigint[]))";

/// The sagas that hold these keys.
pub(super) fn holders() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        format!(
            "SELECT {} FROM saga WHERE (workflow, key) IN (SELECT * FROM unnest($1::text[], $2::text[]))",
            columns::<saga::Column>()
        )
    });
    &TEXT
}

/// By name: with `*`, a statement prepared before a later schema would fail after it.
pub(super) fn columns<C: Iterable + IdenStatic>() -> String {
    let names: Vec<&str> = C::iter().map(|column| column.as_str()).collect();
    names.join(", ")
}

/// Which of these sagas exist.
pub(super) const EXISTING: &str = "SELECT id FROM saga WHERE id = ANY($1::uuid[])";

/// Claims due sagas, the most overdue first: `$1` the incarnation, `$2` to `$4` the registered definitions, `$5`
/// now, `$6` the limit. Returns one row: is the incarnation alive, and the sagas.
pub(super) const CLAIM_DUE: &str = "WITH me AS MATERIALIZED \
      (SELECT 1 FROM worker WHERE incarnation = $1 FOR KEY SHARE), \
    due AS MATERIALIZED (SELECT s.id FROM saga s \
      WHERE s.owner IS NULL AND s.wake_at IS NOT NULL AND s.wake_at <= $5 AND s.priority = 0 \
        AND EXISTS (SELECT 1 FROM me) AND (s.workflow, s.version, s.digest) IN \
          (SELECT * FROM unnest($2::text[], $3::integer[], $4::bytea[])) \
      ORDER BY s.wake_at LIMIT $6 FOR NO KEY UPDATE OF s SKIP LOCKED), \
    taken AS (UPDATE saga s SET owner = $1, wake_at = NULL, wake_set_at = NULL FROM due \
      WHERE s.id = due.id AND s.owner IS NULL RETURNING s.id) \
    SELECT (SELECT count(*) FROM me), (SELECT array_agg(id) FROM taken)";

/// Claims sagas with unread mail, ended or not: parameters as above, `$5` the limit. Mail is looked for without
/// locks, and its sagas are then taken under them.
pub(super) const CLAIM_BY_MAIL: &str = "WITH me AS MATERIALIZED \
      (SELECT 1 FROM worker WHERE incarnation = $1 FOR KEY SHARE), \
    addressed AS MATERIALIZED (SELECT DISTINCT m.saga_id FROM mail m JOIN saga s ON s.id = m.saga_id \
      WHERE m.consumed_seq IS NULL AND s.owner IS NULL AND s.set_aside_at IS NULL AND s.phase <> 'purged' \
        AND (s.workflow, s.version, s.digest) IN \
          (SELECT * FROM unnest($2::text[], $3::integer[], $4::bytea[])) LIMIT $5), \
    due AS MATERIALIZED (SELECT s.id FROM saga s WHERE s.id = ANY(ARRAY(SELECT saga_id FROM addressed)) \
        AND s.owner IS NULL AND s.set_aside_at IS NULL AND s.phase <> 'purged' AND EXISTS (SELECT 1 FROM me) \
      FOR NO KEY UPDATE OF s SKIP LOCKED), \
    taken AS (UPDATE saga s SET owner = $1, wake_at = NULL, wake_set_at = NULL FROM due \
      WHERE s.id = due.id AND s.owner IS NULL RETURNING s.id) \
    SELECT (SELECT count(*) FROM me), (SELECT array_agg(id) FROM taken)";

/// Claims one saga, due or not: parameters as above, `$5` the saga. One that somebody holds is left alone, or all
/// other claims would wait for it.
pub(super) const CLAIM_ONE: &str = "WITH me AS MATERIALIZED \
      (SELECT 1 FROM worker WHERE incarnation = $1 FOR KEY SHARE), \
    due AS MATERIALIZED (SELECT s.id FROM saga s \
      WHERE s.id = $5 AND s.owner IS NULL AND s.set_aside_at IS NULL AND s.phase <> 'purged' \
        AND EXISTS (SELECT 1 FROM me) AND (s.workflow, s.version, s.digest) IN \
          (SELECT * FROM unnest($2::text[], $3::integer[], $4::bytea[])) \
      FOR NO KEY UPDATE OF s SKIP LOCKED), \
    taken AS (UPDATE saga s SET owner = $1, wake_at = NULL, wake_set_at = NULL FROM due \
      WHERE s.id = due.id AND s.owner IS NULL RETURNING s.id) \
    SELECT (SELECT count(*) FROM me), (SELECT array_agg(id) FROM taken)";

/// Of two reasons the first is kept. `$1` the incarnation, `$2` the saga, `$3` now, `$4` the reason; returns
/// whether the incarnation is alive, and whether somebody else holds the saga: nobody waits for them.
pub(super) const SET_ASIDE: &str = "WITH me AS MATERIALIZED \
      (SELECT 1 FROM worker WHERE incarnation = $1 FOR KEY SHARE), \
    free AS MATERIALIZED (SELECT id FROM saga WHERE id = $2 AND (owner IS NULL OR owner = $1) \
      AND EXISTS (SELECT 1 FROM me) FOR NO KEY UPDATE SKIP LOCKED), \
    aside AS (UPDATE saga s SET owner = NULL, wake_at = NULL, wake_set_at = NULL, \
      set_aside_at = coalesce(set_aside_at, $3), set_aside = coalesce(set_aside, $4) \
      FROM free WHERE s.id = free.id AND (s.owner IS NULL OR s.owner = $1)) \
    SELECT (SELECT count(*) FROM me), NOT EXISTS (SELECT 1 FROM free) AND \
      EXISTS (SELECT 1 FROM saga WHERE id = $2 AND (owner IS NULL OR owner = $1))";

/// The channel on which the nodes that share a schema give each other hints.
pub(super) const HINTS_CHANNEL: &str = "SELECT 'amends_' || md5(current_schema()::text)";

/// Gives hints: each of `$1` is the owner of a saga, or empty for everybody.
pub(super) const HINT: &str =
    "SELECT pg_notify('amends_' || md5(current_schema()::text), hint) FROM unnest($1::text[]) AS hint";

/// How long the connection's statements may take from now on, in milliseconds: `$1` waiting for somebody's lock,
/// `$2` altogether.
pub(super) const SET_PATIENCE: &str =
    "SELECT set_config('lock_timeout', $1, false), set_config('statement_timeout', $2, false)";

/// What every batch locks first.
pub(super) const MY_WORKER: &str = "SELECT 1 FROM worker WHERE incarnation = $1 FOR KEY SHARE";

/// The lock that every batch takes on its tables, for a moment.
pub(super) const LOCK_TABLES: &str = "DO 'BEGIN LOCK TABLE saga, journal IN ROW EXCLUSIVE MODE; END'";

/// The mail of this key.
pub(super) fn mail_of_key() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        format!("SELECT {} FROM mail WHERE saga_id = $1 AND idempotency = $2", columns::<mail::Column>())
    });
    &TEXT
}

pub(super) const NODE_JOINS: &str =
    "INSERT INTO node (incarnation, node, started_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";

/// The `node` row is what joining, leaving and dismissing wait for each other at.
pub(super) const NODE_ENDED: &str = "SELECT ended_at IS NOT NULL FROM node WHERE incarnation = $1 FOR UPDATE";

pub(super) const NODE_ENDS: &str =
    "UPDATE node SET ended_at = $2 WHERE incarnation = $1 AND ended_at IS NULL";

/// Nodes introduce themselves one after the other, until the transaction ends.
pub(super) const ONE_INTRODUCTION: &str = "SELECT pg_advisory_xact_lock('node'::regclass::oid::bigint)";

pub(super) const NODE_INTRODUCES: &str =
    "UPDATE node SET build = $2, host = $3, definitions = $4, lease = $5 WHERE incarnation = $1";

pub(super) const WORKER_JOINS: &str =
    "INSERT INTO worker (incarnation, node, started_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";

/// Waits for the open batches of that incarnation; every later one writes nothing.
pub(super) const WORKER_GOES: &str = "DELETE FROM worker WHERE incarnation = $1";

/// As [`WORKER_GOES`], if it has not beaten since `$2` was seen.
pub(super) const WORKER_IS_DISMISSED: &str = "DELETE FROM worker WHERE incarnation = $1 AND beat = $2";

/// After the greatest number comes nought: what counts is that it moves.
pub(super) const BEAT: &str = "UPDATE worker SET beat = CASE WHEN beat < 9223372036854775807 THEN beat + 1 ELSE 0 END \
    WHERE incarnation = $1 RETURNING beat";

/// Owners of sagas that have no `worker` row, found by hopping over the index of owners.
pub(super) const DEAD_OWNERS: &str = "WITH RECURSIVE o(owner) AS ( \
      (SELECT owner FROM saga WHERE owner IS NOT NULL ORDER BY owner LIMIT 1) UNION ALL \
      SELECT (SELECT s.owner FROM saga s WHERE s.owner > o.owner ORDER BY s.owner LIMIT 1) \
      FROM o WHERE o.owner IS NOT NULL) \
    SELECT owner FROM o WHERE owner IS NOT NULL \
      AND NOT EXISTS (SELECT 1 FROM worker w WHERE w.incarnation = o.owner)";

/// Releases a chunk of the sagas of `$1`, due at `$2`; `$3` is the limit. Never joined with the search for the
/// dead: under the lock of a saga that has a new owner, an old picture of `worker` would take it away again.
pub(super) const RELEASE: &str = "WITH c AS MATERIALIZED (SELECT id FROM saga WHERE owner = ANY($1::uuid[]) \
      ORDER BY id LIMIT $3 FOR NO KEY UPDATE SKIP LOCKED) \
    UPDATE saga s SET owner = NULL, wake_at = $2, wake_set_at = $2 FROM c \
    WHERE s.id = c.id AND s.owner = ANY($1::uuid[])";

/// Wake-up times that a clock set which ran ahead are due: `$1` now, `$2` now and the tolerance, `$3` the limit.
pub(super) const WAKE_SET_AHEAD: &str = "WITH c AS MATERIALIZED (SELECT id FROM saga \
      WHERE owner IS NULL AND wake_at IS NOT NULL AND wake_at > $1 AND wake_set_at > $2 \
      LIMIT $3 FOR NO KEY UPDATE SKIP LOCKED) \
    UPDATE saga s SET wake_at = $1, wake_set_at = $1 FROM c WHERE s.id = c.id AND s.owner IS NULL";

/// Whether an incarnation has asked for lanes before; its row is locked against removal.
pub(super) const IS_PUBLISHER: &str = "SELECT publishes FROM worker WHERE incarnation = $1 FOR KEY SHARE";

pub(super) const BECOMES_PUBLISHER: &str = "UPDATE worker SET publishes = true WHERE incarnation = $1";

pub(super) const PUBLISHERS: &str = "SELECT count(*) FROM worker WHERE publishes";

/// Gives back what is more than a share: `$1` the incarnation, `$2` the share.
pub(super) const LANES_GIVEN_BACK: &str = "UPDATE outbox_lane SET owner = NULL WHERE owner = $1 AND lane IN \
    (SELECT lane FROM outbox_lane WHERE owner = $1 ORDER BY lane OFFSET $2)";

/// Takes free lanes up to a share: `$1` the incarnation, `$2` the share.
pub(super) const LANES_TAKEN: &str = "WITH c AS MATERIALIZED (SELECT lane FROM outbox_lane WHERE owner IS NULL \
      ORDER BY lane LIMIT greatest(0, $2 - (SELECT count(*) FROM outbox_lane WHERE owner = $1)) \
      FOR UPDATE SKIP LOCKED) \
    UPDATE outbox_lane l SET owner = $1 FROM c WHERE l.lane = c.lane AND l.owner IS NULL";

pub(super) const LANES_OF: &str = "SELECT lane FROM outbox_lane WHERE owner = $1 ORDER BY lane";

/// Owners of lanes that have no `worker` row.
pub(super) const DEAD_PUBLISHERS: &str = "SELECT DISTINCT owner FROM outbox_lane l WHERE owner IS NOT NULL \
    AND NOT EXISTS (SELECT 1 FROM worker w WHERE w.incarnation = l.owner)";

/// Releases the lanes of `$1`. Never joined with the search for the dead, as with [`RELEASE`].
pub(super) const LANES_RELEASED: &str = "UPDATE outbox_lane SET owner = NULL WHERE owner = ANY($1::uuid[])";

/// Removes messages in lanes of `$1`; whether that is alive, and how many.
pub(super) const PUBLISHED: &str = "WITH me AS MATERIALIZED \
      (SELECT 1 FROM worker WHERE incarnation = $1 FOR KEY SHARE), \
    gone AS (DELETE FROM outbox o USING unnest($2::smallint[], $3::text[], $4::uuid[], $5::bigint[], $6::smallint[]) \
      AS p(lane, kind, saga_id, seq, n) WHERE o.lane = p.lane AND o.kind = p.kind AND o.saga_id = p.saga_id \
      AND o.seq = p.seq AND o.n = p.n AND o.lane IN (SELECT lane FROM outbox_lane WHERE owner = $1) \
      AND EXISTS (SELECT 1 FROM me) RETURNING 1) \
    SELECT (SELECT count(*) FROM me), (SELECT count(*) FROM gone)";

/// Notes that a message in a lane of `$1` was refused; whether that is alive, and how many.
pub(super) const MESSAGE_REFUSED: &str = "WITH me AS MATERIALIZED \
      (SELECT 1 FROM worker WHERE incarnation = $1 FOR KEY SHARE), \
    noted AS (UPDATE outbox SET refusals = refusals + 1, refused = $7, next_at = $8 \
      WHERE lane = $2 AND kind = $3 AND saga_id = $4 AND seq = $5 AND n = $6 \
      AND lane IN (SELECT lane FROM outbox_lane WHERE owner = $1) AND EXISTS (SELECT 1 FROM me) RETURNING 1) \
    SELECT (SELECT count(*) FROM me), (SELECT count(*) FROM noted)";

/// Only a refused one goes.
pub(super) const MESSAGE_LET_GO: &str = "DELETE FROM outbox \
    WHERE lane = $1 AND kind = $2 AND saga_id = $3 AND seq = $4 AND n = $5 AND refusals > 0";
pub(super) const MESSAGE_STANDS: &str = "SELECT count(*) FROM outbox \
    WHERE lane = $1 AND kind = $2 AND saga_id = $3 AND seq = $4 AND n = $5";

pub(super) const ORDER_OF_ID: &str = "SELECT operation_id, key, value, actor, reason, at, changed \
    FROM control_order WHERE operation_id = $1";

/// Whether it changed anything is known later in the transaction.
pub(super) const ORDER_KEEP: &str = "INSERT INTO control_order \
    (operation_id, key, value, actor, reason, at, changed) VALUES ($1, $2, $3, $4, $5, $6, false) \
    ON CONFLICT DO NOTHING";

pub(super) const ORDER_CHANGED: &str = "UPDATE control_order SET changed = true WHERE operation_id = $1";

/// How many controls are in force, and whether this one is.
pub(super) const CONTROL_ROOM: &str = "SELECT count(*), count(*) FILTER (WHERE key = $1) FROM control";

/// Writes nothing where it is set so already.
pub(super) const CONTROL_SET: &str = "INSERT INTO control AS c (key, value, actor, reason, operation_id, at) \
    VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (key) DO UPDATE SET value = excluded.value, \
    actor = excluded.actor, reason = excluded.reason, operation_id = excluded.operation_id, at = excluded.at \
    WHERE c.value <> excluded.value";

pub(super) const CONTROL_LIFT: &str = "DELETE FROM control WHERE key = $1";
