0s     saga started
0s     check#1 started (Ready)
0s     check#1 withdrawn
0s     claimed
0s     check#1 started (Ready)
0s     check#1 succeeded: "check"
= RUNNING
  check: SUCCEEDED none
  reserve: READY none
  auth: READY none
  capture: PENDING none
  ship: PENDING none
  tell: PENDING none
  do: start reserve#1 in lane first, until 3600s
  do: start auth#1 in lane first, until 3600s
  wake: 3600s for deadline of the saga
  queues: reserve since 0s
  queues: auth since 0s
