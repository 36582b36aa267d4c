0s     saga started
0s     a#1 started (Ready)
0s     a#1 succeeded: "a"
0s     b#1 started (Ready)
0s     b#1 unknown (timeout) → query at 0s
0s     turned back: cancelled by ann
0s     answered op1, Cancel: accepted
0s     b query 1 started, to fence through 1
0s     b query 1 found unclear (status=weird) → query at 0s
0s     b query 2 started, to fence through 1
0s     b query 2 failed: unknown (timeout) → desk, queries-spent
0s     undo:b#1 started (Ready)
0s     undo:b#1 succeeded: "NothingToUndo"
0s     undo:a#1 started (Ready)
0s     undo:a#1 succeeded: "Undone"
0s     compensated
= COMPENSATED (cancelled by ann)
  a: SUCCEEDED applied · undo SUCCEEDED applied
  b: SKIPPED none · undo SUCCEEDED none
  c: SKIPPED none
