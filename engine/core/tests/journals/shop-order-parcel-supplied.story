0s     saga started
0s     reserve-stock#1 started (Ready)
0s     authorize-payment#1 started (Ready)
0.157s reserve-stock#1 succeeded: {"id":"res-5fa30fc1511d5697"}
0.181s authorize-payment#1 succeeded: {"id":"auth-d7a1087c878e5d89","amount":{"minor":1390,"currency":"EUR"}}
0.181s capture-payment#1 started (Ready)
0.349s capture-payment#1 succeeded: {"id":"cap-623948c093d15b80","amount":{"minor":1390,"currency":"EUR"}}
0.349s ship-parcel#1 started (Ready)
2.103s ship-parcel#1 succeeded: omitted ($: 2000015 bytes are more than the 1048576 of one document)
2.103s notify-customer persistent (input) → quarantine, input
2.58s  ship-parcel supplied: {"tracking": "parcel-1229"}
2.58s  answered orders.jsonl:386, Supply: accepted
2.58s  notify-customer#1 started (Ready)
2.608s notify-customer#1 succeeded: {"message":"notice-858526a355455920"}
2.608s completed
= COMPLETED
  reserve-stock: SUCCEEDED applied
  authorize-payment: SUCCEEDED applied
  capture-payment: SUCCEEDED applied
  ship-parcel: SUCCEEDED applied
  notify-customer: SUCCEEDED applied
