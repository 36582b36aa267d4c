0s     saga started
0s     check-fraud#1 started (Ready)
0s     check-limit#1 started (Ready)
0.076s check-limit#1 succeeded: {"limit":{"minor":100000,"currency":"EUR"}}
0.102s check-fraud#1 succeeded: {"score":22}
0.102s authorise#1 started (Ready)
0.199s authorise#1 refused: {"reason":"insufficient_funds"} → reject
0.199s turned back: authorise refused
0.199s compensated
0.838s claimed
0.838s dispute of authorise#1: applied {"id": "the hold of P-2062", "amount": {"minor": 7400, "currency": "EUR"}} (it took effect, and that is not what is recorded)
0.838s authorise query 1 started, to fence through 1
0.936s authorise query 1 found applied {"id":"auth-9c9abe30aa265b43","amount":{"minor":7400,"currency":"EUR"}} → stay
0.936s dispute of authorise settled: applied {"id":"auth-9c9abe30aa265b43","amount":{"minor":7400,"currency":"EUR"}}
0.936s undo:authorise#1 started (Ready)
1.048s undo:authorise#1 succeeded: "Undone"
= COMPENSATED (authorise refused)
  check-fraud: SUCCEEDED none
  check-limit: SUCCEEDED none
  authorise: SUCCEEDED applied · undo SUCCEEDED applied
  capture-payment: SKIPPED none
  settle: SKIPPED none
  send-receipt: SKIPPED none
  print-receipt: SKIPPED none
