0s     saga started
0s     reserve-stock#1 started (Ready)
0s     authorize-payment#1 started (Ready)
0.022s reserve-stock#1 succeeded: {"id":"res-2fa10b454a07513f"}
0.023s authorize-payment#1 refused: {"reason":"insufficient_funds"} → reject
0.023s turned back: authorize-payment refused
0.023s undo:reserve-stock#1 started (Ready)
0.026s undo:reserve-stock#1 is stale: expected nothing, found {"reservation":"res-2fa10b454a07513f","state":"held","now":"packed for the carrier"}
= COMPENSATING (authorize-payment refused)
  reserve-stock: SUCCEEDED applied · undo QUARANTINED none
  authorize-payment: TERMINAL_REJECTED none
  capture-payment: SKIPPED none
  ship-parcel: SKIPPED none
  notify-customer: SKIPPED none
  desk: undo:reserve-stock on approval, stale since 28845842.694s, attempts 1, effect none
