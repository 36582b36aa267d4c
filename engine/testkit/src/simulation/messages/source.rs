//! Where events come from: a source that publishes each until it is acknowledged.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use amends_core::Timestamp;
use serde::{Deserialize, Serialize};

use super::EVENTS;
use super::broker::FaultyBroker;
use crate::broker::Message;

/// What an event says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Event {
    /// Its own id.
    pub(crate) id: String,
    pub(crate) workflow: String,
    pub(crate) key: String,
    pub(crate) input: u32,
    pub(crate) occurred_at: Timestamp,
    /// Our own code fails on it, whenever it comes.
    pub(crate) is_poison: bool,
}

/// A source of events. Clones are the same source.
#[derive(Clone)]
pub(crate) struct Source {
    broker: FaultyBroker,
    unpublished: Arc<AtomicU64>,
}

impl Source {
    pub(crate) fn new(broker: FaultyBroker) -> Self {
        Self { broker, unpublished: Arc::default() }
    }

    /// How many events it has not published yet.
    pub(crate) fn unpublished(&self) -> u64 {
        self.unpublished.load(Ordering::Relaxed)
    }

    /// An event happened: it is published until that is acknowledged. Each time it is said, and not each time it is sent,
    /// has an id at the broker, so a duplicate that comes from the source is no duplicate for the broker.
    pub(crate) fn say(&self, event: &Event, said: u64) -> impl Future<Output = ()> + Send + 'static {
        let body = serde_json::to_string(event).expect("an event is JSON");
        self.send(format!("event.{}", event.workflow), format!("{}-{said}", event.id), body)
    }

    /// Something that is no event.
    pub(crate) fn babble(&self, said: u64) -> impl Future<Output = ()> + Send + 'static {
        self.send("event.babble".to_owned(), format!("babble-{said}"), "{\"id\":".to_owned())
    }

    fn send(&self, subject: String, id: String, body: String) -> impl Future<Output = ()> + Send + 'static {
        let message = Message { subject: subject.into(), id: Some(id), headers: Default::default(), body };
        let Self { broker, unpublished } = self.clone();
        unpublished.fetch_add(1, Ordering::Relaxed);
        async move {
            while broker.publish(EVENTS, message.clone()).await.is_err() {
                broker.sleep(Duration::from_secs(1)).await;
            }
            unpublished.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
