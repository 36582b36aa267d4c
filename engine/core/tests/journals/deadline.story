0s     saga started
0s     check#1 started (Ready)
0s     check#1 succeeded: "check"
3600s  turned back: deadline
3600s  compensated
= COMPENSATED (deadline)
  check: SUCCEEDED none
  reserve: SKIPPED none
  auth: SKIPPED none
  capture: SKIPPED none
  ship: SKIPPED none
  tell: SKIPPED none
