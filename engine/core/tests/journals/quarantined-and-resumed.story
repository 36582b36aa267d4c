0s     saga started
0s     check#1 started (Ready)
0s     check#1 succeeded: "check"
0s     reserve#1 started (Ready)
0s     reserve#1 persistent (credential) → quarantine, persistent
60s    reserve resumed: 3 attempts, until 86460s
60s    answered op1, Resume: accepted
60s    reserve#2 started (Ready)
60s    reserve#2 succeeded: "reserve"
60s    auth#1 started (Ready)
60s    auth#1 succeeded: "auth"
60s    capture#1 started (Ready)
60s    capture#1 succeeded: "capture"
60s    ship#1 started (Ready)
60s    ship#1 succeeded: "ship"
60s    tell#1 started (Ready)
60s    tell#1 succeeded: "tell"
60s    completed
= COMPLETED
  check: SUCCEEDED none
  reserve: SUCCEEDED applied
  auth: SUCCEEDED applied
  capture: SUCCEEDED applied
  ship: SUCCEEDED applied
  tell: SUCCEEDED applied
