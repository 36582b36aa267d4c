0s     saga started
0s     check-fraud#1 started (Ready)
0s     check-limit#1 started (Ready)
0.004s check-limit#1 succeeded: {"limit":{"minor":100000,"currency":"EUR"}}
0.008s check-fraud#1 succeeded: {"score":0}
0.008s authorise#1 started (Ready)
0.018s authorise#1 succeeded: {"id":"auth-42d9f56e0a0550e0","amount":{"minor":46150,"currency":"EUR"}}
0.018s capture-payment#1 started (Ready)
0.121s capture-payment#1 succeeded: {"id":"cap-44276694043754df","amount":{"minor":46150,"currency":"EUR"}}
0.121s settle#1 started (Ready)
0.136s settle#1 succeeded: {"id":"set-6ca161e8d1c5545d","amount":{"minor":46150,"currency":"EUR"}}
0.136s print-receipt#1 started (Ready)
0.141s print-receipt#1 unknown (reply_lost) → desk, no-query
= RUNNING
  check-fraud: SUCCEEDED none
  check-limit: SUCCEEDED none
  authorise: SUCCEEDED applied
  capture-payment: SUCCEEDED applied
  settle: SUCCEEDED applied
  print-receipt: RECONCILING possible
  desk: print-receipt on reconciliation, no-query since 28834851.818s, attempts 1, effect possible, unknown (reply_lost)
