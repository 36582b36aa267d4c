0s     saga started
0s     check#1 started (Ready)
0s     check#1 succeeded: "check"
0s     reserve#1 started (Ready)
30s    reserve#1 unknown (timeout) → query at 30.491s
30.491s reserve query 1 started
30.491s reserve query 1 failed: unknown (timeout) → query at 30.614s
30.614s reserve query 2 started
30.614s reserve query 2 found in progress → query at 40s
40s    reserve query 3 started, to fence through 1
40s    reserve query 3 found absent → retry at 40.516s
40.516s reserve#2 started (Retry)
40.516s reserve#2 succeeded: "reserve"
= RUNNING
  check: SUCCEEDED none
  reserve: SUCCEEDED applied
  auth: READY none
  capture: PENDING none
  ship: PENDING none
  tell: PENDING none
  do: start auth#1 in lane first, until 3600s
  wake: 3600s for deadline of the saga
  queues: auth since 0s
