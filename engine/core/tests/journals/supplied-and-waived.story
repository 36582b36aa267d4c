0s     saga started
0s     a#1 started (Ready)
0s     a#1 succeeded: omitted (too large)
0s     p persistent (input) → quarantine, input
0s     a supplied: "it"
0s     answered op1, Supply: accepted
0s     p#1 started (Ready)
0s     p#1 succeeded: "p"
0s     r#1 started (Ready)
0s     r#1 persistent (credential) → quarantine, persistent
0s     r waived
0s     answered op2, Waive: accepted
0s     t#1 started (Ready)
0s     t#1 succeeded: "t"
0s     completed
= COMPLETED
  a: SUCCEEDED applied
  p: SUCCEEDED applied
  r: SKIPPED none
  t: SUCCEEDED applied
