0s     saga started
0s     check#1 started (Ready)
0s     check#1 succeeded: "check"
0s     auth#1 started (Ready)
0s     auth#1 succeeded: "auth"
0s     reserve#1 started (Ready)
0s     reserve#1 succeeded: "reserve"
0s     capture#1 started (Ready)
0s     capture#1 succeeded: "capture"
3600s  late
3600s  ship#1 started (Ready)
3600s  ship#1 succeeded: "ship"
3600s  tell#1 started (Ready)
3600s  tell#1 succeeded: "tell"
3600s  completed
= COMPLETED, late
  check: SUCCEEDED none
  reserve: SUCCEEDED applied
  auth: SUCCEEDED applied
  capture: SUCCEEDED applied
  ship: SUCCEEDED applied
  tell: SUCCEEDED applied
