0s     saga started
0s     z#1 started (Ready)
0s     z#1 succeeded: "z"
0s     a#1 started (Ready)
0s     a#1 succeeded: "a"
0s     dispute of a#1: refused "no" (it was refused, and an effect is recorded)
0s     a query 1 started
0s     a query 1 found refused "no" → stay
0s     dispute of a settled: refused "no"
0s     turned back: a contradicted
0s     undo:z#1 started (Ready)
0s     undo:z#1 succeeded: "Undone"
0s     compensated
= COMPENSATED (a contradicted)
  z: SUCCEEDED applied · undo SUCCEEDED applied
  a: SKIPPED none
  b: SKIPPED none
