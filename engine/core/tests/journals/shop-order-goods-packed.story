0s     saga started
0s     reserve-stock#1 started (Ready)
0s     authorize-payment#1 started (Ready)
0.099s reserve-stock#1 succeeded: {"id":"res-a30830c7b3825809"}
0.142s authorize-payment#1 refused: {"reason":"insufficient_funds"} → reject
0.142s turned back: authorize-payment refused
0.142s undo:reserve-stock#1 started (Ready), expects {"reservation":"res-a30830c7b3825809","state":"held"}
0.432s undo:reserve-stock#1 is stale: expected {"reservation":"res-a30830c7b3825809","state":"held"}, found {"reservation":"res-a30830c7b3825809","state":"packed"}
1.272s reserve-stock/compensation approved by supervisor
1.272s answered orders.jsonl:373, Approve: accepted
1.272s undo:reserve-stock#2 started (Ready)
1.285s undo:reserve-stock#2 succeeded: "Undone"
1.285s compensated
= COMPENSATED (authorize-payment refused)
  reserve-stock: SUCCEEDED applied · undo SUCCEEDED applied
  authorize-payment: TERMINAL_REJECTED none
  capture-payment: SKIPPED none
  ship-parcel: SKIPPED none
  notify-customer: SKIPPED none
