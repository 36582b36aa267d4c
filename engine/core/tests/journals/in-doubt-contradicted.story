0s     saga started
0s     z#1 started (Ready)
0s     z#1 succeeded: "z"
0s     a#1 started (Ready)
0s     a#1 succeeded: "a"
0s     b#1 started (Ready)
0s     b#1 unknown (timeout) → repeat at 0s
0s     turned back: cancelled by ann
0s     answered op1, Cancel: accepted
0s     undo:b#1 started (Ready)
0s     b#1 succeeded: "b"
0s     undo:b#1 succeeded: "NothingToUndo"
0s     dispute of b#?: unclear (its compensation found nothing to undo) (it succeeded, and its compensation found nothing to undo)
0s     b found by a person: absent → stay
0s     dispute of b settled: absent
0s     answered op2, Found: accepted
= COMPENSATING (cancelled by ann)
  z: SUCCEEDED applied
  a: SUCCEEDED applied · undo READY none
  b: SUCCEEDED none · undo SUCCEEDED none
  do: start undo:a#1 in lane compensation, until 86400s
  wake: 86400s for deadline of undo:a
  queues: undo:a since 0s
