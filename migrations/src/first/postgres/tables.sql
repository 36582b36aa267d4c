-- Times are microseconds since 1970 in UTC, ids are uuid, payloads and events are JSON text as it came.

-- One row per saga; not written at every step. It holds no sequence: the journal's primary key is the fence.
CREATE TABLE saga (
  id              uuid     NOT NULL PRIMARY KEY,           -- UUIDv7, made by the starter
  owner           uuid,                                   -- the incarnation that advances it
  wake_at         bigint,                                -- alone says "due"; none while owned, ended or set aside
  wake_set_at     bigint,
  occurred_at     bigint   NOT NULL,
  deadline        bigint,
  started_at      bigint   NOT NULL,
  ended_at        bigint,
  purged_at       bigint,
  set_aside_at    bigint,
  version         integer  NOT NULL,
  open_actions    integer  NOT NULL DEFAULT 0,
  event_version   integer,
  priority        smallint NOT NULL DEFAULT 0,
  workflow        text     NOT NULL,
  key             text     NOT NULL,
  digest          bytea    NOT NULL,
  input_digest    bytea    NOT NULL,
  phase           text     NOT NULL CHECK (phase IN ('running','compensating','completed','compensated','closed','purged')),
  outcome         text,
  tenant          text,
  source          text,
  source_position text,
  event_id        text,
  event_type      text,
  labels          text,
  set_aside       text,                                   -- why it cannot be read
  CHECK ((wake_at IS NULL) = (wake_set_at IS NULL)),
  CHECK (wake_at IS NULL OR owner IS NULL)
);
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

-- One row per transition. No foreign key: a saga and its first row come in one statement.
CREATE TABLE journal (
  saga_id       uuid     NOT NULL,
  transition_id uuid     NOT NULL,
  seq           bigint   NOT NULL CHECK (seq > 0),
  at            bigint   NOT NULL,
  actor         text     NOT NULL,
  events        text     NOT NULL,
  PRIMARY KEY (saga_id, seq)
);

-- What waits for a person: the difference of the desk, written with the transition that made it.
CREATE TABLE work_item (
  saga_id            uuid     NOT NULL,
  item               text     NOT NULL,                    -- '' is the saga, else step/direction
  desk               text     NOT NULL CHECK (desk IN ('quarantine','reconciliation','approval','discrepancy')),
  reason             text     NOT NULL,
  since              bigint   NOT NULL,
  workflow           text     NOT NULL,
  step               text     NOT NULL,
  direction          text     NOT NULL,
  effect             text     NOT NULL,
  fingerprint        text     NOT NULL,
  attempts           integer  NOT NULL DEFAULT 0,
  next_at            bigint,
  deadline           bigint,
  error_kind         text,
  error_code         text,
  error_rule         text,
  classifier_version text,
  build              text,                                -- of the last attempt
  assignee           text,
  disposition        text,
  PRIMARY KEY (saga_id, item)
);
CREATE INDEX work_item_since ON work_item (since, saga_id, item);
CREATE INDEX work_item_desk ON work_item (desk, since, saga_id, item);
CREATE INDEX work_item_alike ON work_item (desk, fingerprint, since);

-- Messages that became no saga, or belong to none.
CREATE TABLE intake (
  id               uuid    NOT NULL PRIMARY KEY,
  saga_id          uuid,                                  -- of which it speaks; it need not exist
  first_seen       bigint  NOT NULL,
  last_seen        bigint  NOT NULL,
  seen             bigint  NOT NULL DEFAULT 1,
  raw_size         bigint  NOT NULL,                      -- of the message; `raw` may be its beginning only
  source           text    NOT NULL,
  dedupe           text    NOT NULL,                      -- event id, position, or request id and outcome
  position         text,
  event_id         text,
  code             text    NOT NULL,
  reason           text    NOT NULL,
  raw              bytea   NOT NULL,
  raw_digest       bytea,                                 -- SHA-256 of the whole, where it is not kept whole
  closed_at        bigint,
  disposition      text,
  closed_by        text,
  closed_because   text,
  closed_operation text,
  UNIQUE (source, dedupe),
  CHECK ((closed_at IS NULL) = (disposition IS NULL))
);
CREATE INDEX intake_open ON intake (id) WHERE closed_at IS NULL;
CREATE INDEX intake_open_of ON intake (source, id) WHERE closed_at IS NULL;

