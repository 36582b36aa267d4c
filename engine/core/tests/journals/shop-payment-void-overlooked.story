0s     saga started
0s     check-fraud#1 started (Ready)
0s     check-limit#1 started (Ready)
0.07s  check-limit#1 succeeded: {"limit":{"minor":100000,"currency":"EUR"}}
0.098s check-fraud#1 succeeded: {"score":36}
0.098s authorise#1 started (Ready)
0.192s authorise#1 unknown (reply_lost) → query at 28857253.374s
0.238s authorise query 1 started
0.492s authorise query 1 found unclear (state `weird`) → query at 28857253.676s
0.542s authorise query 2 started
0.855s authorise query 2 found unclear (state `weird`) → query at 28857254.107s
0.929s authorise query 3 started, to fence through 1
1.014s authorise query 3 found unclear (state `weird`) → query at 28857254.335s
1.153s authorise query 4 started, to fence through 1
1.155s authorise query 4 found unclear (state `weird`) → query at 28857254.515s
1.334s authorise query 5 started, to fence through 1
1.336s authorise query 5 found unclear (state `weird`) → query at 28857254.813s
1.653s authorise query 6 started, to fence through 1
1.754s authorise query 6 found unclear (state `weird`) → query at 28857255.299s
2.137s authorise query 7 started, to fence through 1
2.203s authorise query 7 found unclear (state `weird`) → query at 28857255.613s
2.454s authorise query 8 started, to fence through 1
2.495s authorise query 8 found unclear (state `weird`) → query at 28857255.995s
2.814s authorise query 9 started, to fence through 1
2.828s authorise query 9 found unclear (state `weird`) → query at 28857256.137s
2.96s  authorise query 10 started, to fence through 1
2.966s authorise query 10 found unclear (state `weird`) → query at 28857256.392s
3.235s authorise query 11 started, to fence through 1
3.304s authorise query 11 found unclear (state `weird`) → query at 28857256.492s
3.317s authorise query 12 started, to fence through 1
3.322s authorise query 12 found unclear (state `weird`) → query at 28857256.889s
3.711s authorise query 13 started, to fence through 1
3.722s authorise query 13 found unclear (state `weird`) → query at 28857257.047s
3.877s authorise query 14 started, to fence through 1
4.293s authorise query 14 found unclear (state `weird`) → query at 28857257.867s
4.753s authorise query 15 started, to fence through 1
4.769s authorise query 15 found unclear (state `weird`) → desk, queries-spent
4.974s turned back: cancelled by operator
4.974s answered orders.jsonl:394, Cancel: accepted
4.974s undo:authorise#1 started (Ready)
4.986s undo:authorise#1 succeeded: "NothingToUndo"
4.986s compensated
5.354s claimed
5.354s dispute of authorise#1: applied {"id": "the hold of P-2063", "amount": {"minor": 9100, "currency": "EUR"}} (it took effect, and that is not what is recorded)
5.354s authorise query 16 started, to fence through 1
5.359s authorise query 16 found applied {"id":"auth-eec1ff4fcba25760","amount":{"minor":9100,"currency":"EUR"}} → desk, contradiction
5.871s claimed
5.871s m302240678275694148460643:authorise requested by operator, approved by policy holds below 100 EUR
5.871s answered orders.jsonl:396, Compensate: accepted
5.871s m302240678275694148460643:authorise#1 started (Ready)
5.882s m302240678275694148460643:authorise#1 succeeded: "Undone"
= COMPENSATED (cancelled by operator)
  check-fraud: SUCCEEDED none
  check-limit: SUCCEEDED none
  authorise: SKIPPED none · undo SUCCEEDED none · m302240678275694148460643:authorise SUCCEEDED applied
  capture-payment: SKIPPED none
  settle: SKIPPED none
  send-receipt: SKIPPED none
  print-receipt: SKIPPED none
