0s     saga started
0s     check#1 started (Ready)
0s     check#1 succeeded: "check"
1s     auth#1 started (Ready)
1s     reserve#1 started (Ready)
1s     reserve#1 succeeded: "reserve"
2s     auth#1 succeeded: "auth"
2s     capture#1 started (Ready)
2s     capture#1 succeeded: "capture"
2s     ship#1 started (Ready)
2s     ship#1 succeeded: "ship"
3s     tell#1 started (Ready)
3s     tell#1 succeeded: "tell"
3s     completed
= COMPLETED
  check: SUCCEEDED none
  reserve: SUCCEEDED applied
  auth: SUCCEEDED applied
  capture: SUCCEEDED applied
  ship: SUCCEEDED applied
  tell: SUCCEEDED applied
