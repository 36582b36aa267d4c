0s     saga started
0s     a#1 started (Ready)
0s     a#1 succeeded: "a"
0s     p#1 started (Ready)
0s     p#1 unknown (timeout) → query at 0s
0s     p query 1 started
0s     p query 1 found partial → quarantine, partial
0s     wish of op1: cancelled by ann
0s     answered op1, Cancel: pending
0s     p found by a person: absent → skip, turned
0s     answered op2, Found: accepted
0s     turned back: cancelled by ann
0s     answered op1, Cancel: accepted
0s     undo:a#1 started (Ready)
0s     undo:a#1 succeeded: "Undone"
0s     compensated
= COMPENSATED (cancelled by ann)
  a: SUCCEEDED applied · undo SUCCEEDED applied
  p: SKIPPED none
  r: SKIPPED none
  t: SKIPPED none
