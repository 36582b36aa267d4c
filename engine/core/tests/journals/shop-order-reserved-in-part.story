0s     saga started
0s     reserve-stock#1 started (Ready)
0s     authorize-payment#1 started (Ready)
0.096s reserve-stock#1 took effect in part → done
0.096s turned back: reserve-stock in part
0.096s undo:reserve-stock#1 started (Ready)
0.098s authorize-payment#1 succeeded: {"id":"auth-1ee6624e29885e04","amount":{"minor":7600,"currency":"EUR"}}
0.098s undo:authorize-payment#1 started (Ready)
0.158s undo:reserve-stock#1 succeeded: "Undone"
0.16s  undo:authorize-payment#1 succeeded: "Undone"
0.16s  compensated
= COMPENSATED (reserve-stock in part)
  reserve-stock: PARTIAL partial · undo SUCCEEDED applied
  authorize-payment: SUCCEEDED applied · undo SUCCEEDED applied
  capture-payment: SKIPPED none
  ship-parcel: SKIPPED none
  notify-customer: SKIPPED none
