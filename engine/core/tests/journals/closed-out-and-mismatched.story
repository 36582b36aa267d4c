0s     saga started
0s     z#1 started (Ready)
0s     z#1 fenced through 1 → quarantine, fenced
0s     z resumed: 3 attempts, until 86400s
0s     answered op1, Resume: accepted
0s     z#2 started (Ready)
0s     z#2 mismatch: unknown (mismatch)
0s     z hurried by a person
0s     answered op2, RetryNow: accepted
0s     z query 1 started
0s     z query 1 found applied "z" → done
= RUNNING
  z: SUCCEEDED applied
  a: READY none
  b: PENDING none
  do: start a#1 in lane first, until 86400s
  wake: 86400s for deadline of a
  queues: a since 0s
