0s     saga started
0s     check-fraud#1 started (Ready)
0s     check-limit#1 started (Ready)
0.024s check-limit#1 succeeded: {"limit":{"minor":100000,"currency":"EUR"}}
0.07s  check-fraud#1 succeeded: {"score":24}
0.07s  authorise#1 started (Ready)
0.164s authorise#1 succeeded: {"id":"auth-04992226f027554b","amount":{"minor":4200,"currency":"EUR"}}
0.164s capture-payment#1 started (Ready)
0.319s capture-payment#1 succeeded: {"id":"cap-c439f16690a95094","amount":{"minor":4200,"currency":"EUR"}}
0.319s branch paperless: yes
0.319s settle#1 started (Ready)
0.441s settle#1 succeeded: {"id":"set-3fdb8c3fe9d458e2","amount":{"minor":4200,"currency":"EUR"}}
0.441s send-receipt#1 started (Ready)
0.766s send-receipt#1 succeeded: {"message":"notice-f5b2a2b4abed5751"}
0.766s completed
= COMPLETED
  check-fraud: SUCCEEDED none
  check-limit: SUCCEEDED none
  authorise: SUCCEEDED applied
  capture-payment: SUCCEEDED applied
  settle: SUCCEEDED applied
  send-receipt: SUCCEEDED applied
  print-receipt: SKIPPED none
