-- For people with a SQL prompt; the engine reads none of these. Ids and times are text here.

-- One row per event, in the journal's order.
CREATE VIEW saga_event AS
SELECT j.saga_id, j.seq, CAST(e.key AS INTEGER) AS n, j.at, j.actor, v.key AS event, v.value AS detail
FROM journal j, json_each(j.events) e, json_each(e.value) v;

-- The present state of each action that the journal speaks of: the fold of its events, in SQL. An action that has
-- not begun has no row, because the plan is not in the store.
CREATE VIEW saga_step AS
WITH milestone AS MATERIALIZED (
  SELECT saga_id, seq, n, event FROM saga_event
  WHERE event IN ('Claimed', 'TurnedBack', 'Completed', 'Compensated', 'Closed')
), told AS MATERIALIZED (
  SELECT saga_id, seq, n, at, event,
    json_extract(detail, '$.action') AS action,
    json_extract(detail, '$.attempt') AS attempt,
    json_extract(detail, '$.cause') AS cause,
    CASE json_type(detail, '$.next')
      WHEN 'text' THEN json_extract(detail, '$.next')
      WHEN 'object' THEN (SELECT key FROM json_each(detail, '$.next')) END AS next,
    CASE json_type(detail, '$.finding')
      WHEN 'text' THEN json_extract(detail, '$.finding')
      WHEN 'object' THEN (SELECT key FROM json_each(detail, '$.finding')) END AS found,
    -- What a compensation found: 'Undone' or 'NothingToUndo'.
    CASE WHEN json_extract(detail, '$.action') LIKE '%/compensation' THEN coalesce(
      json_extract(detail, '$.output.value'), json_extract(detail, '$.finding.applied.value'),
      CASE json_type(detail, '$.output') WHEN 'text' THEN json_extract(detail, '$.output') END) END AS undone,
    json_extract(detail, '$.failure.kind') AS failure_kind,
    json_extract(detail, '$.failure.code') AS failure_code,
    json_extract(detail, '$.failure.message') AS failure_message
  FROM saga_event
  WHERE json_type(detail, '$.action') = 'text'
), disputed AS MATERIALIZED (
  -- From the contradiction until it is settled nothing moves the stage, whatever a query finds meanwhile.
  SELECT d.saga_id, d.action, d.seq, d.n, d.found,
    (SELECT e.seq FROM told e WHERE e.saga_id = d.saga_id AND e.action = d.action AND e.event = 'DisputeSettled'
      AND (e.seq, e.n) > (d.seq, d.n) ORDER BY e.seq, e.n LIMIT 1) AS settled_seq
  FROM told d WHERE d.event = 'Disputed'
), staged AS (
  SELECT t.*, CASE
      WHEN EXISTS (SELECT 1 FROM milestone c WHERE c.saga_id = t.saga_id AND c.event = 'Closed'
          AND (c.seq, c.n) < (t.seq, t.n)) THEN NULL
      WHEN event = 'DisputeSettled' THEN CASE
          WHEN found = 'applied' THEN 'SUCCEEDED'
          WHEN found = 'partial' THEN 'PARTIAL'
          -- Found without effect. It matters only where an effect was recorded: there the step is skipped by the
          -- turn, or stands quarantined; and what is being undone, or has ended, stands as it is.
          WHEN EXISTS (SELECT 1 FROM disputed d WHERE d.saga_id = t.saga_id AND d.action = t.action
              AND d.settled_seq = t.seq AND d.found = 'applied') THEN NULL
          WHEN t.action LIKE '%/compensation' THEN 'QUARANTINED'
          WHEN EXISTS (SELECT 1 FROM milestone c WHERE c.saga_id = t.saga_id AND c.seq <= t.seq
              AND c.event IN ('Completed', 'Compensated') AND (c.seq, c.n) < (t.seq, t.n)) THEN NULL
          WHEN EXISTS (SELECT 1 FROM told c WHERE c.saga_id = t.saga_id AND c.event = 'Started'
              AND c.action = substr(t.action, 1, length(t.action) - length('forward')) || 'compensation' AND (c.seq, c.n) < (t.seq, t.n)) THEN NULL
          WHEN EXISTS (SELECT 1 FROM milestone c WHERE c.saga_id = t.saga_id AND c.event = 'TurnedBack'
              AND c.seq <= t.seq) THEN 'SKIPPED'
          ELSE 'QUARANTINED' END
      WHEN EXISTS (SELECT 1 FROM disputed d WHERE d.saga_id = t.saga_id AND d.action = t.action
          AND (d.seq, d.n) <= (t.seq, t.n) AND (d.settled_seq IS NULL OR t.seq <= d.settled_seq)) THEN NULL
      WHEN next = 'done' AND (event = 'PartlyApplied' OR found = 'partial') THEN 'PARTIAL'
      WHEN event = 'BecameUnknown' AND next = 'stay' THEN NULL
      WHEN event = 'Started' THEN CASE WHEN cause = 'repeat' THEN 'RECONCILING' ELSE 'RUNNING' END
      WHEN event = 'Withdrawn' THEN CASE WHEN EXISTS (
          SELECT 1 FROM told s WHERE s.saga_id = t.saga_id AND s.action = t.action AND s.event = 'Started'
            AND s.attempt = t.attempt AND s.cause = 'repeat') THEN 'RECONCILING' ELSE 'READY' END
      WHEN event IN ('Succeeded', 'AcceptedByPerson') THEN 'SUCCEEDED'
      WHEN event IN ('QueryStarted', 'QueryFailed', 'BecameUnknown', 'Accepted', 'Mismatched', 'SendAgainOrdered') THEN 'RECONCILING'
      WHEN event = 'Resumed' THEN 'READY'
      WHEN event = 'WentStale' THEN 'QUARANTINED'
      WHEN event = 'RejectedByPerson' THEN 'TERMINAL_REJECTED'
      WHEN event = 'Waived' THEN 'SKIPPED'
      WHEN next = 'retry' THEN 'RETRY_SCHEDULED'
      WHEN next = 'quarantine' THEN 'QUARANTINED'
      WHEN next IN ('turn_back', 'skip') THEN 'SKIPPED'
      WHEN next = 'reject' THEN 'TERMINAL_REJECTED'
      WHEN next = 'done' THEN 'SUCCEEDED'
      WHEN next IN ('query', 'repeat', 'desk') THEN 'RECONCILING'
    END AS stage                                          -- 'stay', and news that moves nothing: no stage
  FROM told t
), latest AS (
  SELECT *, row_number() OVER (PARTITION BY saga_id, action ORDER BY seq DESC, n DESC) AS back
  FROM staged WHERE stage IS NOT NULL
), failed AS (
  SELECT *, row_number() OVER (PARTITION BY saga_id, action ORDER BY seq DESC, n DESC) AS back
  FROM told WHERE failure_kind IS NOT NULL
), counted AS (
  SELECT saga_id, action,
    sum(event = 'Started') - sum(event = 'Withdrawn') AS attempts,
    sum(event = 'QueryStarted') AS queries
  FROM told GROUP BY saga_id, action
), moved AS (
  SELECT l.saga_id, l.action, l.at, CASE
      -- A takeover makes what was running unknown; the turn skips what had not been sent.
      WHEN l.stage = 'RUNNING' THEN (
        SELECT CASE WHEN count(*) = 0 THEN 'RUNNING' ELSE 'RECONCILING' END FROM milestone c
        WHERE c.saga_id = l.saga_id AND c.event = 'Claimed' AND (c.seq, c.n) > (l.seq, l.n))
      WHEN l.stage IN ('READY', 'RETRY_SCHEDULED', 'QUARANTINED') AND l.action LIKE '%/forward' THEN (
        SELECT CASE WHEN count(*) = 0 THEN l.stage ELSE 'SKIPPED' END FROM milestone c
        WHERE c.saga_id = l.saga_id AND c.event = 'TurnedBack' AND (c.seq, c.n) > (l.seq, l.n))
      -- A compensation in doubt settles its forward action as well.
      WHEN l.stage = 'RECONCILING' AND l.action LIKE '%/forward' THEN coalesce((
        SELECT CASE c.undone WHEN 'NothingToUndo' THEN 'SKIPPED' ELSE 'SUCCEEDED' END FROM latest c
        WHERE c.saga_id = l.saga_id AND c.back = 1 AND c.stage = 'SUCCEEDED'
          AND c.action = substr(l.action, 1, length(l.action) - length('forward')) || 'compensation'), l.stage)
      ELSE l.stage
    END AS stage
  FROM latest l WHERE l.back = 1
)
SELECT
  lower(substr(hex(s.id), 1, 8) || '-' || substr(hex(s.id), 9, 4) || '-' || substr(hex(s.id), 13, 4) || '-'
    || substr(hex(s.id), 17, 4) || '-' || substr(hex(s.id), 21)) AS saga,
  s.workflow, s.key, m.action, m.stage,
  strftime('%Y-%m-%dT%H:%M:%fZ', m.at / 1e6, 'unixepoch') AS since,
  c.attempts, c.queries, f.failure_kind, f.failure_code, f.failure_message
