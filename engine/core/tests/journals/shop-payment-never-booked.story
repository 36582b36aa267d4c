0s     saga started
0s     check-fraud#1 started (Ready)
0s     check-limit#1 started (Ready)
0.002s check-limit#1 succeeded: {"limit":{"minor":100000,"currency":"EUR"}}
0.004s check-fraud#1 succeeded: {"score":34}
0.004s authorise#1 started (Ready)
0.096s authorise#1 succeeded: {"id":"auth-fb34de1d255d5cee","amount":{"minor":31500,"currency":"EUR"}}
0.096s capture-payment#1 started (Ready)
0.157s capture-payment#1 succeeded: {"id":"cap-0d7b064eb6805780","amount":{"minor":31500,"currency":"EUR"}}
0.157s settle#1 started (Ready)
0.183s settle#1 taken → query at 28845842.679s
0.212s settle query 1 started
0.213s settle query 1 found in progress → query at 28845842.716s
0.248s settle query 2 started
0.249s settle query 2 found in progress → query at 28845842.755s
0.288s settle query 3 started
0.296s settle query 3 found in progress → query at 28845842.955s
0.487s settle query 4 started
0.489s settle query 4 found in progress → query at 28845843.267s
0.819s settle query 5 started
0.832s settle query 5 found in progress → query at 28845843.626s
1.159s settle query 6 started
1.161s settle query 6 found in progress → query at 28845843.684s
1.218s settle query 7 started
1.22s  settle query 7 found in progress → query at 28845843.787s
1.32s  settle query 8 started
1.322s settle query 8 found in progress → query at 28845844.13s
1.663s settle query 9 started
1.667s settle query 9 found in progress → query at 28845844.439s
1.971s settle query 10 started
1.973s settle query 10 found in progress → query at 28845844.832s
2.365s settle query 11 started
2.367s settle query 11 found in progress → query at 28845845.201s
2.734s settle query 12 started
2.743s settle query 12 found in progress → query at 28845845.286s
2.82s  settle query 13 started
2.841s settle query 13 found in progress → query at 28845845.381s
2.915s settle query 14 started
2.916s settle query 14 found in progress → query at 28845845.527s
3.061s settle query 15 started
3.062s settle query 15 found in progress → query at 28845845.54s
3.074s settle query 16 started
3.078s settle query 16 found in progress → query at 28845845.888s
3.421s settle query 17 started
3.426s settle query 17 found in progress → query at 28845846.021s
3.555s settle query 18 started
3.559s settle query 18 found in progress → query at 28845846.231s
3.764s settle query 19 started
3.765s settle query 19 found in progress → query at 28845846.264s
3.798s settle query 20 started
3.804s settle query 20 found in progress → query at 28845846.622s
4.155s settle query 21 started
4.159s settle query 21 found in progress → query at 28845846.77s
4.303s settle query 22 started
4.307s settle query 22 found in progress → query at 28845846.87s
4.406s settle query 23 started
4.422s settle query 23 found in progress → query at 28845847s
4.573s settle query 24 started
4.577s settle query 24 found in progress → query at 28845847.107s
4.641s settle query 25 started
4.643s settle query 25 found in progress → query at 28845847.174s
4.707s settle query 26 started
4.708s settle query 26 found in progress → query at 28845847.325s
4.858s settle query 27 started
4.863s settle query 27 found in progress → query at 28845847.707s
5.241s settle query 28 started
5.242s settle query 28 found in progress → query at 28845847.99s
5.523s settle query 29 started
5.524s settle query 29 found in progress → query at 28845848.257s
5.79s  settle query 30 started
5.791s settle query 30 found in progress → query at 28845848.313s
5.846s settle query 31 started
5.853s settle query 31 found in progress → query at 28845848.665s
6.158s settle → desk, deadline-passed
6.158s settle → query at 28845848.97s
6.502s settle query 32 started
6.504s settle query 32 found in progress → query at 28845849.3s
6.833s settle query 33 started
6.834s settle query 33 found in progress → query at 28845849.422s
6.958s settle query 34 started
6.961s settle query 34 found in progress → query at 28845849.803s
7.336s settle query 35 started
7.337s settle query 35 found in progress → query at 28845850.156s
7.69s  settle query 36 started
7.695s settle query 36 found in progress → query at 28845850.297s
7.831s settle query 37 started
7.835s settle query 37 found in progress → query at 28845850.318s
7.852s settle query 38 started
7.859s settle query 38 found in progress → query at 28845850.595s
8.129s settle query 39 started
8.139s settle query 39 found in progress → query at 28845850.971s
8.505s settle query 40 started
8.574s settle query 40 found in progress → query at 28845851.345s
8.878s settle query 41 started
8.882s settle query 41 found in progress → query at 28845851.553s
9.087s settle query 42 started
9.091s settle query 42 found in progress → query at 28845851.785s
9.318s settle query 43 started
9.32s  settle query 43 found in progress → query at 28845851.825s
9.358s settle query 44 started
9.367s settle query 44 found in progress → query at 28845852.067s
9.601s settle query 45 started
9.615s settle query 45 found in progress → query at 28845852.453s
9.986s settle query 46 started
9.988s settle query 46 found in progress → desk, queries-spent
= RUNNING
  check-fraud: SUCCEEDED none
  check-limit: SUCCEEDED none
  authorise: SUCCEEDED applied
  capture-payment: SUCCEEDED applied
  settle: RECONCILING possible
  print-receipt: PENDING none
  desk: settle on reconciliation, queries-spent since 28845848.626s, attempts 1, effect possible
