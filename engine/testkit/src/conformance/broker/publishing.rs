//! Publishing: order, and ids within the duplicate window.

#![expect(missing_docs, reason = "the name of a behaviour is its sentence")]

use std::time::Duration;

use super::queue;
use super::{
    A_MOMENT, BrokerFactory, BrokerUnderTest as _, C, SOON, everything, message, nothing, one, publish, pull,
    told,
};
use crate::broker::{Answer, Message, StreamSettings};

pub async fn messages_come_as_they_were_published_in_the_order_in_which_they_were_stored(
    factory: impl BrokerFactory,
) {
    let broker = factory.open(&StreamSettings::default()).await;
    broker.consumer(&everything(C)).await;
    let headers = [("X-One".to_owned(), "1".to_owned()), ("X-Two".to_owned(), "zwei".to_owned())].into();
    let sent = Message { subject: "s.some.where".into(), headers, ..message("first", "{\"n\":1}") };
    let first = broker.publish(&sent).await.expect("there is room");
    let mut sequences = vec![first.sequence];
    for body in ["two", "three", "four"] {
        sequences.push(publish(&broker, body, body).await.sequence);
    }
    assert!(sequences.is_sorted_by(|one, next| one < next), "{sequences:?}");
    let came = pull(&broker, C, 4).await;
    assert_eq!(told(&came), [("{\"n\":1}", 1), ("two", 1), ("three", 1), ("four", 1)]);
    assert_eq!(came.iter().map(|delivery| delivery.sequence).collect::<Vec<_>>(), sequences);
    assert_eq!(came[0].message, sent);
}

pub async fn an_id_that_is_repeated_within_the_window_is_a_duplicate_and_stored_once(
    factory: impl BrokerFactory,
) {
    let broker = factory.open(&StreamSettings::default()).await;
    broker.consumer(&everything(C)).await;
    let first = publish(&broker, "m-1", "one").await;
    let again = publish(&broker, "m-1", "one, said otherwise").await;
    assert_eq!((first.duplicate, again.duplicate), (false, true));
    assert_eq!(again.sequence, first.sequence);
    publish(&broker, "m-2", "two").await;
    assert_eq!(told(&pull(&broker, C, 2).await), [("one", 1), ("two", 1)]);
}

pub async fn an_id_stays_known_when_its_message_is_done_with(factory: impl BrokerFactory) {
    let broker = factory.open(&queue()).await;
    broker.consumer(&everything(C)).await;
    publish(&broker, "m-1", "one").await;
    let came = one(&broker, C).await;
    broker.answer(&came, Answer::Ack).await;
    assert!(publish(&broker, "m-1", "one").await.duplicate);
    nothing(broker.pull(C, 1, A_MOMENT).await);
}

pub async fn an_id_is_forgotten_after_the_window(factory: impl BrokerFactory) {
    let window = Duration::from_millis(500);
    let settings = StreamSettings { duplicate_window: window, ..StreamSettings::default() };
    let broker = factory.open(&settings).await;
    broker.consumer(&everything(C)).await;
    publish(&broker, "m-1", "one").await;
    broker.answer(&one(&broker, C).await, Answer::Ack).await;
    nothing(broker.pull(C, 1, window + A_MOMENT).await);
    let mut again = publish(&broker, "m-1", "one").await;
    // A server forgets in the course of its upkeep, not to the millisecond.
    for _ in 0..10 {
        if !again.duplicate {
            break;
        }
        nothing(broker.pull(C, 1, A_MOMENT).await);
        again = publish(&broker, "m-1", "one").await;
    }
    assert!(!again.duplicate, "it is remembered for ever");
    assert_eq!(told(&broker.pull(C, 1, SOON).await), [("one", 1)]);
}

pub async fn messages_without_an_id_are_never_duplicates(factory: impl BrokerFactory) {
    let broker = factory.open(&StreamSettings::default()).await;
    broker.consumer(&everything(C)).await;
    for _ in 0..2 {
        let anonymous = Message { id: None, ..message("", "the same") };
        assert!(!broker.publish(&anonymous).await.expect("there is room").duplicate);
    }
    assert_eq!(told(&pull(&broker, C, 2).await), [("the same", 1), ("the same", 1)]);
}
