0s     saga started
0s     check-fraud#1 started (Ready)
0s     check-limit#1 started (Ready)
0.053s check-fraud#1 succeeded: {"score":6}
0.096s check-limit#1 succeeded: {"limit":{"minor":100000,"currency":"USD"}}
0.096s authorise#1 started (Ready)
0.141s authorise#1 succeeded: {"id":"auth-69c5fe2f74d158af","amount":{"minor":22400,"currency":"USD"}}
0.141s capture-payment#1 started (Ready)
0.21s  capture-payment#1 succeeded: {"id":"cap-b234c9d31cd35ff1","amount":{"minor":22400,"currency":"USD"}}
0.21s  settle#1 started (Ready)
0.236s settle#1 persistent (bad_credential) → quarantine, persistent
0.273s settle resumed: 8 attempts, until 28836578.647s
0.273s answered orders.jsonl:24, Resume: accepted
0.273s settle#2 started (Ready)
0.306s settle#2 succeeded: {"id":"set-39e1b26261665d87","amount":{"minor":22400,"currency":"USD"}}
0.306s print-receipt#1 started (Ready)
0.341s print-receipt#1 succeeded: {"message":"receipt-0bdce9f7d2f2571d"}
0.341s completed
= COMPLETED
  check-fraud: SUCCEEDED none
  check-limit: SUCCEEDED none
  authorise: SUCCEEDED applied
  capture-payment: SUCCEEDED applied
  settle: SUCCEEDED applied
  print-receipt: SUCCEEDED applied
