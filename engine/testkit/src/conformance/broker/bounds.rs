//! Bounds: deliveries, room in the stream, messages in hand, age.

#![expect(missing_docs, reason = "the name of a behaviour is its sentence")]

use std::time::Duration;

use super::{
    A_MOMENT, ACK_WAIT, BrokerFactory, BrokerUnderTest as _, C, SOON, everything, impatient, message,
    nothing, one, publish, pull, queue, told,
};
use crate::broker::{Answer, ConsumerSettings, Full, StreamSettings};

pub async fn what_was_delivered_too_often_comes_no_more_and_holds_up_nobody(factory: impl BrokerFactory) {
    let broker = factory.open(&StreamSettings::default()).await;
    broker.consumer(&ConsumerSettings { deliveries_max: Some(2), ..impatient(C) }).await;
    publish(&broker, "m-1", "one").await;
    assert_eq!(told(&pull(&broker, C, 1).await), [("one", 1)]);
    assert_eq!(told(&pull(&broker, C, 1).await), [("one", 2)]);
    nothing(broker.pull(C, 1, ACK_WAIT + 2 * A_MOMENT).await);
    publish(&broker, "m-2", "two").await;
    assert_eq!(told(&pull(&broker, C, 1).await), [("two", 1)]);
}

pub async fn a_full_stream_refuses_what_is_new_and_takes_it_once_there_is_room(factory: impl BrokerFactory) {
    let broker = factory.open(&StreamSettings { messages_max: Some(2), ..queue() }).await;
    broker.consumer(&everything(C)).await;
    publish(&broker, "m-1", "one").await;
    publish(&broker, "m-2", "two").await;
    assert_eq!(broker.publish(&message("m-3", "three")).await, Err(Full));
    assert!(publish(&broker, "m-1", "one").await.duplicate, "what is there needs no room");
    broker.answer(&one(&broker, C).await, Answer::Ack).await;
    let taken = publish(&broker, "m-3", "three").await;
    assert!(!taken.duplicate, "what was refused is not known");
    assert_eq!(told(&pull(&broker, C, 2).await), [("two", 1), ("three", 1)]);
}

pub async fn no_more_is_in_hand_than_may_be(factory: impl BrokerFactory) {
    let broker = factory.open(&StreamSettings::default()).await;
    broker.consumer(&ConsumerSettings { in_hand_max: 2, ..everything(C) }).await;
    for body in ["one", "two", "three"] {
        publish(&broker, body, body).await;
    }
    let came = pull(&broker, C, 2).await;
    assert_eq!(told(&came), [("one", 1), ("two", 1)]);
    nothing(broker.pull(C, 1, A_MOMENT).await);
    broker.answer(&came[1], Answer::Ack).await;
    assert_eq!(told(&pull(&broker, C, 1).await), [("three", 1)]);
}

pub async fn what_is_too_old_is_gone(factory: impl BrokerFactory) {
    let age = Duration::from_secs(1);
    let settings = StreamSettings { age_max: Some(age), duplicate_window: age, ..StreamSettings::default() };
    let broker = factory.open(&settings).await;
    broker.consumer(&everything(C)).await;
    publish(&broker, "m-1", "one").await;
    let in_hand = one(&broker, C).await;
    publish(&broker, "m-2", "two").await;
    broker.consumer(&ConsumerSettings::new("other", "s.nothing")).await;
    nothing(broker.pull("other", 1, 2 * age).await);
    broker.answer(&in_hand, Answer::Nak(Duration::ZERO)).await;
    publish(&broker, "m-3", "three").await;
    assert_eq!(told(&broker.pull(C, 1, SOON).await), [("three", 1)]);
}
