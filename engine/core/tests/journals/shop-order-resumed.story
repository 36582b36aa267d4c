0s     saga started
0s     reserve-stock#1 started (Ready)
0s     authorize-payment#1 started (Ready)
0.024s reserve-stock#1 succeeded: {"id":"res-b3b1ea2ace6a5a7d"}
0.063s authorize-payment#1 succeeded: {"id":"auth-d2032a0243055b1e","amount":{"minor":7900,"currency":"GBP"}}
0.063s capture-payment#1 started (Ready)
0.165s capture-payment#1 succeeded: {"id":"cap-ed07e75489ec54d6","amount":{"minor":7900,"currency":"GBP"}}
0.165s ship-parcel#1 started (Ready)
0.172s ship-parcel#1 persistent (bad_credential) → quarantine, persistent
0.259s ship-parcel resumed: 10 attempts, until 28836580.455s
0.259s answered orders.jsonl:101, Resume: accepted
0.259s ship-parcel#2 started (Ready)
0.366s ship-parcel#2 succeeded: {"tracking":"parcel-79ef41d6dde65472"}
0.366s notify-customer#1 started (Ready)
0.512s notify-customer#1 succeeded: {"message":"notice-297487990e2e5227"}
0.512s completed
= COMPLETED
  reserve-stock: SUCCEEDED applied
  authorize-payment: SUCCEEDED applied
  capture-payment: SUCCEEDED applied
  ship-parcel: SUCCEEDED applied
  notify-customer: SUCCEEDED applied
