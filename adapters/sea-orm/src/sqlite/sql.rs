//! The texts of all statements that write, each built once for the life of the process.
//!
//! Multi-row statements exist for each number of rows up to a bound, so a batch within it costs one statement
//! per table. Preparing each once per connection costs some 10 ms in all; with a few fixed sizes (1, 8, 64)
//! batches of 10 to 63 rows took about a third more CPU, because each statement is a message to SQLite's thread.

use std::sync::LazyLock;

/// The most rows of one statement.
const ROWS_MAX: usize = 64;

/// One statement for each number of rows up to [`ROWS_MAX`].
pub(super) struct Sized(Vec<String>);

impl Sized {
    /// `row` numbers the parameters of the given row, from 0.
    fn new(before: &str, row: impl Fn(usize) -> String, after: &str) -> Self {
        let text = |size| {
            let rows: Vec<String> = (0..size).map(&row).collect();
            format!("{before} VALUES {} {after}", rows.join(","))
        };
        Self((1..=ROWS_MAX).map(text).collect())
    }

    /// The text for the next statement when `left` rows are left, and how many of them it takes.
    pub(super) fn next(&'static self, left: usize) -> (&'static str, usize) {
        let takes = left.min(ROWS_MAX);
        (&self.0[takes - 1], takes)
    }
}

/// The sized statements.
pub(super) struct Statements {
    pub(super) saga: Sized,
    pub(super) journal: Sized,
    pub(super) change: Sized,
    pub(super) compensation: Sized,
    pub(super) outbox: Sized,
    pub(super) published: Sized,
}

pub(super) static SQL: LazyLock<Statements> = LazyLock::new(|| Statements {
    saga: Sized::new(
        "INSERT INTO saga (id, owner, occurred_at, deadline, started_at, version, workflow, key, digest, \
         input_digest, tenant, labels, phase)",
        |_| "(?,?,?,?,?,?,?,?,?,?,?,?,'running')".to_owned(),
        // No conflict target: the same start twice meets the primary key as well as the business key.
        "ON CONFLICT DO NOTHING",
    ),
    journal: Sized::new(
        "INSERT INTO journal (saga_id, transition_id, seq, at, actor, events)",
        |_| "(?,?,?,?,?,?)".to_owned(),
        "ON CONFLICT (saga_id, seq) DO NOTHING",
    ),
    change: Sized::new(CHANGE, |row| numbered_row(row, 8), ") AS p WHERE saga.id = p.column1"),
    compensation: Sized::new(
        "INSERT INTO compensation (id, saga_id, created_at, step, business_key, reason_code, requested_by, \
         approved_by, expected, proposed, affected, dry_run)",
        |_| "(?,?,?,?,?,?,?,?,?,?,?,?)".to_owned(),
        "ON CONFLICT (id) DO NOTHING",
    ),
    outbox: Sized::new(
        "INSERT INTO outbox (lane, kind, saga_id, seq, n, message_id, written_at, subject, headers, body)",
        |_| "(?,?,?,?,?,?,?,?,?,?)".to_owned(),
        "",
    ),
    published: Sized::new(
        "DELETE FROM outbox WHERE rowid IN (SELECT o.rowid FROM (",
        |row| numbered_row(row, 5),
        // Told the order of the join: the planner would look through whole lanes.
        ") AS p CROSS JOIN outbox o ON o.lane = p.column1 AND o.kind = p.column2 AND o.saga_id = p.column3 \
         AND o.seq = p.column4 AND o.n = p.column5 WHERE o.lane IN (SELECT lane FROM outbox_lane WHERE owner = ?1))",
    ),
});

