0s     saga started
0s     z#1 started (Ready)
0s     z#1 succeeded: "z"
0s     a#1 started (Ready)
0s     a#1 took effect in part → done
0s     turned back: a in part
0s     undo:a#1 started (Ready)
0s     undo:a#1 took effect in part → quarantine, partial
0s     undo:a accepted by a person with "Undone"
0s     answered op1, Accept: accepted
0s     undo:z#1 started (Ready)
0s     undo:z#1 succeeded: "Undone"
0s     compensated
= COMPENSATED (a in part)
  z: SUCCEEDED applied · undo SUCCEEDED applied
  a: PARTIAL partial · undo SUCCEEDED applied
  b: SKIPPED none
