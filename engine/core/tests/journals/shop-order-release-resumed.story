0s     saga started
0s     reserve-stock#1 started (Ready)
0s     authorize-payment#1 started (Ready)
0.026s authorize-payment#1 refused: {"reason":"insufficient_funds"} → reject
0.026s turned back: authorize-payment refused
0.047s reserve-stock#1 succeeded: {"id":"res-8f47b55dfb635c32"}
0.047s undo:reserve-stock#1 started (Ready)
0.064s undo:reserve-stock#1 persistent (bad_credential) → quarantine, persistent
0.096s undo:reserve-stock resumed: 12 attempts, until 28836587.347s
0.096s answered orders.jsonl:304, Resume: accepted
0.096s undo:reserve-stock#2 started (Ready)
0.118s undo:reserve-stock#2 succeeded: "Undone"
0.118s compensated
= COMPENSATED (authorize-payment refused)
  reserve-stock: SUCCEEDED applied · undo SUCCEEDED applied
  authorize-payment: TERMINAL_REJECTED none
  capture-payment: SKIPPED none
  ship-parcel: SKIPPED none
  notify-customer: SKIPPED none
