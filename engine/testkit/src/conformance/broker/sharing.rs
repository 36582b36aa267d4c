//! Whose a message is.

#![expect(missing_docs, reason = "the name of a behaviour is its sentence")]

use std::collections::BTreeSet;

use super::{
    A_MOMENT, BrokerFactory, BrokerUnderTest as _, C, SOON, everything, message, nothing, one, publish, pull,
    queue, told,
};
use crate::broker::{Answer, ConsumerSettings, Message, StreamSettings};

pub async fn who_shares_a_consumer_gets_each_message_once(factory: impl BrokerFactory) {
    let broker = factory.open(&StreamSettings::default()).await;
    broker.consumer(&everything(C)).await;
    for n in 0..6 {
        publish(&broker, &format!("m-{n}"), &format!("{n}")).await;
    }
    let (one, other) = (pull(&broker, C, 3), pull(&broker, C, 3));
    let (one, other) = futures_util::future::join(one, other).await;
    let all: BTreeSet<u64> = one.iter().chain(&other).map(|delivery| delivery.sequence).collect();
    assert_eq!(all.len(), 6);
    nothing(broker.pull(C, 1, A_MOMENT).await);
}

pub async fn two_consumers_get_each_message_each(factory: impl BrokerFactory) {
    let broker = factory.open(&StreamSettings::default()).await;
    broker.consumer(&everything(C)).await;
    broker.consumer(&everything("d")).await;
    publish(&broker, "m-1", "one").await;
    broker.answer(&one(&broker, C).await, Answer::Ack).await;
    assert_eq!(told(&pull(&broker, "d", 1).await), [("one", 1)]);
}

pub async fn a_consumer_gets_what_its_filter_takes_in(factory: impl BrokerFactory) {
    let broker = factory.open(&queue()).await;
    broker.consumer(&ConsumerSettings::new("a", "s.a.>")).await;
    broker.consumer(&ConsumerSettings::new("b", "s.b")).await;
    for subject in ["s.a.x", "s.b", "s.a.y.z", "s.c"] {
        let sent = Message { subject: subject.into(), ..message(subject, subject) };
        broker.publish(&sent).await.expect("there is room");
    }
    assert_eq!(told(&pull(&broker, "a", 2).await), [("s.a.x", 1), ("s.a.y.z", 1)]);
    assert_eq!(told(&pull(&broker, "b", 1).await), [("s.b", 1)]);
    nothing(broker.pull("a", 1, A_MOMENT).await);
    nothing(broker.pull("b", 1, A_MOMENT).await);
}

pub async fn a_consumer_that_comes_later_gets_what_lies_there(factory: impl BrokerFactory) {
    let broker = factory.open(&StreamSettings::default()).await;
    broker.consumer(&everything(C)).await;
    publish(&broker, "m-1", "one").await;
    broker.answer(&one(&broker, C).await, Answer::Ack).await;
    publish(&broker, "m-2", "two").await;
    broker.consumer(&everything("later")).await;
    assert_eq!(told(&pull(&broker, "later", 2).await), [("one", 1), ("two", 1)]);
}

pub async fn of_a_work_queue_nothing_is_left_that_was_taken(factory: impl BrokerFactory) {
    let broker = factory.open(&StreamSettings { messages_max: Some(1), ..queue() }).await;
    broker.consumer(&everything(C)).await;
    for n in 0..3 {
        publish(&broker, &format!("m-{n}"), "in its turn").await;
        let answer = if n == 1 { Answer::Term } else { Answer::Ack };
        broker.answer(&one(&broker, C).await, answer).await;
    }
    nothing(broker.pull(C, 1, A_MOMENT.min(SOON)).await);
}
