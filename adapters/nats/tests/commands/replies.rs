//! Replies that are quicker than the store, of sagas that nobody knows, twice, and in another order.

use std::time::Duration;

use amends::Outcome;
use amends_nats_testkit::Server;
use async_nats::jetstream::Message;
use async_nats::jetstream::consumer::{PullConsumer, pull};
use futures_util::StreamExt as _;
use sea_orm::{ConnectionTrait as _, Database};
use uuid::Uuid;

use crate::service::SERVICE;
use crate::world::{COMMANDS, ENGINE, REPLIES, World, in_time, look_again, until};

const FAST: u32 = 300;

/// Occupies the engine's file most of the time: whoever writes waits for about 50 ms.
async fn occupy(file: String) {
    let db = Database::connect(file).await.unwrap();
    loop {
        if db.execute_unprepared("BEGIN IMMEDIATE").await.is_ok() {
            for _ in 0..5 {
                look_again().await;
            }
            db.execute_unprepared("COMMIT").await.unwrap();
        }
        look_again().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g14_replies_that_are_faster_than_the_store_settle_every_step_the_first_time() {
    let server = Server::start();
    let world = World::on(server.url()).await;
    let _participant = world.participant().await;
    let node = world.node_with(|plan| plan.replies.ack_wait = Duration::from_secs(60)).await;
    let occupied = tokio::spawn(occupy(format!("sqlite://{}", world.file().display())));
    let started = futures_util::stream::iter(0..FAST).for_each_concurrent(64, |number| {
        let node = &node;
        async move {
            node.order(number).await;
        }
    });
    started.await;
    for number in 0..FAST {
        node.ended(number).await;
    }
    occupied.abort();
    for number in 0..FAST {
        let told = node.timeline(number).await;
        assert!(!told.contains("unknown") && !told.contains("attempt 2"), "{told}");
    }
    assert!(world.service.calls().values().all(|times| *times == 1), "no command was needed again");
    world.audit(&node, 0..FAST).await;
    let delivered = world.consumer(ENGINE, REPLIES).await.delivered.consumer_sequence;
    let replies = u64::try_from(world.service.calls().len()).unwrap();
    assert_eq!(delivered, replies, "no reply was needed again");
}

#[tokio::test]
async fn g14_a_reply_of_a_saga_that_nobody_knows_is_parked_for_a_while_and_then_with_a_person() {
    let server = Server::start();
    let world = World::on(server.url()).await;
    let _participant = world.participant().await;
    let node = world.node_with(|plan| plan.replies.deliveries_max = 4).await;
    let nobody = amends::core::SagaId(Uuid::from_u128(7));
    world.reply(nobody, Uuid::from_u128(8), "applied", "1").await;
    until("it has come and gone", async || {
        world.consumer(ENGINE, REPLIES).await.delivered.consumer_sequence >= 2
    })
    .await;
    assert_eq!(node.intake().await, [], "it is parked");
    // Meanwhile nobody waits for it.
    for number in 0..5 {
        node.order(number).await;
    }
    for number in 0..5 {
        node.ended(number).await;
    }
    until("it is with a person", async || !node.intake().await.is_empty()).await;
    let kept = node.intake().await;
    assert_eq!((kept.len(), kept[0].saga), (1, Some(nobody)));
    assert!(kept[0].reason.words.contains("saga"), "{:?}", kept[0].reason);
    world.audit(&node, 0..5).await;
    let delivered = world.consumer(ENGINE, REPLIES).await.delivered.consumer_sequence;
    assert_eq!(delivered, 11 + 4, "eleven replies once, and this one four times");
}

#[tokio::test]
async fn what_answers_nobody_is_with_a_person_at_once_and_comes_no_more() {
    let server = Server::start();
    let world = World::on(server.url()).await;
    let _participant = world.participant().await;
    let node = world.node().await;
    let jetstream = world.connection.jetstream();
    jetstream.publish(format!("amends.reply.{ENGINE}"), "who am I".into()).await.unwrap().await.unwrap();
    until("it is with a person", async || !node.intake().await.is_empty()).await;
    let kept = node.intake().await;
    assert_eq!((kept[0].reason.code.as_str(), &*kept[0].raw.kept), ("malformed", &b"who am I"[..]));
    node.order(0).await;
    world.audit(&node, 0..1).await;
}

/// The next command, taken by hand.
async fn command(world: &World) -> Message {
    let consumer: PullConsumer =
        world.connection.jetstream().get_consumer_from_stream(SERVICE, COMMANDS).await.unwrap();
    let mut one = consumer.fetch().max_messages(1).expires(Duration::from_secs(60)).messages().await.unwrap();
    in_time("a command comes", one.next()).await.unwrap().unwrap()
}

/// Whom a command is from: its request.
fn request(command: &Message) -> Uuid {
    let headers = command.headers.as_ref().unwrap();
    headers.get("Amends-Request-Id").unwrap().as_str().parse().unwrap()
}

#[tokio::test]
async fn replies_that_come_twice_and_in_another_order_settle_each_step_once() {
    let server = Server::start();
    let world = World::on(server.url()).await;
    let stream = world.connection.jetstream().get_stream(COMMANDS).await.unwrap();
    let by_hand = pull::Config {
        durable_name: Some(SERVICE.to_owned()),
        filter_subject: format!("amends.command.{SERVICE}.>"),
        ..pull::Config::default()
    };
    stream.create_consumer(by_hand).await.unwrap();
    let node = world.node().await;
    let saga = node.order(0).await;
    // What was taken is told after what came of it, and that several times.
    let reserve = command(&world).await;
    for (outcome, body) in [("applied", "1"), ("accepted", ""), ("applied", "1"), ("applied", "1")] {
        world.reply(saga.id(), request(&reserve), outcome, body).await;
    }
    let charge = command(&world).await;
    assert_ne!(request(&charge), request(&reserve));
    // An answer of the step before, in the middle of this one.
    world.reply(saga.id(), request(&reserve), "applied", "1").await;
    for (outcome, body) in
        [("accepted", ""), ("accepted", ""), ("applied", "7"), ("applied", "7"), ("accepted", "")]
    {
        world.reply(saga.id(), request(&charge), outcome, body).await;
    }
    assert!(matches!(node.ended(0).await, Outcome::Completed(_)));
    reserve.double_ack().await.unwrap();
    charge.double_ack().await.unwrap();
    world.assert_nothing_left(&node).await;
    until("nothing waits for a person", async || node.engine.desk().await.unwrap().is_empty()).await;
    let told = node.timeline(0).await;
    for step in ["reserve succeeded", "charge succeeded"] {
        assert_eq!(told.matches(step).count(), 1, "{told}");
    }
    assert_eq!(told.matches("started (attempt").count(), 2, "{told}");
}
