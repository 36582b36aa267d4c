0s     saga started
0s     z#1 started (Ready)
0s     z#1 succeeded: "z"
0s     dispute of z#1: refused "no" (it was refused, and an effect is recorded)
0s     z query 1 started
0s     z query 1 found applied "z" → stay
0s     dispute of z settled: applied "z"
0s     a#1 started (Ready)
0s     a#1 succeeded: "a"
0s     dispute of a#1: refused "no" (it was refused, and an effect is recorded)
0s     a query 1 started
0s     a query 1 failed: unknown (timeout) → desk, contradiction
0s     a accepted by a person with nothing
0s     dispute of a settled: applied omitted (a person gave none)
0s     answered op1, Accept: accepted
0s     news of a#1: applied "a" (it repeats what is recorded)
= RUNNING
  z: SUCCEEDED applied
  a: SUCCEEDED applied
  b: READY none
  do: start b#1 in lane first, until 86400s
  wake: 86400s for deadline of b
  queues: b since 0s
