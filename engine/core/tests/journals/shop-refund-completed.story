0s     saga started
0s     read-sale#1 started (Ready)
0.043s read-sale#1 succeeded: {"capture":"cap-595faf4a94275039","captured":{"minor":2980,"currency":"EUR"},"refunded":{"minor":0,"currency":"EUR"},"sent":[{"sku":"tea-sencha","quantity":2}]}
0.043s check-refundable#1 started (Ready)
0.061s check-refundable#1 succeeded: {"capture":"cap-595faf4a94275039","amount":{"minor":2980,"currency":"EUR"}}
0.061s refund-payment#1 started (Ready)
0.105s refund-payment#1 succeeded: {"id":"ref-5e6c90853fb6564f","amount":{"minor":2980,"currency":"EUR"}}
0.105s restock#1 started (Ready)
0.105s notify-customer#1 started (Ready)
0.152s notify-customer#1 succeeded: {"message":"notice-683e859b3c02508c"}
0.173s restock#1 succeeded: {"pieces":0}
0.173s completed
= COMPLETED
  read-sale: SUCCEEDED none
  check-refundable: SUCCEEDED none
  refund-payment: SUCCEEDED applied
  restock: SUCCEEDED applied
  notify-customer: SUCCEEDED applied
