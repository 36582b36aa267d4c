0s     saga started
0s     reserve-stock#1 started (Ready)
0s     authorize-payment#1 started (Ready)
0.096s authorize-payment#1 succeeded: {"id":"auth-30d7aa0bbc7d5442","amount":{"minor":12100,"currency":"EUR"}}
0.098s reserve-stock#1 succeeded: {"id":"res-027e2b50fbc9523a"}
0.098s capture-payment#1 started (Ready)
0.149s capture-payment#1 took effect in part → quarantine, partial
= RUNNING
  reserve-stock: SUCCEEDED applied
  authorize-payment: SUCCEEDED applied
  capture-payment: QUARANTINED partial
  ship-parcel: PENDING none
  notify-customer: PENDING none
  desk: capture-payment on quarantine, partial since 28845842.627s, attempts 1, effect partial
