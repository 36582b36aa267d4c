0s     saga started
0s     check#1 started (Ready)
0s     auth#1 started (Ready)
0s     claimed
0s     check unknown (executor-died) → retry at 0.004s
0s     auth unknown (executor-died) → repeat at 0.482s
0.004s check#2 started (Retry)
0.004s check#2 succeeded: "check"
0.004s reserve#1 started (Ready)
0.004s claimed
0.004s reserve unknown (executor-died) → query at 0.496s
0.482s auth#2 started (Repeat)
0.496s reserve query 1 started
20s    claimed
20s    reserve unknown (executor-died) → query at 20.123s
20s    auth unknown (executor-died) → repeat at 21.618s
= RUNNING
  check: SUCCEEDED none
  reserve: RECONCILING possible
  auth: RECONCILING possible
  capture: PENDING none
  ship: PENDING none
  tell: PENDING none
  wake: 20.123s for query reserve
