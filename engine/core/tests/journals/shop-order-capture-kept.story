0s     saga started
0s     reserve-stock#1 started (Ready)
0s     authorize-payment#1 started (Ready)
0.151s reserve-stock#1 succeeded: {"id":"res-aba863dd97225586"}
0.159s authorize-payment#1 succeeded: {"id":"auth-1ba5094bc8c85359","amount":{"minor":2500,"currency":"EUR"}}
0.159s capture-payment#1 started (Ready)
0.303s capture-payment#1 unknown (reply_lost) → query at 28857253.491s
0.348s capture-payment query 1 started
0.638s capture-payment query 1 found unclear (state `weird`) → query at 28857253.816s
0.827s capture-payment query 2 started
0.949s capture-payment query 2 found unclear (state `weird`) → query at 28857254.121s
1.042s capture-payment query 3 started, to fence through 1
1.08s  capture-payment query 3 found unclear (state `weird`) → query at 28857254.437s
1.273s capture-payment query 4 started, to fence through 1
1.288s capture-payment query 4 found unclear (state `weird`) → query at 28857254.725s
1.561s capture-payment query 5 started, to fence through 1
1.573s capture-payment query 5 found unclear (state `weird`) → query at 28857254.952s
1.789s capture-payment query 6 started, to fence through 1
2.101s capture-payment query 6 found unclear (state `weird`) → query at 28857255.327s
2.211s capture-payment query 7 started, to fence through 1
2.235s capture-payment query 7 found unclear (state `weird`) → query at 28857255.426s
2.279s capture-payment query 8 started, to fence through 1
2.283s capture-payment query 8 found unclear (state `weird`) → query at 28857255.453s
2.289s capture-payment query 9 started, to fence through 1
2.304s capture-payment query 9 found unclear (state `weird`) → query at 28857255.828s
2.666s capture-payment query 10 started, to fence through 1
2.688s capture-payment query 10 found unclear (state `weird`) → query at 28857256.053s
2.899s capture-payment query 11 started, to fence through 1
2.904s capture-payment query 11 found unclear (state `weird`) → query at 28857256.366s
3.234s capture-payment query 12 started, to fence through 1
3.312s capture-payment query 12 found unclear (state `weird`) → query at 28857256.497s
3.335s capture-payment query 13 started, to fence through 1
3.34s  capture-payment query 13 found unclear (state `weird`) → query at 28857256.686s
3.522s capture-payment query 14 started, to fence through 1
3.54s  capture-payment query 14 found unclear (state `weird`) → query at 28857256.947s
3.797s capture-payment query 15 started, to fence through 1
3.955s capture-payment query 15 found unclear (state `weird`) → desk, queries-spent
4.972s capture-payment kept until 28857259.331s
4.972s answered orders.jsonl:381, Keep: accepted
6.178s capture-payment query 16 started, to fence through 1
6.263s capture-payment query 16 found applied {"id":"cap-c8012173c9655444","amount":{"minor":2500,"currency":"EUR"}} → done
6.263s ship-parcel#1 started (Ready)
6.281s ship-parcel#1 succeeded: {"tracking":"parcel-fb59fe090cb250b1"}
6.281s notify-customer#1 started (Ready)
6.704s notify-customer#1 succeeded: {"message":"notice-5c85026ab0d25ab7"}
6.704s completed
= COMPLETED
  reserve-stock: SUCCEEDED applied
  authorize-payment: SUCCEEDED applied
  capture-payment: SUCCEEDED applied
  ship-parcel: SUCCEEDED applied
  notify-customer: SUCCEEDED applied
