0s     saga started
0s     check#1 started (Ready)
0s     check#1 succeeded: "check"
0s     auth#1 started (Ready)
0s     auth#1 succeeded: "auth"
0s     turned back: cancelled by ann
0s     answered op1, Cancel: accepted
0s     undo:auth#1 started (Ready)
30s    undo:auth#1 unknown (timeout) → query at 30.159s
30.159s undo:auth query 1 started
30.159s undo:auth query 1 found applied "Undone" → done
30.159s compensated
= COMPENSATED (cancelled by ann)
  check: SUCCEEDED none
  reserve: SKIPPED none
  auth: SUCCEEDED applied · undo SUCCEEDED applied
  capture: SKIPPED none
  ship: SKIPPED none
  tell: SKIPPED none
