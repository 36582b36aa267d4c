0s     saga started
0s     reserve-stock#1 started (Ready)
0s     authorize-payment#1 started (Ready)
0.101s authorize-payment#1 succeeded: {"id":"auth-172eca61bf085c8b","amount":{"minor":2500,"currency":"EUR"}}
0.103s reserve-stock#1 succeeded: {"id":"res-2ad891d4b4065de1"}
0.103s capture-payment#1 started (Ready)
0.163s capture-payment#1 taken → query at 28845842.602s
0.165s capture-payment query 1 started
0.166s capture-payment query 1 found in progress → query at 28845842.634s
0.197s capture-payment query 2 started
0.198s capture-payment query 2 found in progress → query at 28845842.654s
0.219s capture-payment query 3 started
0.223s capture-payment query 3 found in progress → query at 28845842.914s
0.477s capture-payment query 4 started
0.482s capture-payment query 4 found in progress → query at 28845843.137s
0.713s capture-payment query 5 started
0.722s capture-payment query 5 found applied {"id":"cap-39d9bcb2eb205f4c","amount":{"minor":2500,"currency":"EUR"}} → done
0.722s ship-parcel#1 started (Ready)
0.725s ship-parcel#1 succeeded: {"tracking":"parcel-704f11008a315d52"}
0.725s notify-customer#1 started (Ready)
0.728s notify-customer#1 succeeded: {"message":"notice-999430244cfe517b"}
0.728s completed
= COMPLETED
  reserve-stock: SUCCEEDED applied
  authorize-payment: SUCCEEDED applied
  capture-payment: SUCCEEDED applied
  ship-parcel: SUCCEEDED applied
  notify-customer: SUCCEEDED applied
