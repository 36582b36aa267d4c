0s     saga started
0s     check#1 started (Ready)
0s     check#1 succeeded: "check"
0s     reserve persistent (input) → quarantine, input
= RUNNING
  check: SUCCEEDED none
  reserve: QUARANTINED none
  auth: READY none
  capture: PENDING none
  ship: PENDING none
  tell: PENDING none
  do: start auth#1 in lane first, until 3600s
  wake: 3600s for deadline of the saga
  queues: auth since 0s
  desk: reserve on quarantine, input since 0s, attempts 0, effect none, persistent (input)
