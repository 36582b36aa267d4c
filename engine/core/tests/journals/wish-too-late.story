0s     saga started
0s     check#1 started (Ready)
0s     check#1 succeeded: "check"
0s     auth#1 started (Ready)
0s     auth#1 succeeded: "auth"
0s     reserve#1 started (Ready)
0s     reserve#1 succeeded: "reserve"
0s     capture#1 started (Ready)
0s     wish of op1: cancelled by ann
0s     answered op1, Cancel: pending
0s     capture#1 unknown (timeout) → query at 0.245s
0.245s capture query 1 started, to fence through 1
0.245s capture query 1 found applied "capture" → done
0.245s answered op1, Cancel: too late
0.245s ship#1 started (Ready)
0.245s ship#1 succeeded: "ship"
0.245s tell#1 started (Ready)
0.245s tell#1 succeeded: "tell"
0.245s completed
= COMPLETED
  check: SUCCEEDED none
  reserve: SUCCEEDED applied
  auth: SUCCEEDED applied
  capture: SUCCEEDED applied
  ship: SUCCEEDED applied
  tell: SUCCEEDED applied
