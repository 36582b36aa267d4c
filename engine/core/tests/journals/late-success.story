0s     saga started
0s     z#1 started (Ready)
0s     z#1 transient (busy) → retry at 0.594s
0.594s z#2 started (Retry)
0.594s z#1 succeeded: "z"
0.594s news of z#2: unclear (transient: busy) (it speaks of a transmission that is not the one recorded)
0.594s a#1 started (Ready)
0.594s a#1 persistent (credential) → quarantine, persistent
0.594s a#1 succeeded: "a"
0.594s b#1 started (Ready)
0.594s b#1 unknown (timeout) → repeat at 0.594s
0.594s b#2 started (Repeat)
0.594s news of b#1: unclear (unknown: timeout) (another transmission is running or unknown, and decides)
0.594s b#1 refused: "no" → stay
0.594s b#0 succeeded: "b"
= RUNNING
  z: SUCCEEDED applied
  a: SUCCEEDED applied
  b: SUCCEEDED applied
  do: stop b
  runs: b#2 since 0.594s
