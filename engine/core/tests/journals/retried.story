0s     saga started
0s     check#1 started (Ready)
0s     check#1 transient (busy) → retry at 0.004s
0.004s check#2 started (Retry)
0.004s check#2 succeeded: "check"
0.004s reserve#1 started (Ready)
0.004s reserve#1 transient (busy) → retry at 5.004s
5.004s reserve#2 started (Retry)
5.004s reserve#2 succeeded: "reserve"
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
