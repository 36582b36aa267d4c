0s     saga started
0s     a#1 started (Ready)
0s     a#1 succeeded: "a"
0s     p#1 started (Ready)
0s     p#1 succeeded: "p"
0s     r#1 started (Ready)
0s     r#1 succeeded: "r"
0s     ann asks to close it, naming []
0s     answered op1, Close: pending
0s     t#1 started (Ready)
0s     t#1 succeeded: "t"
0s     completed
0s     answered op1, Close: too late
= COMPLETED
  a: SUCCEEDED applied
  p: SUCCEEDED applied
  r: SUCCEEDED applied
  t: SUCCEEDED applied
