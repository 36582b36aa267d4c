0s     saga started
0s     a#1 started (Ready)
0s     a#1 unknown (timeout) → query at 0s
0s     a kept until 60s
0s     answered op1, Keep: accepted
0s     a to be sent again
0s     answered op2, SendAgain: accepted
0s     a#2 started (Ordered)
0s     a#2 unknown (timeout) → query at 0s
0s     a found by a person: absent → quarantine, attempts-spent
0s     answered op3, Found: accepted
0s     a resumed: 2 attempts, until 86400s
0s     answered op4, Resume: accepted
0s     a#3 started (Ready)
0s     a#3 succeeded: "a"
0s     p#1 started (Ready)
0s     p#1 persistent (credential) → quarantine, persistent
0s     p rejected by a person
0s     turned back: turned by ann
0s     answered op5, Reject: accepted
0s     undo:a#1 started (Ready)
0s     undo:a#1 succeeded: "Undone"
0s     compensated
= COMPENSATED (turned by ann)
  a: SUCCEEDED applied · undo SUCCEEDED applied
  p: TERMINAL_REJECTED none
  r: SKIPPED none
  t: SKIPPED none
