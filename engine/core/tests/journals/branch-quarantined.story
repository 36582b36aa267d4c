0s     saga started
0s     a#1 started (Ready)
0s     a#1 succeeded: "a"
0s     b persistent (condition) → quarantine, input
60s    b resumed: 3 attempts, until 86460s
60s    answered op1, Resume: accepted
60s    branch side: no
60s    d#1 started (Ready)
60s    d#1 succeeded: "d"
60s    p#1 started (Ready)
60s    p#1 succeeded: "p"
= RUNNING
  a: SUCCEEDED applied
  b: SKIPPED none
  c: SKIPPED none
  d: SUCCEEDED applied
  p: SUCCEEDED applied
  e: PENDING none
  f: PENDING none
  do: decide told
