0s     saga started
0s     reserve-stock#1 started (Ready)
0s     authorize-payment#1 started (Ready)
0.02s  reserve-stock#1 succeeded: "3 pieces"
0.05s  authorize-payment#1 succeeded: "15 EUR"
0.05s  capture-payment#1 started (Ready)
0.05s  capture-payment#1 refused: "refused by a fault" → reject
0.05s  turned back: capture-payment refused
0.05s  undo:reserve-stock#1 started (Ready)
0.05s  undo:authorize-payment#1 started (Ready)
0.05s  claimed
0.05s  undo:reserve-stock unknown (executor-died) → query at 0.81s
0.05s  undo:authorize-payment unknown (executor-died) → repeat at 0.459s
0.459s undo:authorize-payment#2 started (Repeat)
0.509s undo:authorize-payment#2 succeeded: "Undone"
0.811s undo:reserve-stock query 1 started
0.811s undo:reserve-stock query 1 found absent → query at 1.736s
1.736s undo:reserve-stock query 2 started
1.736s undo:reserve-stock query 2 found absent → query at 3.99s
3.99s  undo:reserve-stock query 3 started
3.99s  undo:reserve-stock query 3 found absent → query at 9.922s
9.923s undo:reserve-stock query 4 started
9.923s undo:reserve-stock query 4 found absent → query at 10.049s
10.049s undo:reserve-stock query 5 started
10.049s undo:reserve-stock query 5 found absent → query at 26.146s
26.146s undo:reserve-stock query 6 started, to fence through 1
26.146s undo:reserve-stock query 6 found absent → retry at 26.49s
26.49s undo:reserve-stock#2 started (Retry)
26.51s undo:reserve-stock#2 succeeded: "Undone"
26.51s compensated
= COMPENSATED (capture-payment refused)
  reserve-stock: SUCCEEDED applied · undo SUCCEEDED applied
  authorize-payment: SUCCEEDED applied · undo SUCCEEDED applied
  capture-payment: TERMINAL_REJECTED none
  ship-parcel: SKIPPED none
