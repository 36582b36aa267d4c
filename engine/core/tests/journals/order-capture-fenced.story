0s     saga started
0s     reserve-stock#1 started (Ready)
0s     authorize-payment#1 started (Ready)
0.02s  reserve-stock#1 succeeded: "3 pieces"
0.05s  authorize-payment#1 succeeded: "15 EUR"
0.05s  capture-payment#1 started (Ready)
0.05s  capture-payment#1 unknown (reply-lost) → query at 0.486s
0.486s capture-payment query 1 started
0.486s capture-payment query 1 found absent → query at 0.675s
0.676s capture-payment query 2 started
0.676s capture-payment query 2 found absent → query at 1.545s
1.546s capture-payment query 3 started
1.546s capture-payment query 3 found absent → query at 2.495s
2.495s capture-payment query 4 started
2.495s capture-payment query 4 found absent → query at 9.727s
9.728s capture-payment query 5 started
9.728s capture-payment query 5 found absent → query at 34.611s
34.612s capture-payment query 6 started, to fence through 1
34.612s capture-payment query 6 found fenced through 1 → retry at 34.969s
34.97s capture-payment#2 started (Retry)
35s    capture-payment#2 succeeded: 15
35s    ship-parcel#1 started (Ready)
35.07s ship-parcel#1 succeeded: "parcel for 15 EUR"
35.07s completed
= COMPLETED
  reserve-stock: SUCCEEDED applied
  authorize-payment: SUCCEEDED applied
  capture-payment: SUCCEEDED applied
  ship-parcel: SUCCEEDED applied
