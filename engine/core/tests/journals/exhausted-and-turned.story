0s     saga started
0s     a#1 started (Ready)
0s     a#1 succeeded: "a"
0s     b#1 started (Ready)
0s     b#1 transient (busy) → retry at 0s
0s     b#2 started (Retry)
0s     b#2 transient (busy) → turn back, attempts-spent
0s     turned back: b exhausted
0s     undo:a#1 started (Ready)
0s     undo:a#1 succeeded: "Undone"
0s     compensated
= COMPENSATED (b exhausted)
  a: SUCCEEDED applied · undo SUCCEEDED applied
  b: SKIPPED none
  c: SKIPPED none
