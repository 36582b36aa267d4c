0s     saga started
0s     reserve-stock#1 started (Ready)
0s     authorize-payment#1 started (Ready)
0s     reserve-stock#1 transient (unavailable) → retry at 0.467s
0.05s  authorize-payment#1 succeeded: "15 EUR"
0.468s reserve-stock#2 started (Retry)
0.488s reserve-stock#2 succeeded: "3 pieces"
0.488s capture-payment#1 started (Ready)
0.518s capture-payment#1 succeeded: 15
0.518s ship-parcel#1 started (Ready)
0.588s ship-parcel#1 succeeded: "parcel for 15 EUR"
0.588s completed
= COMPLETED
  reserve-stock: SUCCEEDED applied
  authorize-payment: SUCCEEDED applied
  capture-payment: SUCCEEDED applied
  ship-parcel: SUCCEEDED applied
