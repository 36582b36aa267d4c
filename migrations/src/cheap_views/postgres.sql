-- As in the first schema, with the same columns and rows; grants, and what others built on them, stay.

-- One row per event, in the journal's order. `json`, not `jsonb`: payloads keep their text.
-- Of a function that returns rows the planner thinks a hundred, and of one within another ten thousand: that price
-- had each query compiled, for longer than it ran. Of an array it thinks ten, and an event is an object of one key.
CREATE OR REPLACE VIEW saga_event AS
SELECT j.saga_id, j.seq, (e.n - 1)::integer AS n, j.at, j.actor, v.key AS event, v.value AS detail
FROM journal j
CROSS JOIN LATERAL unnest(ARRAY(SELECT json_array_elements(j.events::json))) WITH ORDINALITY AS e(value, n)
CROSS JOIN LATERAL (SELECT key, value FROM json_each(e.value) LIMIT 1) v;

-- The present state of each action that the journal speaks of: the fold of its events, in SQL. An action that has
-- not begun has no row, because the plan is not in the store.
-- The fold of one saga is a lateral subquery: asked for one saga, the view reads no other's journal.
-- What is computed once and used twice is materialized, or it would be planned, and computed, twice.
CREATE OR REPLACE VIEW saga_step AS
SELECT s.id AS saga, s.workflow, s.key, f.action, f.stage, to_timestamp(f.at / 1e6) AS since, f.attempts, f.queries,
  f.failure_kind, f.failure_code, f.failure_message
