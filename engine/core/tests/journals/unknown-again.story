0s     saga started
0s     z#1 started (Ready)
0s     z#1 transient (busy) → retry at 0.594s
0.594s z#2 started (Retry)
0.594s z#1 unknown (timeout) → stay
0.594s z#2 transient (busy) → query at 0.594s
0.594s z query 1 started
0.594s z query 1 found applied "z" → done
0.594s a#1 started (Ready)
0.594s a#1 persistent (credential) → quarantine, persistent
0.594s a#1 took effect in part → done
0.594s turned back: a in part
= COMPENSATING (a in part)
  z: SUCCEEDED applied
  a: PARTIAL partial · undo READY none
  b: SKIPPED none
  do: start undo:a#1 in lane compensation, until 86400.594s
  wake: 86400.594s for deadline of undo:a
  queues: undo:a since 0.594s