/// The phase follows the accepted journal row always; owner and wake-up time only if the saga is mine (`?1`)
/// or has ended. Columns: id, phase, outcome, open actions, ended at, release, wake at, wake set at.
const CHANGE: &str = "UPDATE saga SET phase = p.column2, outcome = p.column3, open_actions = p.column4, \
    ended_at = p.column5, \
    owner = CASE WHEN p.column6 AND (saga.owner = ?1 OR p.column5 IS NOT NULL) THEN NULL ELSE saga.owner END, \
    wake_at = CASE WHEN p.column6 AND (saga.owner = ?1 OR p.column5 IS NOT NULL) \
      THEN iif(saga.set_aside_at IS NULL, p.column7, NULL) ELSE saga.wake_at END, \
    wake_set_at = CASE WHEN p.column6 AND (saga.owner = ?1 OR p.column5 IS NOT NULL) \
      THEN iif(saga.set_aside_at IS NULL, p.column8, NULL) ELSE saga.wake_set_at END \
    FROM (";

/// Numbered, because the first parameter is the incarnation, shared by all rows.
fn numbered_row(row: usize, columns: usize) -> String {
    let numbers: Vec<String> =
        (0..columns).map(|column| format!("?{}", 2 + columns * row + column)).collect();
    format!("({})", numbers.join(","))
}

/// Takes the write lock at once: a transaction that reads first and writes later may fail without waiting.
pub(super) const BEGIN: &str = "BEGIN IMMEDIATE";
pub(super) const COMMIT: &str = "COMMIT";
pub(super) const ROLLBACK: &str = "ROLLBACK";

/// Exact, because the write lock is held: nobody takes this incarnation over while its batch is open.
pub(super) const IS_WORKER: &str = "SELECT count(*) FROM worker WHERE incarnation = ?";

pub(super) const TRANSITION_AT: &str = "SELECT transition_id FROM journal WHERE saga_id = ? AND seq = ?";
pub(super) const SAGA_OF_KEY: &str = "SELECT id FROM saga WHERE workflow = ? AND key = ?";

pub(super) const SAGA: &str = "SELECT * FROM saga WHERE id = ?";

pub(super) const ITEM_PUT: &str = "INSERT INTO work_item (saga_id, item, desk, reason, since, workflow, step, \
    direction, effect, fingerprint, attempts, error_kind, error_code, error_rule, classifier_version) \
    VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (saga_id, item) DO UPDATE SET desk = excluded.desk, \
    reason = excluded.reason, since = excluded.since, workflow = excluded.workflow, step = excluded.step, \
    direction = excluded.direction, effect = excluded.effect, fingerprint = excluded.fingerprint, \
    attempts = excluded.attempts, error_kind = excluded.error_kind, error_code = excluded.error_code, \
    error_rule = excluded.error_rule, classifier_version = excluded.classifier_version";
pub(super) const ITEM_REMOVE: &str = "DELETE FROM work_item WHERE saga_id = ? AND item = ?";

pub(super) const COMPENSATION_APPROVED: &str = "UPDATE compensation SET approved_by = ? WHERE id = ?";
pub(super) const COMPENSATION_ENDED: &str = "UPDATE compensation SET ended_at = ?, result = ? WHERE id = ?";

pub(super) const PHASE: &str = "SELECT phase FROM saga WHERE id = ?";
pub(super) const MAIL_OF_KEY: &str = "SELECT * FROM mail WHERE saga_id = ? AND idempotency = ?";
pub(super) const MAIL_OPEN: &str = "SELECT count(*) FROM mail WHERE saga_id = ? AND consumed_seq IS NULL";
pub(super) const MAIL_POST: &str =
    "INSERT INTO mail (id, saga_id, posted_at, kind, idempotency, actor, body) VALUES (?,?,?,?,?,?,?)";
/// Mail that is consumed as it comes: `?` also the sequence and the answer.
pub(super) const MAIL_BRING: &str = "INSERT INTO mail (id, saga_id, posted_at, kind, idempotency, actor, body, \
    consumed_seq, answer) VALUES (?,?,?,?,?,?,?,?,?) ON CONFLICT (saga_id, idempotency) DO UPDATE \
    SET consumed_seq = excluded.consumed_seq, answer = excluded.answer WHERE mail.consumed_seq IS NULL";
pub(super) const MAIL_CONSUME: &str =
    "UPDATE mail SET consumed_seq = ?, answer = ? WHERE id = ? AND saga_id = ? AND consumed_seq IS NULL";