FROM saga s CROSS JOIN LATERAL (
WITH event AS MATERIALIZED (
  SELECT seq, n, at, event, detail FROM saga_event WHERE saga_id = s.id
), milestone AS MATERIALIZED (
  SELECT seq, n, event FROM event
  WHERE event IN ('Claimed', 'TurnedBack', 'Completed', 'Compensated', 'Closed')
), told AS MATERIALIZED (
  SELECT seq, n, at, event,
    detail ->> 'action' AS action,
    detail ->> 'attempt' AS attempt,
    detail ->> 'cause' AS cause,
    CASE json_typeof(detail -> 'next')
      WHEN 'string' THEN detail ->> 'next'
      WHEN 'object' THEN (SELECT k FROM json_object_keys(detail -> 'next') AS k) END AS next,
    CASE json_typeof(detail -> 'finding')
      WHEN 'string' THEN detail ->> 'finding'
      WHEN 'object' THEN (SELECT k FROM json_object_keys(detail -> 'finding') AS k) END AS found,
    -- What a compensation found: 'Undone' or 'NothingToUndo'.
    CASE WHEN detail ->> 'action' LIKE '%/compensation' THEN coalesce(
      detail #>> '{output,value}', detail #>> '{finding,applied,value}',
      CASE json_typeof(detail -> 'output') WHEN 'string' THEN detail ->> 'output' END) END AS undone,
    detail #>> '{failure,kind}' AS failure_kind,
    detail #>> '{failure,code}' AS failure_code,
    detail #>> '{failure,message}' AS failure_message
  FROM event
  WHERE json_typeof(detail -> 'action') = 'string'
), disputed AS MATERIALIZED (
  -- From the contradiction until it is settled nothing moves the stage, whatever a query finds meanwhile.
  SELECT d.action, d.seq, d.n, d.found,
    (SELECT e.seq FROM told e WHERE e.action = d.action AND e.event = 'DisputeSettled'
      AND (e.seq, e.n) > (d.seq, d.n) ORDER BY e.seq, e.n LIMIT 1) AS settled_seq
  FROM told d WHERE d.event = 'Disputed'
), staged AS MATERIALIZED (
  SELECT t.*, CASE
      WHEN EXISTS (SELECT 1 FROM milestone c WHERE c.event = 'Closed'
          AND (c.seq, c.n) < (t.seq, t.n)) THEN NULL
      WHEN event = 'DisputeSettled' THEN CASE
          WHEN found = 'applied' THEN 'SUCCEEDED'
          WHEN found = 'partial' THEN 'PARTIAL'
          -- Found without effect. It matters only where an effect was recorded: there the step is skipped by the
          -- turn, or stands quarantined; and what is being undone, or has ended, stands as it is.
          WHEN EXISTS (SELECT 1 FROM disputed d WHERE d.action = t.action
              AND d.settled_seq = t.seq AND d.found = 'applied') THEN NULL
          WHEN t.action LIKE '%/compensation' THEN 'QUARANTINED'
          WHEN EXISTS (SELECT 1 FROM milestone c WHERE c.seq <= t.seq
              AND c.event IN ('Completed', 'Compensated') AND (c.seq, c.n) < (t.seq, t.n)) THEN NULL
          WHEN EXISTS (SELECT 1 FROM told c WHERE c.event = 'Started'
              AND c.action = left(t.action, length(t.action) - length('forward')) || 'compensation' AND (c.seq, c.n) < (t.seq, t.n)) THEN NULL
          WHEN EXISTS (SELECT 1 FROM milestone c WHERE c.event = 'TurnedBack'
              AND c.seq <= t.seq) THEN 'SKIPPED'
          ELSE 'QUARANTINED' END
      WHEN EXISTS (SELECT 1 FROM disputed d WHERE d.action = t.action
          AND (d.seq, d.n) <= (t.seq, t.n) AND (d.settled_seq IS NULL OR t.seq <= d.settled_seq)) THEN NULL
      WHEN next = 'done' AND (event = 'PartlyApplied' OR found = 'partial') THEN 'PARTIAL'
      WHEN event = 'BecameUnknown' AND next = 'stay' THEN NULL
      WHEN event = 'Started' THEN CASE WHEN cause = 'repeat' THEN 'RECONCILING' ELSE 'RUNNING' END
      WHEN event = 'Withdrawn' THEN CASE WHEN EXISTS (
          SELECT 1 FROM told s WHERE s.action = t.action AND s.event = 'Started'
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
  SELECT *, row_number() OVER (PARTITION BY action ORDER BY seq DESC, n DESC) AS back
  FROM staged WHERE stage IS NOT NULL
), failed AS (
  SELECT *, row_number() OVER (PARTITION BY action ORDER BY seq DESC, n DESC) AS back
  FROM told WHERE failure_kind IS NOT NULL
), counted AS (
  SELECT action,
    count(*) FILTER (WHERE event = 'Started') - count(*) FILTER (WHERE event = 'Withdrawn') AS attempts,
    count(*) FILTER (WHERE event = 'QueryStarted') AS queries
  FROM told GROUP BY action
), moved AS MATERIALIZED (
  SELECT l.action, l.at, CASE
      -- A takeover makes what was running unknown; the turn skips what had not been sent.
      WHEN l.stage = 'RUNNING' THEN (
        SELECT CASE WHEN count(*) = 0 THEN 'RUNNING' ELSE 'RECONCILING' END FROM milestone c
        WHERE c.event = 'Claimed' AND (c.seq, c.n) > (l.seq, l.n))
      WHEN l.stage IN ('READY', 'RETRY_SCHEDULED', 'QUARANTINED') AND l.action LIKE '%/forward' THEN (
        SELECT CASE WHEN count(*) = 0 THEN l.stage ELSE 'SKIPPED' END FROM milestone c
        WHERE c.event = 'TurnedBack' AND (c.seq, c.n) > (l.seq, l.n))
      -- A compensation in doubt settles its forward action as well.
      WHEN l.stage = 'RECONCILING' AND l.action LIKE '%/forward' THEN coalesce((
        SELECT CASE c.undone WHEN 'NothingToUndo' THEN 'SKIPPED' ELSE 'SUCCEEDED' END FROM latest c
        WHERE c.back = 1 AND c.stage = 'SUCCEEDED'
          AND c.action = left(l.action, length(l.action) - length('forward')) || 'compensation'), l.stage)
      ELSE l.stage
    END AS stage
  FROM latest l WHERE l.back = 1
)
SELECT m.action, m.stage, m.at, c.attempts, c.queries, e.failure_kind, e.failure_code, e.failure_message
FROM moved m
JOIN counted c ON c.action = m.action
LEFT JOIN failed e ON e.action = m.action AND e.back = 1
WHERE NOT (m.stage = 'READY' AND c.attempts = 0)
) f;
