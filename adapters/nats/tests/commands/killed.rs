//! An engine that dies between every two steps of outbox → publish → acknowledged → remove, and of reply received → mail
//! durable → acknowledged → decided; and another one that goes on. The broker's memory for ids is as short as it can be,
//! and has passed before the other one begins.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use amends::core::ActionId;
use amends::ports::{OutboxMessage, PublishError, Published, Publisher};
use amends_nats::{Connection, NatsPublisher};
use amends_nats_testkit::Server;
use async_trait::async_trait;
use tokio::sync::Semaphore;

use crate::window::{SHORTEST, pass};
use crate::world::{COMMANDS, ENGINE, Node, Order, REPLIES, World, connect, until};

/// Stops each message before it leaves, and before anybody hears that the broker has it.
struct Stopping {
    nats: NatsPublisher,
    before: Semaphore,
    after: Semaphore,
    came: AtomicU32,
    stored: AtomicU32,
    told: AtomicU32,
}

impl Stopping {
    fn new(connection: &Connection, moment: Moment) -> Arc<Self> {
        let open = |open: bool| Semaphore::new(if open { Semaphore::MAX_PERMITS } else { 0 });
        Arc::new(Self {
            nats: NatsPublisher::new(connection.clone(), "amends").unwrap(),
            before: open(moment != Moment::Leaving),
            after: open(false),
            came: AtomicU32::new(0),
            stored: AtomicU32::new(0),
            told: AtomicU32::new(0),
        })
    }
}

#[async_trait]
impl Publisher for Stopping {
    async fn publish(&self, message: &OutboxMessage) -> Result<Published, PublishError> {
        self.came.fetch_add(1, SeqCst);
        let _pass = self.before.acquire().await;
        let published = self.nats.publish(message).await;
        self.stored.fetch_add(1, SeqCst);
        let _pass = self.after.acquire().await;
        self.told.fetch_add(1, SeqCst);
        published
    }
}

/// Before which step it is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    Leaving,
    HeardOf,
    Removed,
}

#[tokio::test]
async fn g27_killed_between_any_two_steps_of_publishing_a_command_takes_effect_once() {
    let server = Server::start();
    let world = World::with(server.url(), |stream| stream.duplicate_window = SHORTEST).await;
    let _participant = world.participant().await;
    let moments = [Moment::Leaving, Moment::HeardOf, Moment::Removed];
    for (number, moment) in (0..).zip(moments) {
        let stopping = Stopping::new(&world.connection, moment);
        let node = world.node_with(|plan| plan.publisher = Some(stopping.clone())).await;
        // Nothing but the publishing moves.
        world.service.gate.forget_permits(Semaphore::MAX_PERMITS);
        let id = node.order(number).await.id();
        match moment {
            Moment::Leaving => until("it would leave", async || stopping.came.load(SeqCst) == 1).await,
            Moment::HeardOf => until("it is stored", async || stopping.stored.load(SeqCst) == 1).await,
            Moment::Removed => {
                until("it is stored", async || stopping.stored.load(SeqCst) == 1).await;
                node.refuse_writes(true);
                stopping.after.add_permits(1);
                until("it is heard of", async || stopping.told.load(SeqCst) == 1).await;
            }
        }
        node.kill().await;
        pass(&world.connection, &format!("after {number}")).await;

        let node = world.node().await;
        until("nothing stands in the outbox", async || node.commands_waiting().await == 0).await;
        let reserve = ActionId::forward("reserve").request_id(id).0;
        let times = if moment == Moment::Leaving { 1 } else { 2 };
        until(&format!("it was delivered {times} times"), async || {
            world.service.calls().get(&reserve) == Some(&times)
        })
        .await;
        world.service.gate.add_permits(Semaphore::MAX_PERMITS);
        node.ended(number).await;
        node.stop().await;
    }
    let node = world.node().await;
    world.audit(&node, 0..3).await;
}

/// Starts an order whose command is with the service, and goes no further.
async fn held_at_the_service(world: &World, node: &Node, number: u32) {
    let before = world.service.deliveries();
    world.service.gate.forget_permits(Semaphore::MAX_PERMITS);
    node.order(number).await;
    until("the service has the command", async || world.service.deliveries() > before).await;
    until("the outbox is empty", async || node.commands_waiting().await == 0).await;
}