pub(super) const SET_ASIDE: &str = "UPDATE saga SET owner = NULL, wake_at = NULL, wake_set_at = NULL, \
    set_aside_at = coalesce(set_aside_at, ?), set_aside = coalesce(set_aside, ?) WHERE id = ? \
    AND (owner IS NULL OR owner = ?)";

pub(super) const NODE_ENDED: &str =
    "SELECT count(*) FROM node WHERE incarnation = ? AND ended_at IS NOT NULL";
pub(super) const NODE_JOINS: &str =
    "INSERT INTO node (incarnation, node, started_at) VALUES (?,?,?) ON CONFLICT DO NOTHING";
pub(super) const NODE_INTRODUCES: &str =
    "UPDATE node SET build = ?, host = ?, definitions = ?, lease = ? WHERE incarnation = ?";
pub(super) const WORKER_JOINS: &str =
    "INSERT INTO worker (incarnation, node, started_at) VALUES (?,?,?) ON CONFLICT DO NOTHING";
pub(super) const OTHER_NODES_END: &str =
    "UPDATE node SET ended_at = ? WHERE ended_at IS NULL AND incarnation <> ?";
pub(super) const OTHER_WORKERS_GO: &str = "DELETE FROM worker WHERE incarnation <> ?";
pub(super) const NODE_ENDS: &str = "UPDATE node SET ended_at = ? WHERE ended_at IS NULL AND incarnation = ?";
pub(super) const WORKER_GOES: &str = "DELETE FROM worker WHERE incarnation = ?";
/// After the greatest number comes nought: what counts is that it moves.
pub(super) const BEAT: &str = "UPDATE worker SET beat = CASE WHEN beat < 9223372036854775807 THEN beat + 1 ELSE 0 END \
    WHERE incarnation = ? RETURNING beat";
pub(super) const DISMISS: &str = "DELETE FROM worker WHERE incarnation = ? AND beat = ?";

/// Sagas whose owner has no worker row, a chunk at a time.
pub(super) const RELEASE: &str = "UPDATE saga SET owner = NULL, wake_at = ?1, wake_set_at = ?1 WHERE id IN \
    (SELECT id FROM saga WHERE owner IS NOT NULL AND owner NOT IN (SELECT incarnation FROM worker) LIMIT ?2)";

/// Wake-up times that a clock set which ran ahead are due: `?1` now, `?2` now and the tolerance, `?3` the limit.
pub(super) const WAKE_SET_AHEAD: &str = "UPDATE saga SET wake_at = ?1, wake_set_at = ?1 WHERE id IN (SELECT id \
    FROM saga WHERE owner IS NULL AND wake_at IS NOT NULL AND wake_at > ?1 AND wake_set_at > ?2 LIMIT ?3)";

pub(super) const ORDER_OF_ID: &str = "SELECT operation_id, key, value, actor, reason, at, changed \
    FROM control_order WHERE operation_id = ?";
pub(super) const ORDER_KEEP: &str =
    "INSERT INTO control_order (operation_id, key, value, actor, reason, at, changed) VALUES (?,?,?,?,?,?,?)";
/// How many controls are in force, and whether this one is.
pub(super) const CONTROL_ROOM: &str = "SELECT count(*), coalesce(sum(key = ?), 0) FROM control";
/// Writes nothing where it is set so already.
pub(super) const CONTROL_SET: &str = "INSERT INTO control (key, value, actor, reason, operation_id, at) \
    VALUES (?,?,?,?,?,?) ON CONFLICT (key) DO UPDATE SET value = excluded.value, actor = excluded.actor, \
    reason = excluded.reason, operation_id = excluded.operation_id, at = excluded.at \
    WHERE control.value <> excluded.value";
pub(super) const CONTROL_LIFT: &str = "DELETE FROM control WHERE key = ?";

/// `(workflow, version, digest)` of each registered definition, from the parameter `first` on.
fn registered(definitions: usize, first: usize) -> String {
    let rows: Vec<String> =
        (0..definitions).map(|n| first + 3 * n).map(|n| format!("(?{n},?{},?{})", n + 1, n + 2)).collect();
    format!("(workflow, version, digest) IN (VALUES {})", rows.join(","))
}

