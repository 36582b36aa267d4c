0s     saga started
0s     reserve-stock#1 started (Ready)
0s     authorize-payment#1 started (Ready)
0.004s authorize-payment#1 persistent (bad_credential) → quarantine, persistent
0.088s reserve-stock#1 succeeded: {"id":"res-00480044852d5a85"}
0.112s turned back: cancelled by operator
0.112s answered orders.jsonl:269, Cancel: accepted
0.112s undo:reserve-stock#1 started (Ready)
0.145s undo:reserve-stock#1 succeeded: "Undone"
0.145s compensated
= COMPENSATED (cancelled by operator)
  reserve-stock: SUCCEEDED applied · undo SUCCEEDED applied
  authorize-payment: SKIPPED none
  capture-payment: SKIPPED none
  ship-parcel: SKIPPED none
  notify-customer: SKIPPED none
