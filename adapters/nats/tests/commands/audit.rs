//! What must be true once everything has come to rest.

use std::collections::BTreeMap;

use amends::Outcome;
use amends::ports::{IntakeFilter, IntakeRow, SagaFilter};
use amends_nats::{Counters, Triggers};
use async_nats::jetstream::Message;
use async_nats::jetstream::consumer::{AckPolicy, pull};
use futures_util::StreamExt as _;

use crate::service::SERVICE;
use crate::world::{
    COMMANDS, ENGINE, EVENTS, Node, ORDERS, Order, REPLIES, TRIGGER, World, consumer_info, look_again, until,
};

impl World {
    /// Waits for the end of the orders with these numbers, and holds everything against them.
    pub(crate) async fn audit(&self, node: &Node, orders: impl IntoIterator<Item = u32>) {
        let orders: Vec<u32> = orders.into_iter().collect();
        let sagas = async || {
            let all = SagaFilter { limit: 10_000, ..SagaFilter::default() };
            node.engine.query().list(&all).await.unwrap()
        };
        until("every order has its saga", async || sagas().await.len() >= orders.len()).await;
        for &number in &orders {
            let turned_back = Order::number(number).amount == 0;
            let outcome = node.ended(number).await;
            match outcome {
                Outcome::Completed(_) => assert!(!turned_back, "{}", node.timeline(number).await),
                Outcome::Compensated { .. } => assert!(turned_back, "{}", node.timeline(number).await),
                Outcome::Closed => panic!("nobody closed it: {}", node.timeline(number).await),
            }
        }
        assert_eq!(sagas().await.len(), orders.len(), "one saga for each order");
        self.assert_effects(&orders).await;
        self.assert_nothing_left(node).await;
        assert_eq!(node.engine.desk().await.unwrap(), [], "nothing waits for a person");
        self.assert_told(&orders).await;
    }

    /// One effect for each request, and for each order those that it should have.
    async fn assert_effects(&self, orders: &[u32]) {
        let effects = self.service.effects().await;
        let mut of_request: BTreeMap<&str, u32> = BTreeMap::new();
        let mut of_order: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (request, order, what) in &effects {
            *of_request.entry(request).or_default() += 1;
            of_order.entry(order).or_default().push(what);
        }
        let doubled: Vec<_> = of_request.iter().filter(|(_, times)| **times > 1).collect();
        assert!(doubled.is_empty(), "more than one effect: {doubled:?}");
        for &number in orders {
            let Order { order, amount } = Order::number(number);
            let mut done = of_order.remove(order.as_str()).unwrap_or_default();
            done.sort_unstable();
            let second = if amount == 0 { "undo-reserve" } else { "charge" };
            let mut expected = ["reserve", second];
            expected.sort_unstable();
            assert_eq!(done, expected, "{order}");
        }
        assert!(of_order.is_empty(), "effects of no order: {of_order:?}");
    }

    /// Nothing waits and nothing is in hand, at the broker and in the outbox: so nothing comes again for ever.
    pub(crate) async fn assert_nothing_left(&self, node: &Node) {
        until("everything is published", async || node.engine.outbox().await.unwrap().counts.is_empty())
            .await;
        for (consumer, stream) in [(SERVICE, COMMANDS), (ENGINE, REPLIES)] {
            until(&format!("nothing is left in {stream}"), async || {
                let Some(info) = consumer_info(&self.connection, consumer, stream).await else {
                    return false;
                };
                (info.num_pending, info.num_ack_pending) == (0, 0) && self.messages(stream).await == 0
            })
            .await;
        }
        until("every order is acknowledged", async || {
            // Where no trigger ever ran there are no orders.
            match consumer_info(&self.connection, TRIGGER, ORDERS).await {
                Some(info) => (info.num_pending, info.num_ack_pending) == (0, 0),
                None => self.messages(ORDERS).await == 0,
            }
        })
        .await;
    }

    /// Of each saga its two events, in order. What comes again has a sequence that was there already.
    async fn assert_told(&self, orders: &[u32]) {
        let mut told: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut last: BTreeMap<String, String> = BTreeMap::new();
        for event in self.events().await {
            let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
            let (key, sequence) = (text(&event["data"]["key"]), text(&event["sequence"]));
            if last.get(&key).is_none_or(|before| *before < sequence) {
                last.insert(key.clone(), sequence);
                told.entry(key).or_default().push(text(&event["type"]));
            }
        }
        for &number in orders {
            let Order { order, amount } = Order::number(number);
            let end = if amount == 0 { "amends.saga.compensated" } else { "amends.saga.completed" };
            let expected = ["amends.saga.started".to_owned(), end.to_owned()];
            assert_eq!(told.remove(&order).unwrap_or_default(), expected, "{order}");
        }
        assert!(told.is_empty(), "events of no order: {told:?}");
    }

    async fn events(&self) -> Vec<serde_json::Value> {
        let count = usize::try_from(self.messages(EVENTS).await).unwrap();
        loop {
            let config = pull::Config { ack_policy: AckPolicy::None, ..pull::Config::default() };
            // A cluster may be silent while it elects.
            if let Ok(stream) = self.connection.jetstream().get_stream(EVENTS).await
                && let Ok(consumer) = stream.create_consumer(config).await
                && let Ok(messages) = consumer.messages().await
            {
                let body = |message: Message| serde_json::from_slice(&message.payload).unwrap();
                return messages.take(count).map(|message| body(message.unwrap())).collect().await;
            }
            look_again().await;
        }
    }
}

impl Node {
    pub(crate) async fn intake(&self) -> Vec<IntakeRow> {
        let filter = IntakeFilter { limit: 100, ..IntakeFilter::default() };
        self.engine.operator().intake().list(&filter).await.unwrap()
    }
}

/// Every delivery of an event ended as one of the endings, and none in a conflict or with a person.
pub(crate) async fn assert_accounted_for(triggers: &Triggers) -> Counters {
    let all = |readiness: &amends_nats::Readiness| readiness.triggers[0].counters.in_hand == 0;
    let counters = triggers.until(all).await.triggers[0].counters;
    assert_eq!(counters.deliveries, counters.ended(), "{counters:?}");
    assert_eq!((counters.conflicts, counters.refused, counters.intake), (0, 0, 0), "{counters:?}");
    counters
}