/// Claims due sagas: `?1` the incarnation, `?2` now, `?3` the limit. The conditions repeat those of the index
/// `saga_due`, or SQLite would not use it.
pub(super) fn claim_due(definitions: usize) -> String {
    let registered = registered(definitions, 4);
    format!(
        "UPDATE saga SET owner = ?1, wake_at = NULL, wake_set_at = NULL WHERE id IN (SELECT id FROM saga \
         WHERE owner IS NULL AND wake_at IS NOT NULL AND wake_at <= ?2 AND priority = 0 AND {registered} \
         ORDER BY wake_at LIMIT ?3) RETURNING id"
    )
}

/// Claims sagas with unread mail, ended or not: `?1` the incarnation, `?2` the limit. Told the index and the order
/// of the join, or the planner would begin at all sagas of the workflow. What has no id nobody can read or consume.
pub(super) fn claim_by_mail(definitions: usize) -> String {
    let registered = registered(definitions, 3);
    format!(
        "UPDATE saga SET owner = ?1, wake_at = NULL, wake_set_at = NULL WHERE id IN (SELECT DISTINCT m.saga_id \
         FROM mail m INDEXED BY mail_open CROSS JOIN saga s ON s.id = m.saga_id \
         WHERE m.consumed_seq IS NULL AND length(m.id) = 16 \
         AND s.owner IS NULL AND s.set_aside_at IS NULL AND s.phase <> 'purged' AND {registered} LIMIT ?2) \
         RETURNING id"
    )
}

/// Claims one saga, due or not: `?1` the incarnation, `?2` the saga.
pub(super) fn claim_one(definitions: usize) -> String {
    let registered = registered(definitions, 3);
    format!(
        "UPDATE saga SET owner = ?1, wake_at = NULL, wake_set_at = NULL WHERE id = ?2 AND owner IS NULL \
         AND set_aside_at IS NULL AND phase <> 'purged' AND {registered} RETURNING id"
    )
}

pub(super) const IS_PUBLISHER: &str =
    "UPDATE worker SET publishes = 1 WHERE incarnation = ? AND publishes = 0";
pub(super) const PUBLISHERS: &str = "SELECT count(*) FROM worker WHERE publishes <> 0";

/// Gives back what is more than a share: `?1` the incarnation, `?2` the share.
pub(super) const LANES_GIVEN_BACK: &str = "UPDATE outbox_lane SET owner = NULL WHERE lane IN \
    (SELECT lane FROM outbox_lane WHERE owner = ?1 ORDER BY lane LIMIT -1 OFFSET ?2)";

/// Takes free lanes up to a share: `?1` the incarnation, `?2` the share.
pub(super) const LANES_TAKEN: &str = "UPDATE outbox_lane SET owner = ?1 WHERE lane IN \
    (SELECT lane FROM outbox_lane WHERE owner IS NULL ORDER BY lane \
     LIMIT max(0, ?2 - (SELECT count(*) FROM outbox_lane WHERE owner = ?1)))";

pub(super) const LANES_OF: &str = "SELECT lane FROM outbox_lane WHERE owner = ? ORDER BY lane";

/// Lanes whose owner has no worker row.
pub(super) const LANES_RELEASED: &str = "UPDATE outbox_lane SET owner = NULL \
    WHERE owner IS NOT NULL AND owner NOT IN (SELECT incarnation FROM worker)";

/// Only a refused one goes.
pub(super) const MESSAGE_LET_GO: &str = "DELETE FROM outbox \
    WHERE lane = ? AND kind = ? AND saga_id = ? AND seq = ? AND n = ? AND refusals > 0";
pub(super) const MESSAGE_STANDS: &str = "SELECT 1 FROM outbox \
    WHERE lane = ? AND kind = ? AND saga_id = ? AND seq = ? AND n = ?";

pub(super) const MESSAGE_REFUSED: &str = "UPDATE outbox SET refusals = refusals + 1, refused = ?, next_at = ? \
    WHERE lane = ? AND kind = ? AND saga_id = ? AND seq = ? AND n = ? \
    AND lane IN (SELECT lane FROM outbox_lane WHERE owner = ?)";
