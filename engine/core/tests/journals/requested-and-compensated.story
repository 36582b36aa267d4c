0s     saga started
0s     a#1 started (Ready)
0s     a#1 succeeded: "a"
0s     p#1 started (Ready)
0s     p#1 succeeded: "p"
0s     m1:a requested by ann
0s     answered op1, Compensate: pending
0s     a/manual:00000000-0000-0000-0000-000000000001 denied by bob
0s     answered op1, Compensate: denied by bob: she has one
0s     answered op2, Deny: accepted
0s     m2:a requested by ann
0s     answered op3, Compensate: pending
0s     a/manual:00000000-0000-0000-0000-000000000002 approved by bob
0s     answered op3, Compensate: accepted
0s     answered op4, Approve: accepted
0s     m2:a#1 started (Ready)
0s     m2:a#1 unknown (timeout) → query at 0s
0s     m2:a query 1 started
0s     m2:a query 1 found applied "Undone" → done
0s     r#1 started (Ready)
0s     r#1 succeeded: "r"
0s     t#1 started (Ready)
0s     t#1 succeeded: "t"
0s     completed
= COMPLETED
  a: SUCCEEDED applied · m1:a PENDING none · m2:a SUCCEEDED applied
  p: SUCCEEDED applied
  r: SUCCEEDED applied
  t: SUCCEEDED applied
