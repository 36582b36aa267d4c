0s     saga started
0s     check#1 started (Ready)
0s     check#1 succeeded: "check"
0s     auth#1 started (Ready)
0s     auth#1 succeeded: "auth"
0s     reserve#1 started (Ready)
0s     reserve#1 unknown (timeout) → query at 0.491s
10s    reserve query 1 started, to fence through 1
10s    reserve query 1 failed: unknown (timeout) → query at 10.123s
10s    reserve#1 fenced through 1 → retry at 10.516s
10.516s reserve#2 started (Retry)
10.516s reserve#2 succeeded: "reserve"
10.516s capture#1 started (Ready)
10.516s capture#1 succeeded: "capture"
= RUNNING
  check: SUCCEEDED none
  reserve: SUCCEEDED applied
  auth: SUCCEEDED applied
  capture: SUCCEEDED applied
  ship: READY none
  tell: PENDING none
  do: start ship#1 in lane first, until 86410.516s
  wake: 3600s for deadline of the saga
  queues: ship since 10.516s
