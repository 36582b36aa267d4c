0s     saga started
0s     check#1 started (Ready)
0s     check#1 succeeded: "check"
0s     reserve#1 started (Ready)
0s     reserve#1 persistent (credential) → quarantine, persistent
60s    reserve accepted by a person with "by-hand"
60s    answered op1, Accept: accepted
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
