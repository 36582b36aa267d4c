0s     saga started
0s     check#1 started (Ready)
0s     check#1 succeeded: "check"
0s     auth#1 started (Ready)
0s     auth#1 unknown (timeout) → repeat at 0.482s
0.482s auth#2 started (Repeat)
0.482s auth#2 unknown (timeout) → repeat at 2.1s
2.1s   auth#3 started (Repeat)
2.1s   auth#3 unknown (timeout) → desk, attempts-spent
= RUNNING
  check: SUCCEEDED none
  reserve: READY none
  auth: RECONCILING possible
  capture: PENDING none
  ship: PENDING none
  tell: PENDING none
  do: start reserve#1 in lane first, until 3600s
  wake: 3600s for deadline of the saga
  queues: reserve since 0s
  desk: auth on reconciliation, attempts-spent since 2.1s, attempts 3, effect possible, unknown (timeout)
