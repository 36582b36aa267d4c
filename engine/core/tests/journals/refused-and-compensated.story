0s     saga started
0s     a#1 started (Ready) with {"n":1}
0s     a#1 succeeded: "a"
0s     b#1 started (Ready)
0s     c#1 started (Ready)
1s     b#1 refused: "no" → reject
1s     turned back: b refused
2s     c#1 succeeded: "c"
2s     undo:c#1 started (Ready)
2s     undo:c#1 succeeded: "Undone"
2s     undo:a#1 started (Ready)
2s     undo:a#1 succeeded: "Undone"
2s     compensated
= COMPENSATED (b refused)
  a: SUCCEEDED applied · undo SUCCEEDED applied
  b: TERMINAL_REJECTED none
  c: SUCCEEDED applied · undo SUCCEEDED applied
