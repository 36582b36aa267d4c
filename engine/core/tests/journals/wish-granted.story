0s     saga started
0s     check#1 started (Ready)
0s     check#1 succeeded: "check"
0s     auth#1 started (Ready)
0s     auth#1 succeeded: "auth"
0s     reserve#1 started (Ready)
0s     reserve#1 succeeded: "reserve"
0s     capture#1 started (Ready)
3600s  wish of time: deadline
3600s  wish of op1: cancelled by ann
3600s  answered op1, Cancel: pending
3600s  capture#1 refused: "no" → reject
3600s  turned back: deadline
3600s  answered op1, Cancel: accepted
3600s  undo:auth#1 started (Ready)
3600s  undo:auth#1 succeeded: "Undone"
3600s  undo:reserve#1 started (Ready)
3600s  undo:reserve#1 succeeded: "Undone"
3600s  compensated
= COMPENSATED (deadline)
  check: SUCCEEDED none
  reserve: SUCCEEDED applied · undo SUCCEEDED applied
  auth: SUCCEEDED applied · undo SUCCEEDED applied
  capture: TERMINAL_REJECTED none
  ship: SKIPPED none
  tell: SKIPPED none
