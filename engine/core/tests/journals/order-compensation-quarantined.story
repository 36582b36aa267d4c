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
0.05s  undo:reserve-stock#1 persistent (forbidden) → quarantine, persistent
0.1s   undo:authorize-payment#1 succeeded: "Undone"
= COMPENSATING (capture-payment refused)
  reserve-stock: SUCCEEDED applied · undo QUARANTINED none
  authorize-payment: SUCCEEDED applied · undo SUCCEEDED applied
  capture-payment: TERMINAL_REJECTED none
  ship-parcel: SKIPPED none
  desk: undo:reserve-stock on quarantine, persistent since 0.05s, attempts 1, effect none, persistent (forbidden)
