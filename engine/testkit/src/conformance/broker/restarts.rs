//! Restarts of the broker.

#![expect(missing_docs, reason = "the name of a behaviour is its sentence")]

use super::{BrokerFactory, BrokerUnderTest as _, C, impatient, one, publish, pull, queue, told};
use crate::broker::Answer;

pub async fn messages_and_where_they_stand_survive_a_restart(factory: impl BrokerFactory) {
    let mut broker = factory.open(&queue()).await;
    broker.consumer(&impatient(C)).await;
    for body in ["done with", "in hand", "waiting"] {
        publish(&broker, body, body).await;
    }
    broker.answer(&one(&broker, C).await, Answer::Ack).await;
    one(&broker, C).await;
    broker.restart().await;
    let mut came = pull(&broker, C, 2).await;
    came.sort_by_key(|delivery| delivery.sequence);
    assert_eq!(told(&came), [("in hand", 2), ("waiting", 1)]);
}

pub async fn an_id_stays_known_over_a_restart_while_its_message_lies_there(factory: impl BrokerFactory) {
    let mut broker = factory.open(&queue()).await;
    broker.consumer(&impatient(C)).await;
    let before = publish(&broker, "m-1", "one").await;
    broker.restart().await;
    let again = publish(&broker, "m-1", "one").await;
    assert_eq!((again.duplicate, again.sequence), (true, before.sequence));
}
