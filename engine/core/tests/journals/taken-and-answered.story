0s     saga started
0s     z#1 started (Ready)
0s     z#1 taken, not before 5s → query at 5s
5s     z query 1 started
5s     z query 1 found in progress → query at 5s
9s     z#1 succeeded: "z"
9s     a#1 started (Ready)
9s     a#1 taken → query at 9s
9s     a#1 transient (busy) → retry at 9.966s
9.966s a#2 started (Retry)
9.966s a#2 succeeded: "a"
9.966s b#1 started (Ready)
9.966s b#1 unknown (timeout) → repeat at 9.966s
9.966s b#1 taken → stay
= RUNNING
  z: SUCCEEDED applied
  a: SUCCEEDED applied
  b: RECONCILING possible
  wake: 86409.966s for deadline of b
  awaits: the reply of b since 9.966s, until 86409.966s
