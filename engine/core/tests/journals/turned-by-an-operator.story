0s     saga started
0s     z#1 started (Ready)
0s     z#1 succeeded: "z"
0s     turned back: turned by ann
0s     answered op1, TurnBack: accepted
0s     undo:z#1 started (Ready)
0s     undo:z#1 transient (busy) → retry at 0.782s
0s     undo:z hurried by a person
0s     answered op2, RetryNow: accepted
0s     undo:z#2 started (Ordered)
0s     undo:z#2 succeeded: "Undone"
0s     compensated
= COMPENSATED (turned by ann)
  z: SUCCEEDED applied · undo SUCCEEDED applied
  a: SKIPPED none
  b: SKIPPED none
