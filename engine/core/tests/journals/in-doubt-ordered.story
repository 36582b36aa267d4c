0s     saga started
0s     a#1 started (Ready)
0s     a#1 unknown (timeout) → query at 0s
0s     turned back: cancelled by ann
0s     answered op1, Cancel: accepted
0s     a to be compensated in doubt
0s     answered op2, CompensateInDoubt: accepted
0s     undo:a#1 started (Ready)
0s     undo:a#1 succeeded: "Undone"
0s     compensated
= COMPENSATED (cancelled by ann)
  a: SUCCEEDED applied · undo SUCCEEDED applied
  p: SKIPPED none
  r: SKIPPED none
  t: SKIPPED none
