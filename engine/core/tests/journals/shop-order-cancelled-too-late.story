0s     saga started
0s     reserve-stock#1 started (Ready)
0s     authorize-payment#1 started (Ready)
0.037s authorize-payment#1 succeeded: {"id":"auth-f305b0752440542d","amount":{"minor":2980,"currency":"JPY"}}
0.054s reserve-stock#1 succeeded: {"id":"res-fed5b17b71305b94"}
0.054s capture-payment#1 started (Ready)
0.088s capture-payment#1 succeeded: {"id":"cap-f3776d4ebaea5409","amount":{"minor":2980,"currency":"JPY"}}
0.088s ship-parcel#1 started (Ready)
0.109s ship-parcel#1 persistent (bad_credential) → quarantine, persistent
0.178s answered orders.jsonl:322, Cancel: too late
0.271s ship-parcel resumed: 10 attempts, until 28836588.062s
0.271s answered orders.jsonl:334, Resume: accepted
0.271s ship-parcel#2 started (Ready)
0.298s ship-parcel#2 succeeded: {"tracking":"parcel-f3d94a9453eb5710"}
0.298s notify-customer#1 started (Ready)
0.317s notify-customer#1 succeeded: {"message":"notice-bb5f127f05575575"}
0.317s completed
= COMPLETED
  reserve-stock: SUCCEEDED applied
  authorize-payment: SUCCEEDED applied
  capture-payment: SUCCEEDED applied
  ship-parcel: SUCCEEDED applied
  notify-customer: SUCCEEDED applied
