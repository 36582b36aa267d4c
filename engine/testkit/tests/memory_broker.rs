//! The broker in memory passes the suite that a real one passes, in virtual time.

use std::sync::Arc;
use std::time::Duration;

use amends::ports::SystemClock;
use amends_core::Timestamp;
use amends_testkit::broker::{
    Answer, ConsumerSettings, Delivery, Full, MemoryBroker, Message, Stored, StreamSettings,
};
use amends_testkit::conformance::broker::{BrokerFactory, BrokerUnderTest};
use async_trait::async_trait;

const STREAM: &str = "S";

struct InMemory;

/// One stream of it.
struct OneStream(MemoryBroker);

#[async_trait]
impl BrokerFactory for InMemory {
    type Broker = OneStream;

    fn runtime(&self) -> tokio::runtime::Runtime {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.expect("a runtime without IO needs nothing of the system")
    }

    async fn open(&self, stream: &StreamSettings) -> OneStream {
        let broker = MemoryBroker::new(Arc::new(SystemClock::starting_at(Timestamp(0))));
        broker.stream(STREAM, stream.clone());
        OneStream(broker)
    }
}

#[async_trait]
impl BrokerUnderTest for OneStream {
    async fn consumer(&self, settings: &ConsumerSettings) {
        self.0.consumer(STREAM, settings.clone());
    }

    async fn publish(&self, message: &Message) -> Result<Stored, Full> {
        self.0.publish(STREAM, message.clone())
    }

    async fn pull(&self, consumer: &str, most: usize, wait: Duration) -> Vec<Delivery> {
        self.0.pull(STREAM, consumer, most, wait).await
    }

    async fn answer(&self, delivery: &Delivery, answer: Answer) {
        self.0.answer(delivery, answer);
    }

    async fn restart(&mut self) {
        self.0.restart();
    }
}

amends_testkit::broker_conformance!(InMemory);
