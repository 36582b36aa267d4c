0s     saga started
0s     reserve-stock#1 started (Ready)
0s     authorize-payment#1 started (Ready)
0.124s reserve-stock#1 succeeded: {"id":"res-69cb8349672d5071"}
0.131s authorize-payment#1 succeeded: {"id":"auth-c918d0b005c059c5","amount":{"minor":7900,"currency":"EUR"}}
0.131s capture-payment#1 started (Ready)
0.259s capture-payment#1 took effect in part → quarantine, partial
0.444s operator asks to close it, naming [capture-payment]
0.444s answered orders.jsonl:366, Close: pending
1.425s closed, approved by supervisor, effects in place [reserve-stock, authorize-payment, capture-payment]
1.425s answered orders.jsonl:366, Close: accepted
1.425s answered orders.jsonl:367, Approve: accepted
2.304s claimed
2.304s m302240678275694148456993:reserve-stock requested by operator
2.304s answered orders.jsonl:387, Compensate: pending
2.703s claimed
2.703s reserve-stock/manual:00000000-0000-4000-8000-000000001221 approved by supervisor
2.703s answered orders.jsonl:387, Compensate: accepted
2.703s answered orders.jsonl:388, Approve: accepted
2.703s m302240678275694148456993:reserve-stock#1 started (Ready), expects {"reservation":"res-69cb8349672d5071","state":"held"}
2.723s m302240678275694148456993:reserve-stock#1 succeeded: "Undone"
= CLOSED
  reserve-stock: SUCCEEDED applied · m302240678275694148456993:reserve-stock SUCCEEDED applied
  authorize-payment: SUCCEEDED applied
  capture-payment: QUARANTINED partial
  ship-parcel: PENDING none
  notify-customer: PENDING none
