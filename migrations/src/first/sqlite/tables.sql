-- Times are microseconds since 1970 in UTC, ids are 16 bytes, payloads and events are JSON text as it came.

-- One row per saga; not written at every step. It holds no sequence: the journal's primary key is the fence.
CREATE TABLE saga (
  id              BLOB    NOT NULL PRIMARY KEY,           -- UUIDv7, made by the starter
  owner           BLOB,                                   -- the incarnation that advances it
  wake_at         INTEGER,                                -- alone says "due"; none while owned, ended or set aside
  wake_set_at     INTEGER,
  occurred_at     INTEGER NOT NULL,
  deadline        INTEGER,
  started_at      INTEGER NOT NULL,
  ended_at        INTEGER,
  purged_at       INTEGER,
  set_aside_at    INTEGER,
  version         INTEGER NOT NULL,
  open_actions    INTEGER NOT NULL DEFAULT 0,
  event_version   INTEGER,
  priority        INTEGER NOT NULL DEFAULT 0,
  workflow        TEXT    NOT NULL,
  key             TEXT    NOT NULL,
  digest          BLOB    NOT NULL,
  input_digest    BLOB    NOT NULL,
  phase           TEXT    NOT NULL CHECK (phase IN ('running','compensating','completed','compensated','closed','purged')),
  outcome         TEXT,
  tenant          TEXT,
  source          TEXT,
  source_position TEXT,
  event_id        TEXT,
  event_type      TEXT,
  labels          TEXT,
  set_aside       TEXT,                                   -- why it cannot be read
  CHECK ((wake_at IS NULL) = (wake_set_at IS NULL)),
  CHECK (wake_at IS NULL OR owner IS NULL)
) STRICT;
CREATE UNIQUE INDEX saga_key ON saga (workflow, key);
CREATE INDEX saga_owner ON saga (owner) WHERE owner IS NOT NULL;
CREATE INDEX saga_due ON saga (priority, wake_at) WHERE owner IS NULL AND wake_at IS NOT NULL;
-- For lists in start order: what is open, what is of a workflow, of a tenant, or set aside.
CREATE INDEX saga_open ON saga (phase, id) WHERE ended_at IS NULL;
CREATE INDEX saga_workflow ON saga (workflow, id);
CREATE INDEX saga_tenant ON saga (tenant, id) WHERE tenant IS NOT NULL;
CREATE INDEX saga_aside ON saga (id) WHERE set_aside IS NOT NULL;
CREATE INDEX saga_ended ON saga (ended_at) WHERE ended_at IS NOT NULL AND purged_at IS NULL;
CREATE INDEX saga_purged ON saga (ended_at) WHERE purged_at IS NOT NULL;

-- One row per transition. An ordinary rowid table on purpose: appended to, never split (WITHOUT ROWID is slower
-- and larger here).
CREATE TABLE journal (
  saga_id       BLOB    NOT NULL,
  transition_id BLOB    NOT NULL,
  seq           INTEGER NOT NULL CHECK (seq > 0),
  at            INTEGER NOT NULL,
  actor         TEXT    NOT NULL,
  events        TEXT    NOT NULL,
  PRIMARY KEY (saga_id, seq)
) STRICT;

-- What waits for a person: the difference of the desk, written with the transition that made it.
CREATE TABLE work_item (
  saga_id            BLOB    NOT NULL,
  item               TEXT    NOT NULL,                    -- '' is the saga, else step/direction
  desk               TEXT    NOT NULL CHECK (desk IN ('quarantine','reconciliation','approval','discrepancy')),
  reason             TEXT    NOT NULL,
  since              INTEGER NOT NULL,
  workflow           TEXT    NOT NULL,
  step               TEXT    NOT NULL,
  direction          TEXT    NOT NULL,
  effect             TEXT    NOT NULL,
  fingerprint        TEXT    NOT NULL,
  attempts           INTEGER NOT NULL DEFAULT 0,
  next_at            INTEGER,
  deadline           INTEGER,
  error_kind         TEXT,
  error_code         TEXT,
  error_rule         TEXT,
  classifier_version TEXT,
  build              TEXT,                                -- of the last attempt
  assignee           TEXT,
  disposition        TEXT,
  PRIMARY KEY (saga_id, item)
) STRICT, WITHOUT ROWID;
CREATE INDEX work_item_since ON work_item (since, saga_id, item);
CREATE INDEX work_item_desk ON work_item (desk, since, saga_id, item);
CREATE INDEX work_item_alike ON work_item (desk, fingerprint, since);

-- Messages that became no saga, or belong to none.
CREATE TABLE intake (
  id               BLOB    NOT NULL PRIMARY KEY,
  saga_id          BLOB,                                  -- of which it speaks; it need not exist
  first_seen       INTEGER NOT NULL,
  last_seen        INTEGER NOT NULL,
  seen             INTEGER NOT NULL DEFAULT 1,
  raw_size         INTEGER NOT NULL,                      -- of the message; `raw` may be its beginning only
  source           TEXT    NOT NULL,
  dedupe           TEXT    NOT NULL,                      -- event id, position, or request id and outcome
  position         TEXT,
  event_id         TEXT,
  code             TEXT    NOT NULL,
  reason           TEXT    NOT NULL,
  raw              BLOB    NOT NULL,
  raw_digest       BLOB,                                  -- SHA-256 of the whole, where it is not kept whole
  closed_at        INTEGER,
  disposition      TEXT,
  closed_by        TEXT,
  closed_because   TEXT,
  closed_operation TEXT,
  UNIQUE (source, dedupe),
  CHECK ((closed_at IS NULL) = (disposition IS NULL))
) STRICT;
CREATE INDEX intake_open ON intake (id) WHERE closed_at IS NULL;
CREATE INDEX intake_open_of ON intake (source, id) WHERE closed_at IS NULL;

