0s     saga started
0s     reserve-stock#1 started (Ready)
0s     authorize-payment#1 started (Ready)
0.043s reserve-stock#1 succeeded: {"id":"res-8828ba3672ed55ab"}
0.096s authorize-payment#1 succeeded: {"id":"auth-5c5f0eae4e9358b6","amount":{"minor":3590,"currency":"USD"}}
0.096s capture-payment#1 started (Ready)
0.135s capture-payment#1 succeeded: {"id":"cap-fb2030c79898534e","amount":{"minor":3590,"currency":"USD"}}
0.135s ship-parcel#1 started (Ready)
0.289s ship-parcel#1 succeeded: {"tracking":"parcel-844694518e2b5d86"}
0.289s notify-customer#1 started (Ready)
0.412s notify-customer#1 succeeded: {"message":"notice-ecc9aab24ad45e7c"}
0.412s completed
= COMPLETED
  reserve-stock: SUCCEEDED applied
  authorize-payment: SUCCEEDED applied
  capture-payment: SUCCEEDED applied
  ship-parcel: SUCCEEDED applied
  notify-customer: SUCCEEDED applied
