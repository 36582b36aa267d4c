0s     saga started
0s     read-sale#1 started (Ready)
0.007s read-sale#1 succeeded: {"capture":"cap-df9fac85078b504f","captured":{"minor":23700,"currency":"EUR"},"refunded":{"minor":0,"currency":"EUR"},"sent":[{"sku":"kettle-steel","quantity":3}]}
0.007s check-refundable#1 started (Ready)
0.011s check-refundable#1 succeeded: {"capture":"cap-df9fac85078b504f","amount":{"minor":23700,"currency":"EUR"}}
0.011s refund-payment#1 started (Ready)
0.04s  refund-payment#1 succeeded: {"id":"ref-07c8057dd62a51af","amount":{"minor":23700,"currency":"EUR"}}
0.04s  branch goods-came-back: yes
0.04s  notify-customer#1 started (Ready)
0.04s  restock#1 started (Ready)
0.054s notify-customer#1 succeeded: {"message":"notice-4b8f182c333354d7"}
0.055s restock#1 took effect in part → quarantine, partial
= RUNNING
  read-sale: SUCCEEDED none
  check-refundable: SUCCEEDED none
  refund-payment: SUCCEEDED applied
  restock: QUARANTINED partial
  notify-customer: SUCCEEDED applied
  desk: restock on quarantine, partial since 28845842.717s, attempts 1, effect partial