FROM moved m
JOIN saga s ON s.id = m.saga_id
JOIN counted c ON c.saga_id = m.saga_id AND c.action = m.action
LEFT JOIN failed f ON f.saga_id = m.saga_id AND f.action = m.action AND f.back = 1
WHERE NOT (m.stage = 'READY' AND c.attempts = 0);

-- One row per saga.
CREATE VIEW saga_overview AS
SELECT
  lower(substr(hex(s.id), 1, 8) || '-' || substr(hex(s.id), 9, 4) || '-' || substr(hex(s.id), 13, 4) || '-'
    || substr(hex(s.id), 17, 4) || '-' || substr(hex(s.id), 21)) AS saga,
  s.workflow, s.version, s.key, s.phase, s.outcome, s.open_actions,
  (SELECT count(*) FROM work_item w WHERE w.saga_id = s.id) AS desk_items,
  (SELECT max(j.seq) FROM journal j WHERE j.saga_id = s.id) AS transitions,
  strftime('%Y-%m-%dT%H:%M:%fZ', s.started_at / 1e6, 'unixepoch') AS started,
  strftime('%Y-%m-%dT%H:%M:%fZ', s.ended_at / 1e6, 'unixepoch') AS ended,
  strftime('%Y-%m-%dT%H:%M:%fZ', s.wake_at / 1e6, 'unixepoch') AS due,
  (SELECT n.node FROM node n WHERE n.incarnation = s.owner) AS owner,
  s.set_aside
