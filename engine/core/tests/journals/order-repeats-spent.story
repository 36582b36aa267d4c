0s     saga started
0s     reserve-stock#1 started (Ready)
0s     authorize-payment#1 started (Ready)
0.02s  reserve-stock#1 succeeded: "3 pieces"
0.05s  authorize-payment#1 succeeded: "15 EUR"
0.05s  capture-payment#1 started (Ready)
0.08s  capture-payment#1 succeeded: 15
0.08s  ship-parcel#1 started (Ready)
0.15s  ship-parcel#1 unknown (reply-lost) → repeat at 0.21s
0.21s  ship-parcel#2 started (Repeat)
0.28s  ship-parcel#2 unknown (reply-lost) → repeat at 1.881s
1.881s ship-parcel#3 started (Repeat)
1.951s ship-parcel#3 unknown (reply-lost) → repeat at 3.292s
3.293s ship-parcel#4 started (Repeat)
3.363s ship-parcel#4 unknown (reply-lost) → repeat at 10.665s
10.665s ship-parcel#5 started (Repeat)
10.735s ship-parcel#5 unknown (reply-lost) → desk, attempts-spent
= RUNNING
  reserve-stock: SUCCEEDED applied
  authorize-payment: SUCCEEDED applied
  capture-payment: SUCCEEDED applied
  ship-parcel: RECONCILING possible
  desk: ship-parcel on reconciliation, attempts-spent since 10.735s, attempts 5, effect possible, unknown (reply-lost)