fn let_go(world: &World) {
    world.service.gate.add_permits(Semaphore::MAX_PERMITS);
}

#[tokio::test]
async fn g14_a_reply_that_comes_while_no_engine_runs_is_applied_by_the_next_one() {
    let server = Server::start();
    let world = World::on(server.url()).await;
    let _participant = world.participant().await;
    let node = world.node().await;
    held_at_the_service(&world, &node, 0).await;
    node.kill().await;
    let_go(&world);
    until("the reply is there", async || world.messages(REPLIES).await == 1).await;
    let node = world.node().await;
    world.audit(&node, 0..1).await;
    assert_eq!(world.service.deliveries(), 2, "neither command was asked for again");
}

#[tokio::test]
async fn killed_between_a_reply_and_its_durable_mail_it_is_taken_by_the_next_engine() {
    let server = Server::start();
    let world = World::on(server.url()).await;
    let _participant = world.participant().await;
    let node = world.node().await;
    held_at_the_service(&world, &node, 0).await;
    node.refuse_writes(true);
    let_go(&world);
    until("the reply is in hand", async || world.consumer(ENGINE, REPLIES).await.num_ack_pending == 1).await;
    node.kill().await;
    assert_eq!(world.messages(REPLIES).await, 1, "what is not durable is not acknowledged");
    let node = world.node().await;
    world.audit(&node, 0..1).await;
    assert_eq!(world.service.deliveries(), 2);
}

/// A server with a login `mute` whose acknowledgements are lost, and one for everybody else.
pub(crate) fn server_with_a_mute() -> Server {
    let rules = r#"authorization { users: [
        { user: all, password: all },
        { user: mute, password: mute, permissions: { publish: { deny: ["$JS.ACK.>"] } } },
    ] }"#;
    Server::builder().configuration(rules).start()
}

/// Where this login connects.
pub(crate) fn url_of(server: &Server, login: &str) -> String {
    server.url().replace("nats://", &format!("nats://{login}@"))
}

#[tokio::test]
async fn killed_between_the_durable_mail_of_a_reply_and_its_acknowledgement_it_is_taken_once() {
    let server = server_with_a_mute();
    let world = World::on(url_of(&server, "all")).await;
    let _participant = world.participant().await;
    let mute = connect(&url_of(&server, "mute")).await;
    let node = world.node_with(|plan| plan.hears_by = Some(mute)).await;
    for number in 0..5 {
        node.order(number).await;
    }
    for number in 0..5 {
        node.ended(number).await;
    }
    // Two replies for each, and a third where the charge was declined: one of the undoing is under way, or has come.
    until("all replies lie there", async || world.messages(REPLIES).await == 11).await;
    let before = node.timeline(0).await;
    node.kill().await;
    let node = world.node().await;
    world.audit(&node, 0..5).await;
    assert_eq!(node.timeline(0).await, before, "replies that were taken before change nothing");
    assert_eq!(world.service.deliveries(), 11);
}

#[tokio::test]
async fn killed_between_the_acknowledgement_of_a_reply_and_its_decision_it_is_decided_by_the_next_engine() {
    let server = Server::start();
    let world = World::on(server.url()).await;
    let _participant = world.participant().await;
    let node = world.node_with(|plan| plan.hears = false).await;
    held_at_the_service(&world, &node, 0).await;
    node.kill().await;
    let_go(&world);
    until("the reply is there", async || world.messages(REPLIES).await == 1).await;
    // It takes the reply for whoever owns the saga, and does not take the saga up.
    let node = world.node_with(|plan| plan.knows = false).await;
    until("the reply is acknowledged", async || world.messages(REPLIES).await == 0).await;
    node.kill().await;
    assert_eq!(world.messages(COMMANDS).await, 0);
    let node = world.node().await;
    world.audit(&node, 0..1).await;
    assert_eq!(world.service.deliveries(), 2);
    let key = Order::number(0).order;
    assert!(node.engine.find("order", &key).await.unwrap().is_some());
}
