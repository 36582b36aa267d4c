0s     saga started
0s     z#1 started (Ready)
0s     paused
0s     answered op1, Pause: accepted
0s     z#1 transient (busy) → retry at 0.594s
60s    claimed
60s    turned back: cancelled by ann
60s    answered op2, Cancel: accepted
60s    compensated
60s    unpaused
60s    answered op3, Unpause: accepted
= COMPENSATED (cancelled by ann)
  z: SKIPPED none
  a: SKIPPED none
  b: SKIPPED none