FROM saga s;

-- Everything that waits for a person, the oldest first: desk entries, sagas set aside, messages without a saga.
CREATE VIEW desk AS
SELECT strftime('%Y-%m-%dT%H:%M:%fZ', since / 1e6, 'unixepoch') AS since, desk, workflow, key, saga, item, reason,
  effect, attempts, error_kind, error_code, assignee
FROM (
  SELECT w.since, w.desk, w.workflow, s.key,
    lower(substr(hex(s.id), 1, 8) || '-' || substr(hex(s.id), 9, 4) || '-' || substr(hex(s.id), 13, 4) || '-'
      || substr(hex(s.id), 17, 4) || '-' || substr(hex(s.id), 21)) AS saga,
    w.item, w.reason, w.effect, w.attempts, w.error_kind, w.error_code, w.assignee
  FROM work_item w JOIN saga s ON s.id = w.saga_id
  UNION ALL
  SELECT s.set_aside_at, 'set aside', s.workflow, s.key,
    lower(substr(hex(s.id), 1, 8) || '-' || substr(hex(s.id), 9, 4) || '-' || substr(hex(s.id), 13, 4) || '-'
      || substr(hex(s.id), 17, 4) || '-' || substr(hex(s.id), 21)),
    '', s.set_aside, NULL, NULL, NULL, NULL, NULL
  FROM saga s WHERE s.set_aside_at IS NOT NULL
  UNION ALL
  SELECT i.first_seen, CASE i.code WHEN 'late-news' THEN 'discrepancy' ELSE 'intake' END, i.source, i.dedupe,
    lower(substr(hex(i.saga_id), 1, 8) || '-' || substr(hex(i.saga_id), 9, 4) || '-' || substr(hex(i.saga_id), 13, 4)
      || '-' || substr(hex(i.saga_id), 17, 4) || '-' || substr(hex(i.saga_id), 21)),
    '', i.reason, NULL, i.seen, NULL, i.code, NULL
  FROM intake i WHERE i.closed_at IS NULL
) ORDER BY 1;
