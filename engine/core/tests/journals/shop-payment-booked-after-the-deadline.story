0s     saga started
0s     check-fraud#1 started (Ready)
0s     check-limit#1 started (Ready)
0.001s check-limit#1 succeeded: {"limit":{"minor":100000,"currency":"EUR"}}
0.001s check-fraud#1 succeeded: {"score":32}
0.001s authorise#1 started (Ready)
0.098s authorise#1 succeeded: {"id":"auth-57ef4a13ab1b5fb4","amount":{"minor":45000,"currency":"EUR"}}
0.098s capture-payment#1 started (Ready)
0.159s capture-payment#1 succeeded: {"id":"cap-cd0d7be571a85c5b","amount":{"minor":45000,"currency":"EUR"}}
0.159s settle#1 started (Ready)
0.191s settle#1 taken → query at 28845842.685s
0.226s settle query 1 started
0.227s settle query 1 found in progress → query at 28845842.757s
0.298s settle query 2 started
0.306s settle query 2 found in progress → query at 28845842.874s
0.417s settle query 3 started
0.44s  settle query 3 found in progress → query at 28845842.982s
0.523s settle query 4 started
0.525s settle query 4 found in progress → query at 28845843.312s
0.855s settle query 5 started
0.856s settle query 5 found in progress → query at 28845843.535s
1.077s settle query 6 started
1.08s  settle query 6 found in progress → query at 28845843.908s
1.451s settle query 7 started
1.453s settle query 7 found in progress → query at 28845844.236s
1.779s settle query 8 started
1.781s settle query 8 found in progress → query at 28845844.527s
2.07s  settle query 9 started
2.072s settle query 9 found in progress → query at 28845844.928s
2.47s  settle query 10 started
2.545s settle query 10 found in progress → query at 28845845.299s
2.841s settle query 11 started
2.856s settle query 11 found in progress → query at 28845845.613s
3.155s settle query 12 started
3.161s settle query 12 found in progress → query at 28845845.801s
3.343s settle query 13 started
3.348s settle query 13 found in progress → query at 28845846.127s
3.669s settle query 14 started
3.672s settle query 14 found in progress → query at 28845846.438s
3.979s settle query 15 started
3.986s settle query 15 found in progress → query at 28845846.838s
4.379s settle query 16 started
4.384s settle query 16 found in progress → query at 28845847.158s
4.701s settle query 17 started
4.702s settle query 17 found in progress → query at 28845847.229s
4.771s settle query 18 started
4.774s settle query 18 found in progress → query at 28845847.537s
5.079s settle query 19 started
5.081s settle query 19 found in progress → query at 28845847.568s
5.11s  settle query 20 started
5.123s settle query 20 found in progress → query at 28845847.876s
5.424s settle query 21 started
5.473s settle query 21 found in progress → query at 28845848.315s
5.856s settle query 22 started
5.868s settle query 22 found in progress → query at 28845848.383s
5.925s settle query 23 started
5.927s settle query 23 found in progress → query at 28845848.555s
6.097s settle query 24 started
6.098s settle query 24 found in progress → query at 28845848.724s
6.161s settle → desk, deadline-passed
6.161s settle → query at 28845848.787s
6.332s settle query 25 started
6.333s settle query 25 found in progress → query at 28845848.843s
6.385s settle query 26 started
6.388s settle query 26 found in progress → query at 28845848.87s
6.412s settle query 27 started
6.416s settle query 27 found in progress → query at 28845849.158s
6.7s   settle query 28 started
6.701s settle query 28 found in progress → query at 28845849.29s
6.836s settle query 29 started
6.858s settle query 29 found applied {"id":"set-a6dfacd2995d5929","amount":{"minor":45000,"currency":"EUR"}} → done
6.858s print-receipt#1 started (Ready)
6.86s  print-receipt#1 succeeded: {"message":"receipt-0f359d92ff62543f"}
6.86s  completed
= COMPLETED
  check-fraud: SUCCEEDED none
  check-limit: SUCCEEDED none
  authorise: SUCCEEDED applied
  capture-payment: SUCCEEDED applied
  settle: SUCCEEDED applied
  print-receipt: SUCCEEDED applied
