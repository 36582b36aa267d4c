0s     saga started
0s     a#1 started (Ready)
0s     a#1 succeeded: "a"
0s     branch side: yes
0s     b#1 started (Ready)
0s     b#1 succeeded: "b"
0s     branch inner: yes
0s     c#1 started (Ready)
0s     c#1 succeeded: "c"
0s     p#1 started (Ready)
0s     p#1 succeeded: "p"
0s     branch told: no
0s     f#1 started (Ready)
0s     f#1 succeeded: "f"
0s     completed
= COMPLETED
  a: SUCCEEDED applied
  b: SUCCEEDED applied
  c: SUCCEEDED applied
  d: SKIPPED none
  p: SUCCEEDED applied
  e: SKIPPED none
  f: SUCCEEDED applied
