0s     saga started
0s     a#1 started (Ready)
0s     a#1 succeeded: "a"
0s     b#1 started (Ready)
0s     b#1 refused: "no" → reject
0s     turned back: b refused
0s     undo:a#1 started (Ready)
0s     undo:a#1 transient (busy) → retry at 0s
0s     undo:a#2 started (Retry)
0s     undo:a#2 transient (busy) → quarantine, attempts-spent
60s    undo:a resumed: 2 attempts, until 86460s
60s    answered op1, Resume: accepted
60s    undo:a#3 started (Ready)
60s    undo:a#3 succeeded: "Undone"
60s    compensated
= COMPENSATED (b refused)
  a: SUCCEEDED applied · undo SUCCEEDED applied
  b: TERMINAL_REJECTED none
  c: SKIPPED none
