0s     saga started
0s     check#1 started (Ready)
0s     check#1 succeeded: "check"
0s     auth#1 started (Ready)
30s    auth#1 unknown (timeout) → repeat at 30.482s
30.482s auth#2 started (Repeat)
30.482s auth#2 transient (busy) → repeat at 32.1s
32.1s  auth#3 started (Repeat)
32.1s  auth#3 succeeded: "auth"
= RUNNING
  check: SUCCEEDED none
  reserve: READY none
  auth: SUCCEEDED applied
  capture: PENDING none
  ship: PENDING none
  tell: PENDING none
  do: start reserve#1 in lane first, until 3600s
  wake: 3600s for deadline of the saga
  queues: reserve since 0s
