0s     saga started
0s     check#1 started (Ready)
0s     check#1 succeeded: "check"
0s     auth#1 started (Ready)
0s     auth#1 succeeded: "auth"
0s     reserve#1 started (Ready)
0s     reserve#1 succeeded: "reserve"
0s     capture#1 started (Ready)
0s     capture#1 succeeded: "capture"
0s     ship#1 started (Ready)
0s     ship#1 succeeded: "ship"
0s     tell#1 started (Ready)
30s    tell#1 unknown (timeout) → desk, no-query
60s    tell accepted by a person with "told"
60s    answered op1, Accept: accepted
60s    completed
= COMPLETED
  check: SUCCEEDED none
  reserve: SUCCEEDED applied
  auth: SUCCEEDED applied
  capture: SUCCEEDED applied
  ship: SUCCEEDED applied
  tell: SUCCEEDED applied
