0s     saga started
0s     z#1 started (Ready)
0s     z#1 succeeded: "z"
0s     a#1 started (Ready)
0s     a#1 refused: "no" → reject
0s     turned back: a refused
0s     undo:z#1 started (Ready)
0s     undo:z#1 is stale: expected nothing, found {}
0s     z/compensation approved by bob
0s     answered op1, Approve: accepted
0s     undo:z#2 started (Ready)
0s     undo:z#2 is stale: expected {}, found {}
0s     z/compensation denied by bob
0s     answered op2, Deny: accepted
0s     undo:z resumed: 2 attempts, until 86400s
0s     answered op3, Resume: accepted
0s     undo:z#3 started (Ready)
0s     undo:z#3 succeeded: "Undone"
0s     compensated
= COMPENSATED (a refused)
  z: SUCCEEDED applied · undo SUCCEEDED applied
  a: TERMINAL_REJECTED none
  b: SKIPPED none
