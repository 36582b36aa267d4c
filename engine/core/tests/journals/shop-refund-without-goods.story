0s     saga started
0s     read-sale#1 started (Ready)
0.002s read-sale#1 succeeded: {"capture":"cap-39d9bcb2eb205f4c","captured":{"minor":2500,"currency":"EUR"},"refunded":{"minor":0,"currency":"EUR"},"sent":[{"sku":"tea-assam","quantity":2}]}
0.002s check-refundable#1 started (Ready)
0.003s check-refundable#1 succeeded: {"capture":"cap-39d9bcb2eb205f4c","amount":{"minor":1250,"currency":"EUR"}}
0.003s refund-payment#1 started (Ready)
0.005s refund-payment#1 succeeded: {"id":"ref-174e57acbebc5d91","amount":{"minor":1250,"currency":"EUR"}}
0.005s branch goods-came-back: no
0.005s notify-customer#1 started (Ready)
0.008s notify-customer#1 succeeded: {"message":"notice-753557ce1af45bad"}
0.008s completed
= COMPLETED
  read-sale: SUCCEEDED none
  check-refundable: SUCCEEDED none
  refund-payment: SUCCEEDED applied
  restock: SKIPPED none
  notify-customer: SUCCEEDED applied
