0s     saga started
0s     reserve-stock#1 started (Ready)
0s     authorize-payment#1 started (Ready)
0.02s  reserve-stock#1 succeeded: "3 pieces"
0.05s  authorize-payment#1 succeeded: "15 EUR"
0.05s  capture-payment#1 started (Ready)
0.08s  capture-payment#1 unknown (reply-lost) → query at 0.516s
0.516s capture-payment query 1 started
0.516s capture-payment query 1 failed: transient (query-failed) → query at 0.705s
0.706s capture-payment query 2 started
0.706s capture-payment query 2 found applied 15 → done
0.706s ship-parcel#1 started (Ready)
0.776s ship-parcel#1 succeeded: "parcel for 15 EUR"
0.776s completed
= COMPLETED
  reserve-stock: SUCCEEDED applied
  authorize-payment: SUCCEEDED applied
  capture-payment: SUCCEEDED applied
  ship-parcel: SUCCEEDED applied
