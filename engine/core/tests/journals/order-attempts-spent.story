0s     saga started
0s     reserve-stock#1 started (Ready)
0s     authorize-payment#1 started (Ready)
0.02s  reserve-stock#1 succeeded: "3 pieces"
0.05s  authorize-payment#1 succeeded: "15 EUR"
0.05s  capture-payment#1 started (Ready)
0.08s  capture-payment#1 succeeded: 15
0.08s  ship-parcel#1 started (Ready)
0.08s  ship-parcel#1 transient (unavailable) → retry at 0.11s
0.11s  ship-parcel#2 started (Retry)
0.11s  ship-parcel#2 transient (unavailable) → retry at 0.91s
0.911s ship-parcel#3 started (Retry)
0.911s ship-parcel#3 transient (unavailable) → retry at 1.582s
1.582s ship-parcel#4 started (Retry)
1.582s ship-parcel#4 transient (unavailable) → retry at 5.233s
5.233s ship-parcel#5 started (Retry)
5.233s ship-parcel#5 transient (unavailable) → quarantine, attempts-spent
= RUNNING
  reserve-stock: SUCCEEDED applied
  authorize-payment: SUCCEEDED applied
  capture-payment: SUCCEEDED applied
  ship-parcel: QUARANTINED none
  desk: ship-parcel on quarantine, attempts-spent since 5.233s, attempts 5, effect none, transient (unavailable)
