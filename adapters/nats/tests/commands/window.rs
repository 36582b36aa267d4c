//! A publish whose acknowledgement is lost, within the broker's memory for ids and after it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use amends::ports::{OutboxMessage, PublishError, Published, Publisher};
use amends_nats::{Connection, NatsPublisher};
use amends_nats_testkit::Server;
use async_nats::HeaderMap;
use async_trait::async_trait;
use uuid::Uuid;

use crate::world::{COMMANDS, World, look_again};

/// The shortest that a server takes.
pub(crate) const SHORTEST: Duration = Duration::from_millis(100);

/// Returns once the stream of commands has forgotten every id that it has heard so far: it forgets them in their order,
/// and `mark` is one that nobody else uses.
pub(crate) async fn pass(connection: &Connection, mark: &str) {
    let jetstream = connection.jetstream();
    let stream = jetstream.get_stream(COMMANDS).await.unwrap();
    let mut stored = 0;
    while stored < 2 {
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Msg-Id", mark);
        let sent = jetstream.publish_with_headers("amends.command.nobody.probe", headers, "".into()).await;
        let acknowledged = sent.unwrap().await.unwrap();
        if !acknowledged.duplicate {
            stream.delete_message(acknowledged.sequence).await.unwrap();
            stored += 1;
        }
        look_again().await;
    }
}

/// Publishes, and says of each message's first time that no acknowledgement came.
struct Lossy {
    nats: NatsPublisher,
    /// The window passes before the second time.
    outlasts: Option<Connection>,
    answers: Mutex<BTreeMap<Uuid, Vec<Published>>>,
}

#[async_trait]
impl Publisher for Lossy {
    async fn publish(&self, message: &OutboxMessage) -> Result<Published, PublishError> {
        let came_before = self.answers.lock().unwrap().contains_key(&message.id);
        if came_before && let Some(connection) = &self.outlasts {
            pass(connection, &format!("after {}", message.id)).await;
        }
        let published = self.nats.publish(message).await?;
        self.answers.lock().unwrap().entry(message.id).or_default().push(published);
        match came_before {
            true => Ok(published),
            false => Err(PublishError::Unavailable("timed out".to_owned())),
        }
    }
}

impl Lossy {
    fn new(world: &World, outlasts: Option<Connection>) -> Arc<Self> {
        let nats = NatsPublisher::new(world.connection.clone(), "amends").unwrap();
        Arc::new(Self { nats, outlasts, answers: Mutex::default() })
    }

    /// Each message went out twice; was the second one known?
    fn assert_twice(&self, known: bool) {
        let answers = self.answers.lock().unwrap();
        let expected = [Published { duplicate: false }, Published { duplicate: known }];
        assert!(answers.values().all(|answers| *answers == expected), "{answers:?}");
    }
}

#[tokio::test]
async fn g27_a_publish_that_is_reported_as_timed_out_though_it_was_stored_is_delivered_once() {
    let server = Server::start();
    let world = World::on(server.url()).await;
    let _participant = world.participant().await;
    let lossy = Lossy::new(&world, None);
    let node = world.node_with(|plan| plan.publisher = Some(lossy.clone())).await;
    for number in 0..5 {
        node.order(number).await;
    }
    world.audit(&node, 0..5).await;
    lossy.assert_twice(true);
    assert_eq!(world.service.deliveries(), 11, "the broker knew each of the second ones");
}

#[tokio::test]
async fn g27_after_the_duplicate_window_the_command_comes_twice_and_takes_effect_once() {
    let server = Server::start();
    let world = World::with(server.url(), |stream| stream.duplicate_window = SHORTEST).await;
    let _participant = world.participant().await;
    let lossy = Lossy::new(&world, Some(world.connect().await));
    let node = world.node_with(|plan| plan.publisher = Some(lossy.clone())).await;
    for number in 0..5 {
        node.order(number).await;
    }
    world.audit(&node, 0..5).await;
    lossy.assert_twice(false);
    assert_eq!(world.service.deliveries(), 22, "each command was delivered twice");
    assert!(world.service.calls().values().all(|times| *times == 2), "under its own request id");
}