-- Messages to a saga from outside its owner, consumed in the owner's commit.
CREATE TABLE mail (
  id           BLOB    NOT NULL PRIMARY KEY,
  saga_id      BLOB    NOT NULL,
  posted_at    INTEGER NOT NULL,
  consumed_seq INTEGER,
  kind         TEXT    NOT NULL CHECK (kind IN ('signal','reply','operator')),
  idempotency  TEXT    NOT NULL,
  actor        TEXT    NOT NULL,
  body         TEXT    NOT NULL,
  answer       TEXT,
  UNIQUE (saga_id, idempotency)
) STRICT;
CREATE INDEX mail_open ON mail (saga_id, id) WHERE consumed_seq IS NULL;

-- Events and commands to publish, removed when acknowledged. A rowid table, as the journal.
CREATE TABLE outbox (
  lane       INTEGER NOT NULL,                            -- a hash of the saga's id
  kind       TEXT    NOT NULL CHECK (kind IN ('event','command','notice')),
  saga_id    BLOB    NOT NULL,
  seq        INTEGER NOT NULL,
  n          INTEGER NOT NULL,
  message_id BLOB    NOT NULL,
  written_at INTEGER NOT NULL,
  next_at    INTEGER NOT NULL DEFAULT 0,                  -- of a refused one: when it is tried again
  refusals   INTEGER NOT NULL DEFAULT 0,
  subject    TEXT    NOT NULL,
  headers    TEXT    NOT NULL,
  body       TEXT    NOT NULL,
  refused    TEXT,                                        -- why, the last time
  PRIMARY KEY (lane, kind, saga_id, seq, n)
) STRICT;
CREATE INDEX outbox_kind ON outbox (kind);                -- of each kind in the order of writing, which is rowid's
CREATE INDEX outbox_refused ON outbox (written_at) WHERE refusals > 0;

-- Who publishes which lane: claimed as sagas are.
CREATE TABLE outbox_lane (
  lane  INTEGER NOT NULL PRIMARY KEY,
  owner BLOB
) STRICT;
INSERT INTO outbox_lane (lane) VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9), (10), (11), (12), (13), (14), (15);

-- One row per compensation: a business action of its own, inserted when requested, updated when it ends.
CREATE TABLE compensation (
  id              BLOB    NOT NULL PRIMARY KEY,           -- its request id
  saga_id         BLOB    NOT NULL,
  created_at      INTEGER NOT NULL,
  ended_at        INTEGER,
  step            TEXT    NOT NULL,
  source_event_id TEXT,
  business_key    TEXT    NOT NULL,
  reason_code     TEXT    NOT NULL,
  requested_by    TEXT    NOT NULL,
  approved_by     TEXT,
  expected        TEXT,
  proposed        TEXT,
  affected        TEXT,
  dry_run         TEXT,
  result          TEXT
) STRICT;
CREATE INDEX compensation_saga ON compensation (saga_id);

-- What people set for a whole workflow, a dependency or a node; every node reads it.
CREATE TABLE control (
  key          TEXT    NOT NULL PRIMARY KEY,
  value        TEXT    NOT NULL,
  actor        TEXT    NOT NULL,
  reason       TEXT    NOT NULL,
  operation_id TEXT    NOT NULL UNIQUE,
  at           INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Every order about those, kept: it tells a repetition, and holds its answer.
CREATE TABLE control_order (
  operation_id TEXT    NOT NULL PRIMARY KEY,
  key          TEXT    NOT NULL,
  value        TEXT,                                      -- none lifts
  actor        TEXT    NOT NULL,
  reason       TEXT    NOT NULL,
  at           INTEGER NOT NULL,
  changed      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- One row per process start, kept for "what did the deploy change?".
CREATE TABLE node (
  incarnation    BLOB    NOT NULL PRIMARY KEY,
  node           TEXT    NOT NULL,
  build          TEXT,
  host           TEXT,
  started_at     INTEGER NOT NULL,
  ended_at       INTEGER,
  definitions    TEXT,                                    -- what it can run, as JSON
  lease          INTEGER,                                 -- microseconds; none where one process owns the store
  policy_version TEXT
) STRICT;

-- Live incarnations: the row whose absence fences a batch.
CREATE TABLE worker (
  incarnation BLOB    NOT NULL PRIMARY KEY,
  beat        INTEGER NOT NULL DEFAULT 0,
  started_at  INTEGER NOT NULL,
  publishes   INTEGER NOT NULL DEFAULT 0,                 -- has asked for lanes of the outbox
  node        TEXT    NOT NULL
) STRICT, WITHOUT ROWID;
