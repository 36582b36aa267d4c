0s     saga started
0s     reserve-stock#1 started (Ready)
0s     authorize-payment#1 started (Ready)
0.02s  reserve-stock#1 succeeded: "3 pieces"
0.05s  authorize-payment#1 unknown (reply-lost) → repeat at 0.431s
0.432s authorize-payment#2 started (Repeat)
0.482s authorize-payment#2 succeeded: "15 EUR"
0.482s capture-payment#1 started (Ready)
0.512s capture-payment#1 succeeded: 15
0.512s ship-parcel#1 started (Ready)
0.582s ship-parcel#1 succeeded: "parcel for 15 EUR"
0.582s completed
= COMPLETED
  reserve-stock: SUCCEEDED applied
  authorize-payment: SUCCEEDED applied
  capture-payment: SUCCEEDED applied
  ship-parcel: SUCCEEDED applied
