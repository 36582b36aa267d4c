0s     saga started
0s     a#1 started (Ready)
0s     a#1 succeeded: "a"
0s     p#1 started (Ready)
0s     p#1 unknown (timeout) → query at 0s
0s     ann asks to close it, naming [p]
0s     answered op2, Close: pending
0s     op2 denied by bob
0s     answered op2, Close: denied by bob: she has one
0s     answered op3, Deny: accepted
0s     ann asks to close it, naming [p]
0s     answered op4, Close: pending
0s     item `` assigned to zoe
0s     answered op5, Assign: accepted
0s     closed, approved by bob, effects in place [a, p]
0s     answered op4, Close: accepted
0s     answered op6, Approve: accepted
0s     dispute of p#1: applied "p" (the saga was closed while this was open)
0s     p accepted by a person with "it"
0s     dispute of p settled: applied "it"
0s     answered op7, Accept: accepted
= CLOSED
  a: SUCCEEDED applied
  p: RECONCILING possible
  r: PENDING none
  t: PENDING none
