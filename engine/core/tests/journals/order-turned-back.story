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
0.07s  undo:reserve-stock#1 succeeded: "Undone"
0.1s   undo:authorize-payment#1 succeeded: "Undone"
0.1s   compensated
= COMPENSATED (capture-payment refused)
  reserve-stock: SUCCEEDED applied · undo SUCCEEDED applied
  authorize-payment: SUCCEEDED applied · undo SUCCEEDED applied
  capture-payment: TERMINAL_REJECTED none
  ship-parcel: SKIPPED none
