0s     saga started
0s     a#1 started (Ready)
0s     a#1 succeeded: "a"
0s     p#1 started (Ready)
0s     dispute of a#1: refused "no" (it was refused, and an effect is recorded)
0s     a query 1 started
0s     a query 1 found refused "no" → desk, contradiction
0s     wish of time: a contradicted
0s     p#1 refused: "no" → reject
0s     turned back: a contradicted
0s     a found by a person: absent → stay
0s     dispute of a settled: absent
0s     answered op1, Found: accepted
0s     compensated
= COMPENSATED (a contradicted)
  a: SKIPPED none
  p: TERMINAL_REJECTED none
  r: SKIPPED none
  t: SKIPPED none
