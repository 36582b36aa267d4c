0s     saga started
0s     check#1 started (Ready)
0s     check#1 succeeded: "check"
0s     reserve#1 started (Ready)
0s     reserve#1 not yet (accepted) → desk, not-yet
0s     auth#1 started (Ready)
0s     auth#1 not yet (mismatch) → desk, not-yet
= RUNNING
  check: SUCCEEDED none
  reserve: RECONCILING possible
  auth: RECONCILING possible
  capture: PENDING none
  ship: PENDING none
  tell: PENDING none
  wake: 3600s for deadline of the saga
  desk: reserve on reconciliation, not-yet since 0s, attempts 1, effect possible, not yet (accepted)
  desk: auth on reconciliation, not-yet since 0s, attempts 1, effect possible, not yet (mismatch)
