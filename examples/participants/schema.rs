//! The tables of the participants' file.

use sea_orm::{ConnectionTrait, DbErr};

/// Makes what is not there yet. The barrier's own table comes from `amends_barrier::install`.
pub(super) async fn install(db: &impl ConnectionTrait) -> Result<(), DbErr> {
    db.execute_unprepared(TABLES).await?;
    Ok(())
}

/// CHECK constraints say what can never be; the audit says what must not have been.
const TABLES: &str = "
-- The warehouse. A piece is on the shelf, set aside, or with a customer.
CREATE TABLE IF NOT EXISTS stock (
    sku      TEXT PRIMARY KEY,
    initial  INTEGER NOT NULL,
    on_hand  INTEGER NOT NULL CHECK (on_hand >= 0),
    reserved INTEGER NOT NULL CHECK (reserved >= 0),
    shipped  INTEGER NOT NULL CHECK (shipped >= 0)
) STRICT;
CREATE TABLE IF NOT EXISTS reservation (
    id         TEXT PRIMARY KEY,
    request_id TEXT NOT NULL UNIQUE,
    order_id   TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('held', 'released', 'shipped'))
) STRICT;
CREATE INDEX IF NOT EXISTS reservation_order ON reservation (order_id);
CREATE TABLE IF NOT EXISTS reservation_line (
    reservation TEXT NOT NULL REFERENCES reservation,
    sku         TEXT NOT NULL,
    quantity    INTEGER NOT NULL CHECK (quantity > 0),
    returned    INTEGER NOT NULL DEFAULT 0 CHECK (returned BETWEEN 0 AND quantity),
    PRIMARY KEY (reservation, sku)
) STRICT;

-- The payment gateway: what it says it holds, took and gave back.
CREATE TABLE IF NOT EXISTS authorization (
    id         TEXT PRIMARY KEY,
    request_id TEXT NOT NULL UNIQUE,
    reference  TEXT NOT NULL,
    card       TEXT NOT NULL,
    minor      INTEGER NOT NULL CHECK (minor > 0),
    currency   TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('held', 'voided', 'captured'))
) STRICT;
CREATE INDEX IF NOT EXISTS authorization_reference ON authorization (reference);
CREATE TABLE IF NOT EXISTS capture (
    id            TEXT PRIMARY KEY,
    authorization TEXT NOT NULL REFERENCES authorization,
    minor         INTEGER NOT NULL CHECK (minor > 0),
    currency      TEXT NOT NULL,
    refunded      INTEGER NOT NULL DEFAULT 0 CHECK (refunded BETWEEN 0 AND minor)
) STRICT;
CREATE INDEX IF NOT EXISTS capture_authorization ON capture (authorization);
CREATE TABLE IF NOT EXISTS refund (
    id           TEXT PRIMARY KEY,
    capture      TEXT NOT NULL REFERENCES capture,
    business_key TEXT NOT NULL,
    minor        INTEGER NOT NULL CHECK (minor > 0),
    currency     TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS settlement (
    id       TEXT PRIMARY KEY,
    capture  TEXT NOT NULL REFERENCES capture,
    minor    INTEGER NOT NULL CHECK (minor > 0),
    currency TEXT NOT NULL
) STRICT;

-- The books: every movement has entries that sum to zero. They are kept beside the gateway's own tables and
-- not derived from them, so that the audit compares two records of the same events.
CREATE TABLE IF NOT EXISTS movement (
    id           INTEGER PRIMARY KEY,
    request_id   TEXT NOT NULL,
    kind         TEXT NOT NULL CHECK (kind IN ('authorize', 'void', 'capture', 'settle', 'refund')),
    business_key TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS entry (
    movement INTEGER NOT NULL REFERENCES movement,
    account  TEXT NOT NULL CHECK (account IN ('customers', 'held', 'clearing', 'merchant')),
    currency TEXT NOT NULL,
    minor    INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS entry_movement ON entry (movement);

-- The carrier, and what customers got to read.
CREATE TABLE IF NOT EXISTS shipment (
    id          TEXT PRIMARY KEY,
    order_id    TEXT NOT NULL,
    reservation TEXT NOT NULL REFERENCES reservation,
    address     TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS shipment_order ON shipment (order_id);
CREATE TABLE IF NOT EXISTS letter (
    id           TEXT PRIMARY KEY,
    kind         TEXT NOT NULL CHECK (kind IN ('notice', 'receipt')),
    customer     TEXT NOT NULL,
    text         TEXT NOT NULL,
    business_key TEXT NOT NULL
) STRICT;

-- One line per effect, written in its transaction and deliberately without a unique key: a second effect
-- under one request id must be able to show itself.
CREATE TABLE IF NOT EXISTS effect (
    request_id   TEXT NOT NULL,
    call         TEXT NOT NULL,
    business_key TEXT NOT NULL,
    attempt      INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS effect_key ON effect (business_key, call);
CREATE VIEW IF NOT EXISTS effects AS
    SELECT request_id, call, business_key, count(*) AS effects, min(attempt) AS attempt
    FROM effect GROUP BY request_id;

-- What was taken and is done later. Whoever asked was told so, and a killed process forgets none of it.
CREATE TABLE IF NOT EXISTS backlog (
    request_id         TEXT PRIMARY KEY,
    forward_request_id TEXT NOT NULL,
    saga               TEXT NOT NULL,
    business_key       TEXT NOT NULL,
    attempt            INTEGER NOT NULL,
    call               TEXT NOT NULL,
    asked              TEXT NOT NULL,
    due                INTEGER NOT NULL
) STRICT;

-- Bad days, planned: looked up by attempt, which the engine counts durably, so a killed and restarted
-- process meets the same ones.
CREATE TABLE IF NOT EXISTS fault (
    business_key TEXT NOT NULL,
    call         TEXT NOT NULL,
    attempt_from INTEGER NOT NULL,
    attempt_to   INTEGER NOT NULL,
    kind         TEXT NOT NULL,
    millis       INTEGER NOT NULL,
    PRIMARY KEY (business_key, call, attempt_from)
) STRICT;
-- Queries have no attempt number, so they are counted here, and only where a fault is planned for them.
CREATE TABLE IF NOT EXISTS query_count (
    business_key TEXT NOT NULL,
    call         TEXT NOT NULL,
    queries      INTEGER NOT NULL,
    PRIMARY KEY (business_key, call)
) STRICT;
";
