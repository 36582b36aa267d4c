0s     saga started
0s     reserve-stock#1 started (Ready)
0s     authorize-payment#1 started (Ready)
0.02s  reserve-stock#1 succeeded: {"id":"res-f0838cf3ebd65336"}
0.021s authorize-payment#1 succeeded: {"id":"auth-7b703bd287125424","amount":{"minor":1490,"currency":"EUR"}}
0.021s capture-payment#1 started (Ready)
0.044s capture-payment#1 succeeded: {"id":"cap-ea4fe938ff7553d6","amount":{"minor":1490,"currency":"EUR"}}
0.044s ship-parcel#1 started (Ready)
0.062s ship-parcel#1 fenced through 1 → quarantine, fenced
0.082s ship-parcel resumed: 10 attempts, until 28847570.749s
0.082s answered orders.jsonl:345, Resume: accepted
0.082s ship-parcel#2 started (Ready)
0.087s ship-parcel#2 succeeded: {"tracking":"parcel-0968376230a058ce"}
0.087s notify-customer#1 started (Ready)
0.093s notify-customer#1 succeeded: {"message":"notice-7afb3db799095de1"}
0.093s completed
= COMPLETED
  reserve-stock: SUCCEEDED applied
  authorize-payment: SUCCEEDED applied
  capture-payment: SUCCEEDED applied
  ship-parcel: SUCCEEDED applied
  notify-customer: SUCCEEDED applied
