0s     saga started
0s     reserve-stock#1 started (Ready)
0s     authorize-payment#1 started (Ready)
0.023s authorize-payment#1 succeeded: {"id":"auth-10a7379a541d5cff","amount":{"minor":2360,"currency":"EUR"}}
0.037s reserve-stock#1 succeeded: {"id":"res-03ebd29a991c54fc"}
0.037s capture-payment#1 started (Ready)
0.053s capture-payment#1 unknown (reply_lost) → query at 28834855.096s
0.098s capture-payment query 1 started
0.162s capture-payment query 1 found unclear (state `weird`) → query at 28834855.266s
0.226s capture-payment query 2 started
0.246s capture-payment query 2 found unclear (state `weird`) → query at 28834855.3s
0.261s capture-payment query 3 started
0.288s capture-payment query 3 found unclear (state `weird`) → query at 28834855.633s
0.593s capture-payment query 4 started
0.649s capture-payment query 4 found unclear (state `weird`) → query at 28834855.994s
0.954s capture-payment query 5 started, to fence through 1
0.972s capture-payment query 5 found unclear (state `weird`) → query at 28834856.376s
1.335s capture-payment query 6 started, to fence through 1
1.367s capture-payment query 6 found unclear (state `weird`) → query at 28834856.756s
1.717s capture-payment query 7 started, to fence through 1
1.742s capture-payment query 7 found unclear (state `weird`) → query at 28834857.086s
2.055s capture-payment query 8 started, to fence through 1
2.096s capture-payment query 8 found unclear (state `weird`) → query at 28834857.53s
2.489s capture-payment query 9 started, to fence through 1
2.521s capture-payment query 9 found unclear (state `weird`) → query at 28834857.705s
2.665s capture-payment query 10 started, to fence through 1
2.825s capture-payment query 10 found unclear (state `weird`) → query at 28834858.032s
2.992s capture-payment query 11 started, to fence through 1
3.03s  capture-payment query 11 found unclear (state `weird`) → query at 28834858.45s
3.412s capture-payment query 12 started, to fence through 1
3.443s capture-payment query 12 found unclear (state `weird`) → query at 28834858.643s
3.604s capture-payment query 13 started, to fence through 1
3.655s capture-payment query 13 found unclear (state `weird`) → query at 28834858.982s
3.942s capture-payment query 14 started, to fence through 1
4.029s capture-payment query 14 found unclear (state `weird`) → query at 28834859.083s
4.051s capture-payment query 15 started, to fence through 1
4.104s capture-payment query 15 found unclear (state `weird`) → desk, queries-spent
4.205s wish of orders.jsonl:171: cancelled by operator
4.205s answered orders.jsonl:171, Cancel: pending
= RUNNING
  reserve-stock: SUCCEEDED applied
  authorize-payment: SUCCEEDED applied
  capture-payment: RECONCILING possible
  ship-parcel: PENDING none
  notify-customer: PENDING none
  desk: capture-payment on reconciliation, queries-spent since 28834859.145s, attempts 1, effect possible, unknown (unclear)
