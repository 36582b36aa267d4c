0s     saga started
0s     reserve-stock#1 started (Ready)
0s     authorize-payment#1 started (Ready)
0.133s reserve-stock#1 unknown (reply_lost) → query at 28857253.33s
0.161s authorize-payment#1 succeeded: {"id":"auth-94636270081d537d","amount":{"minor":3400,"currency":"EUR"}}
0.189s reserve-stock query 1 started
0.347s reserve-stock query 1 found unclear (state `weird`) → query at 28857253.56s
0.415s reserve-stock query 2 started
0.813s reserve-stock query 2 found unclear (state `weird`) → query at 28857254.059s
0.891s reserve-stock query 3 started, to fence through 1
1.029s reserve-stock query 3 found unclear (state `weird`) → query at 28857254.204s
1.057s reserve-stock query 4 started, to fence through 1
1.084s reserve-stock query 4 found unclear (state `weird`) → query at 28857254.634s
1.466s reserve-stock query 5 started, to fence through 1
1.476s reserve-stock query 5 found unclear (state `weird`) → query at 28857254.927s
1.76s  reserve-stock query 6 started, to fence through 1
1.774s reserve-stock query 6 found unclear (state `weird`) → query at 28857255.234s
2.095s reserve-stock query 7 started, to fence through 1
2.208s reserve-stock query 7 found unclear (state `weird`) → query at 28857255.471s
2.304s reserve-stock query 8 started, to fence through 1
2.308s reserve-stock query 8 found unclear (state `weird`) → query at 28857255.601s
2.467s reserve-stock query 9 started, to fence through 1
2.508s reserve-stock query 9 found unclear (state `weird`) → query at 28857255.852s
2.684s reserve-stock query 10 started, to fence through 1
2.692s reserve-stock query 10 found unclear (state `weird`) → query at 28857256.152s
2.985s reserve-stock query 11 started, to fence through 1
2.995s reserve-stock query 11 found unclear (state `weird`) → query at 28857256.272s
3.122s reserve-stock query 12 started, to fence through 1
3.131s reserve-stock query 12 found unclear (state `weird`) → query at 28857256.352s
3.185s reserve-stock query 13 started, to fence through 1
3.188s reserve-stock query 13 found unclear (state `weird`) → query at 28857256.688s
3.521s reserve-stock query 14 started, to fence through 1
3.536s reserve-stock query 14 found unclear (state `weird`) → query at 28857256.949s
3.793s reserve-stock query 15 started, to fence through 1
4.167s reserve-stock query 15 found unclear (state `weird`) → desk, queries-spent
4.868s turned back: cancelled by operator
4.868s answered orders.jsonl:383, Cancel: accepted
4.868s undo:authorize-payment#1 started (Ready)
4.975s undo:authorize-payment#1 succeeded: "Undone"
5.163s reserve-stock to be compensated in doubt
5.163s answered orders.jsonl:384, CompensateInDoubt: accepted
5.163s undo:reserve-stock#1 started (Ready)
5.267s undo:reserve-stock#1 succeeded: "Undone"
5.267s compensated
= COMPENSATED (cancelled by operator)
  reserve-stock: SUCCEEDED applied · undo SUCCEEDED applied
  authorize-payment: SUCCEEDED applied · undo SUCCEEDED applied
  capture-payment: SKIPPED none
  ship-parcel: SKIPPED none
  notify-customer: SKIPPED none
