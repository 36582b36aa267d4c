0s     saga started
0s     a#1 started (Ready)
0s     a#1 succeeded: "a"
5s     turned back: cancelled by ann
5s     answered op1, Cancel: accepted
5s     answered op2, Cancel: already
5s     undo:a#1 started (Ready)
5s     undo:a#1 succeeded: "Undone"
5s     compensated
5s     answered op3, Cancel: already
= COMPENSATED (cancelled by ann)
  a: SUCCEEDED applied · undo SUCCEEDED applied
  b: SKIPPED none
  c: SKIPPED none
