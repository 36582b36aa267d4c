0s     saga started
0s     z#1 started (Ready)
0s     z#1 succeeded: "z"
0s     a#1 started (Ready)
0s     a#1 refused: "no" → reject
0s     turned back: a refused
0s     undo:z#1 started (Ready)
0s     undo:z#1 succeeded: "Undone"
0s     compensated
0s     dispute of a#1: applied "a" (it took effect, and that is not what is recorded)
0s     a query 1 started, to fence through 1
0s     a query 1 found applied "a" → stay
0s     dispute of a settled: applied "a"
0s     undo:a#1 started (Ready)
0s     undo:a#1 succeeded: "Undone"
0s     dispute of undo:a#1: unclear (transient: busy) (it had no effect, and an effect is recorded)
0s     undo:a query 1 started
0s     undo:a query 1 found applied "Undone" → stay
0s     dispute of undo:a settled: applied "Undone"
= COMPENSATED (a refused)
  z: SUCCEEDED applied · undo SUCCEEDED applied
  a: SUCCEEDED applied · undo SUCCEEDED applied
  b: SKIPPED none
