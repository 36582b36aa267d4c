0s     saga started
0s     reserve-stock#1 started (Ready)
0s     authorize-payment#1 started (Ready)
0.02s  reserve-stock#1 succeeded: "3 pieces"
0.02s  turned back: cancelled by operator
0.02s  answered operation-1, Cancel: accepted
0.02s  undo:reserve-stock#1 started (Ready)
0.04s  undo:reserve-stock#1 succeeded: "Undone"
0.05s  authorize-payment#1 succeeded: "15 EUR"
0.05s  undo:authorize-payment#1 started (Ready)
0.1s   undo:authorize-payment#1 succeeded: "Undone"
0.1s   compensated
= COMPENSATED (cancelled by operator)
  reserve-stock: SUCCEEDED applied · undo SUCCEEDED applied
  authorize-payment: SUCCEEDED applied · undo SUCCEEDED applied
  capture-payment: SKIPPED none
  ship-parcel: SKIPPED none
