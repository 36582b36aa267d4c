0s     saga started
0s     a#1 started (Ready)
0s     a#1 succeeded: "a"
0s     p#1 started (Ready)
0s     p#1 succeeded: "p"
0s     r#1 started (Ready)
0s     r#1 taken → stay
86400s late
86400s r → desk, deadline-passed
86400s r to be sent again, for they know it
86400s answered op1, SendAgain: accepted
86400s r#2 started (Ordered)
86400s r#2 succeeded: "r"
86400s t#1 started (Ready)
86400s t#1 succeeded: "t"
86400s completed
= COMPLETED, late
  a: SUCCEEDED applied
  p: SUCCEEDED applied
  r: SUCCEEDED applied
  t: SUCCEEDED applied
