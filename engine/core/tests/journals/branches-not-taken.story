0s     saga started
0s     a#1 started (Ready)
0s     a#1 succeeded: "a"
0s     branch side: no
0s     claimed
0s     d#1 started (Ready)
1s     d#1 refused: "no" → reject
1s     turned back: d refused
1s     undo:a#1 started (Ready)
1s     undo:a#1 succeeded: "Undone"
1s     compensated
= COMPENSATED (d refused)
  a: SUCCEEDED applied · undo SUCCEEDED applied
  b: SKIPPED none
  c: SKIPPED none
  d: TERMINAL_REJECTED none
  p: SKIPPED none
  e: SKIPPED none
  f: SKIPPED none
