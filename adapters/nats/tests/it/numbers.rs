//! Deliveries, attempts and calls are three numbers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use amends::core::Json;
use amends::memory::MemoryStore;
use amends::ports::{OutboxMessage, PublishError, Published, Publisher};
use amends::{EngineCounters, Outcome};
use amends_nats::{
    Call, Counters, Handler, NatsPublisher, NotNow, Participant, ParticipantCounters, ParticipantSettings,
    Replies, Reply, ReplyCounters, ReplySettings, StreamSettings, Trigger, Triggers, streams,
};
use amends_nats_testkit::Server;
use async_trait::async_trait;

use crate::command_permissions::engine_on;
use crate::world::{CONSUMER, STREAM, connect, event, publish, quick, until_ended};

/// Has no luck the first time.
struct Pays;

#[async_trait]
impl Handler for Pays {
    async fn command(&self, call: &Call) -> Result<Reply, NotNow> {
        Ok(match call.attempt {
            1 => Reply::transient("busy", "not now"),
            _ => Reply::applied(&7),
        })
    }

    async fn close_out(&self, _: &Call, reply: Reply) -> Result<Reply, NotNow> {
        Ok(reply)
    }

    async fn query(&self, _: &Call) -> Result<Reply, NotNow> {
        Ok(Reply::Absent)
    }
}

/// Does not hear the first acknowledgement.
struct LosesTheFirst {
    publisher: NatsPublisher,
    published: AtomicU64,
}

#[async_trait]
impl Publisher for LosesTheFirst {
    async fn publish(&self, message: &OutboxMessage) -> Result<Published, PublishError> {
        let published = self.publisher.publish(message).await?;
        match self.published.fetch_add(1, Ordering::SeqCst) {
            0 => Err(PublishError::Unavailable("the acknowledgement was lost".to_owned())),
            _ => Ok(published),
        }
    }
}

#[tokio::test]
async fn deliveries_attempts_and_calls_are_three_numbers() {
    let server = Server::start();
    let connection = connect(&server).await;
    connection.declare_stream(&StreamSettings::new(STREAM, ["orders.>"]), true).await.unwrap();
    for settings in streams("amends").unwrap() {
        connection.declare_stream(&settings, true).await.unwrap();
    }
    let publisher = NatsPublisher::new(connection.clone(), "amends").unwrap();
    let publisher = Arc::new(LosesTheFirst { publisher, published: AtomicU64::new(0) });
    let (engine, saga) = engine_on(Arc::new(MemoryStore::new()), &connection, publisher).await;
    let replies =
        Replies::take(engine.clone(), connection.clone(), ReplySettings::new("test")).await.unwrap();
    let settings = ParticipantSettings::new("payments");
    let participant = Participant::start(connection.clone(), settings, Pays).await.unwrap();

    // One event, four times.
    for _ in 0..4 {
        publish(&connection, &[], event("o-1", 7).into()).await;
    }
    let trigger = Trigger::on(STREAM, "orders.placed").workflow(&saga).limits(quick());
    let triggers = Triggers::on(&connection, &engine).with(trigger).start().await.unwrap();
    let counters = until_ended(&triggers, 4).await;
    assert_eq!(counters, Counters { deliveries: 4, sagas: 1, duplicates: 3, ..Counters::default() });
    assert_eq!(triggers.counters(CONSUMER), Some(counters));

    let ordered = engine.find("order", "o-1").await.unwrap().unwrap();
    assert_eq!(ordered.outcome().await.unwrap(), Outcome::Completed(Json::parse("7").unwrap()));
    assert_eq!(ordered.view().await.unwrap().steps[0].forward.attempts, 2, "in the journal");
    // The first command was published twice, because its acknowledgement was lost, and delivered once.
    assert_eq!(engine.counters(), EngineCounters { attempts: 2, queries: 0, calls: 3 });
    while participant.counters().answered < 2 || replies.counters().taken < 2 {
        tokio::task::yield_now().await;
    }
    let took = ParticipantCounters { deliveries: 2, answered: 2, ..ParticipantCounters::default() };
    assert_eq!(participant.counters(), took);
    assert_eq!(replies.counters(), ReplyCounters { deliveries: 2, taken: 2, ..ReplyCounters::default() });
    participant.stop().await;
    replies.stop().await;
}
