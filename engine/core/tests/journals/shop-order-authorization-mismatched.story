0s     saga started
0s     reserve-stock#1 started (Ready)
0s     authorize-payment#1 started (Ready)
0.019s reserve-stock#1 succeeded: {"id":"res-475cb2c576ed59a2"}
0.043s authorize-payment#1 mismatch: unknown (mismatch)
= RUNNING
  reserve-stock: SUCCEEDED applied
  authorize-payment: RECONCILING possible
  capture-payment: PENDING none
  ship-parcel: PENDING none
  notify-customer: PENDING none
  desk: authorize-payment on reconciliation, mismatch since 28845842.708s, attempts 1, effect possible, unknown (mismatch)