-- Messages to a saga from outside its owner, consumed in the owner's commit.
CREATE TABLE mail (
  id           uuid     NOT NULL PRIMARY KEY,
  saga_id      uuid     NOT NULL,
  posted_at    bigint   NOT NULL,
  consumed_seq bigint,
  kind         text     NOT NULL CHECK (kind IN ('signal','reply','operator')),
  idempotency  text     NOT NULL,
  actor        text     NOT NULL,
  body         text     NOT NULL,
  answer       text,
  UNIQUE (saga_id, idempotency)
);
CREATE INDEX mail_open ON mail (saga_id, id) WHERE consumed_seq IS NULL;

-- Events and commands to publish, removed when acknowledged.
CREATE TABLE outbox (
  lane       smallint NOT NULL,                            -- a hash of the saga's id
  kind       text     NOT NULL CHECK (kind IN ('event','command','notice')),
  saga_id    uuid     NOT NULL,
  seq        bigint   NOT NULL,
  n          smallint NOT NULL,
  message_id uuid     NOT NULL,
  written_at bigint   NOT NULL,
  next_at    bigint   NOT NULL DEFAULT 0,                  -- of a refused one: when it is tried again
  refusals   integer  NOT NULL DEFAULT 0,
  subject    text     NOT NULL,
  headers    text     NOT NULL,
  body       text     NOT NULL,
  refused    text,                                        -- why, the last time
  PRIMARY KEY (lane, kind, saga_id, seq, n)
);
CREATE INDEX outbox_refused ON outbox (written_at) WHERE refusals > 0;

-- Who publishes which lane: claimed as sagas are.
CREATE TABLE outbox_lane (
  lane  smallint NOT NULL PRIMARY KEY,
  owner uuid
);
INSERT INTO outbox_lane (lane) VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9), (10), (11), (12), (13), (14), (15);

-- One row per compensation: a business action of its own, inserted when requested, updated when it ends.
CREATE TABLE compensation (
  id              uuid     NOT NULL PRIMARY KEY,           -- its request id
  saga_id         uuid     NOT NULL,
  created_at      bigint   NOT NULL,
  ended_at        bigint,
  step            text     NOT NULL,
  source_event_id text,
  business_key    text     NOT NULL,
  reason_code     text     NOT NULL,
  requested_by    text     NOT NULL,
  approved_by     text,
  expected        text,
  proposed        text,
  affected        text,
  dry_run         text,
  result          text
);
CREATE INDEX compensation_saga ON compensation (saga_id);

-- What people set for a whole workflow, a dependency or a node; every node reads it.
CREATE TABLE control (
  key          text     NOT NULL PRIMARY KEY,
  value        text     NOT NULL,
  actor        text     NOT NULL,
  reason       text     NOT NULL,
  operation_id text     NOT NULL UNIQUE,
  at           bigint   NOT NULL
);

-- Every order about those, kept: it tells a repetition, and holds its answer.
CREATE TABLE control_order (
  operation_id text     NOT NULL PRIMARY KEY,
  key          text     NOT NULL,
  value        text,                                      -- none lifts
  actor        text     NOT NULL,
  reason       text     NOT NULL,
  at           bigint   NOT NULL,
  changed      boolean  NOT NULL
);

-- One row per process start, kept for "what did the deploy change?".
CREATE TABLE node (
  incarnation    uuid     NOT NULL PRIMARY KEY,
  node           text     NOT NULL,
  build          text,
  host           text,
  started_at     bigint   NOT NULL,
  ended_at       bigint,
  definitions    text,                                    -- what it can run, as JSON
  lease          bigint,                                  -- microseconds; none where one process owns the store
  policy_version text
);

-- Live incarnations: the row whose absence fences a batch. Its heartbeat is updated in place, hence the room.
CREATE TABLE worker (
  incarnation uuid     NOT NULL PRIMARY KEY,
  beat        bigint   NOT NULL DEFAULT 0,
  started_at  bigint   NOT NULL,
  publishes   boolean  NOT NULL DEFAULT false,               -- has asked for lanes of the outbox
  node        text     NOT NULL
) WITH (fillfactor = 10);
