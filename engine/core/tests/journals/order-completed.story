0s     saga started
0s     reserve-stock#1 started (Ready)
0s     authorize-payment#1 started (Ready)
0.02s  reserve-stock#1 succeeded: "3 pieces"
0.05s  authorize-payment#1 succeeded: "15 EUR"
0.05s  capture-payment#1 started (Ready)
0.08s  capture-payment#1 succeeded: 15
0.08s  ship-parcel#1 started (Ready)
0.15s  ship-parcel#1 succeeded: "parcel for 15 EUR"
0.15s  completed
= COMPLETED
  reserve-stock: SUCCEEDED applied
  authorize-payment: SUCCEEDED applied
  capture-payment: SUCCEEDED applied
  ship-parcel: SUCCEEDED applied
