//! Answers, and what comes of none.

#![expect(missing_docs, reason = "the name of a behaviour is its sentence")]

use std::time::Duration;

use super::{
    A_MOMENT, ACK_WAIT, BrokerFactory, BrokerUnderTest as _, C, SOON, everything, impatient, nothing, one,
    publish, pull, told,
};
use crate::broker::{Answer, StreamSettings};

pub async fn what_was_acknowledged_does_not_come_again(factory: impl BrokerFactory) {
    let broker = factory.open(&StreamSettings::default()).await;
    broker.consumer(&impatient(C)).await;
    publish(&broker, "m-1", "one").await;
    let came = one(&broker, C).await;
    broker.answer(&came, Answer::Ack).await;
    broker.answer(&came, Answer::Ack).await;
    nothing(broker.pull(C, 1, ACK_WAIT + A_MOMENT).await);
}

pub async fn what_was_terminated_does_not_come_again(factory: impl BrokerFactory) {
    let broker = factory.open(&StreamSettings::default()).await;
    broker.consumer(&impatient(C)).await;
    publish(&broker, "m-1", "one").await;
    broker.answer(&one(&broker, C).await, Answer::Term).await;
    nothing(broker.pull(C, 1, ACK_WAIT + A_MOMENT).await);
}

pub async fn what_nobody_answers_comes_again_with_the_next_number(factory: impl BrokerFactory) {
    let broker = factory.open(&StreamSettings::default()).await;
    broker.consumer(&impatient(C)).await;
    publish(&broker, "m-1", "one").await;
    assert_eq!(told(&pull(&broker, C, 1).await), [("one", 1)]);
    nothing(broker.pull(C, 1, A_MOMENT).await);
    assert_eq!(told(&pull(&broker, C, 1).await), [("one", 2)]);
    assert_eq!(told(&pull(&broker, C, 1).await), [("one", 3)]);
}

pub async fn what_comes_again_comes_before_what_is_new(factory: impl BrokerFactory) {
    let broker = factory.open(&StreamSettings::default()).await;
    broker.consumer(&everything(C)).await;
    publish(&broker, "m-1", "one").await;
    publish(&broker, "m-2", "two").await;
    let first = one(&broker, C).await;
    broker.answer(&first, Answer::Nak(Duration::ZERO)).await;
    assert_eq!(told(&pull(&broker, C, 2).await), [("one", 2), ("two", 1)]);
}

pub async fn what_was_given_back_comes_again_at_once(factory: impl BrokerFactory) {
    let broker = factory.open(&StreamSettings::default()).await;
    broker.consumer(&everything(C)).await;
    publish(&broker, "m-1", "one").await;
    broker.answer(&one(&broker, C).await, Answer::Nak(Duration::ZERO)).await;
    // Long before the ack wait, which is as long as anybody waits here.
    assert_eq!(told(&broker.pull(C, 1, SOON / 2).await), [("one", 2)]);
}

pub async fn what_was_given_back_for_a_while_comes_again_after_it(factory: impl BrokerFactory) {
    let broker = factory.open(&StreamSettings::default()).await;
    broker.consumer(&everything(C)).await;
    publish(&broker, "m-1", "one").await;
    broker.answer(&one(&broker, C).await, Answer::Nak(3 * A_MOMENT)).await;
    nothing(broker.pull(C, 1, A_MOMENT).await);
    assert_eq!(told(&broker.pull(C, 1, SOON / 2).await), [("one", 2)]);
}

pub async fn what_is_being_worked_on_does_not_come_again(factory: impl BrokerFactory) {
    let broker = factory.open(&StreamSettings::default()).await;
    broker.consumer(&impatient(C)).await;
    publish(&broker, "m-1", "one").await;
    let in_hand = one(&broker, C).await;
    // Together longer than the ack wait.
    for _ in 0..4 {
        nothing(broker.pull(C, 1, A_MOMENT).await);
        broker.answer(&in_hand, Answer::Progress).await;
    }
    assert_eq!(told(&pull(&broker, C, 1).await), [("one", 2)], "then its time is over");
}

pub async fn an_acknowledgement_that_comes_after_the_redelivery_counts(factory: impl BrokerFactory) {
    let broker = factory.open(&StreamSettings::default()).await;
    broker.consumer(&impatient(C)).await;
    publish(&broker, "m-1", "one").await;
    let first = one(&broker, C).await;
    let second = one(&broker, C).await;
    assert_eq!((first.number, second.number), (1, 2));
    broker.answer(&first, Answer::Ack).await;
    nothing(broker.pull(C, 1, ACK_WAIT + A_MOMENT).await);
}
