//! A service that is slower than the broker waits, and acknowledgements that come late or not at all.

use std::collections::BTreeMap;
use std::time::Duration;

use amends_nats::ParticipantSettings;
use amends_nats_testkit::Server;
use async_nats::jetstream::consumer::PullConsumer;
use futures_util::StreamExt as _;
use tokio::sync::Semaphore;
use uuid::Uuid;

use crate::killed::{server_with_a_mute, url_of};
use crate::service::SERVICE;
use crate::world::{COMMANDS, REPLIES, World, connect, in_time, until};

fn all(calls: &BTreeMap<Uuid, u32>, requests: usize, is_so: impl Fn(u32) -> bool) -> bool {
    calls.len() == requests && calls.values().all(|times| is_so(*times))
}

/// The broker waits for an acknowledgement for a moment only.
fn short(settings: &mut ParticipantSettings) {
    settings.ack_wait = Duration::from_millis(300);
}

#[tokio::test]
async fn commands_that_come_again_while_they_are_worked_on_take_effect_once() {
    // Nobody hears that the service still works on them.
    let server = server_with_a_mute();
    let world = World::on(url_of(&server, "all")).await;
    let mute = connect(&url_of(&server, "mute")).await;
    let participant = world.participant_with(mute, short).await;
    let node = world.node().await;
    // What was done is answered late: after the broker has given the command to somebody else, who waits as well.
    world.service.exit.forget_permits(Semaphore::MAX_PERMITS);
    for number in 0..10 {
        node.order(number).await;
    }
    until("all is done", async || world.service.effects().await.len() == 10).await;
    until("every command came again", async || all(&world.service.calls(), 10, |times| times >= 3)).await;
    assert_eq!(world.messages(REPLIES).await, 0, "none of them is answered");
    world.service.exit.add_permits(Semaphore::MAX_PERMITS);
    for number in 0..10 {
        node.ended(number).await;
    }
    drop(participant);
    let _participant = world.participant_with(world.connect().await, short).await;
    world.audit(&node, 0..10).await;
}

#[tokio::test]
async fn a_service_that_takes_one_command_at_a_time_is_given_no_more_and_loses_none() {
    let server = Server::start();
    let world = World::on(server.url()).await;
    let node = world.node().await;
    let _participant = world.participant_with(world.connect().await, |settings| settings.in_flight = 1).await;
    world.service.gate.forget_permits(Semaphore::MAX_PERMITS);
    for number in 0..60 {
        node.order(number).await;
    }
    until("all lie there", async || world.messages(COMMANDS).await == 60).await;
    until("one is worked on", async || world.service.deliveries() == 1).await;
    let info = world.consumer(SERVICE, COMMANDS).await;
    assert!(info.num_ack_pending <= 2, "what waits in a buffer is in nobody's hands: {info:?}");
    world.service.gate.add_permits(Semaphore::MAX_PERMITS);
    world.audit(&node, 0..60).await;
}

#[tokio::test]
async fn a_command_that_a_frozen_process_acknowledges_late_was_done_by_another_and_once() {
    let server = Server::start();
    let world = World::on(server.url()).await;
    let node = world.node().await;
    world.participant_with(world.connect().await, short).await.stop().await;
    // A process of the service that takes one command, and then stands still.
    let consumer: PullConsumer =
        world.connection.jetstream().get_consumer_from_stream(SERVICE, COMMANDS).await.unwrap();
    node.order(0).await;
    let mut fetched = consumer.messages().await.unwrap();
    let held = in_time("a command comes", fetched.next()).await.unwrap().unwrap();
    drop(fetched);

    let _participant = world.participant_with(world.connect().await, short).await;
    node.ended(0).await;
    held.double_ack().await.unwrap();
    node.order(1).await;
    world.audit(&node, 0..2).await;
}

#[tokio::test]
async fn acknowledgements_of_commands_that_are_lost_bring_them_again_and_they_take_effect_once() {
    let server = server_with_a_mute();
    let world = World::on(url_of(&server, "all")).await;
    let node = world.node().await;
    let mute = connect(&url_of(&server, "mute")).await;
    let participant = world.participant_with(mute, short).await;
    for number in 0..5 {
        node.order(number).await;
    }
    for number in 0..5 {
        node.ended(number).await;
    }
    until("every command came again", async || all(&world.service.calls(), 11, |times| times >= 3)).await;
    assert_eq!(world.messages(COMMANDS).await, 11, "none of them is acknowledged");
    let before = node.timeline(0).await;
    drop(participant);

    let _participant = world.participant_with(world.connect().await, short).await;
    world.audit(&node, 0..5).await;
    assert_eq!(node.timeline(0).await, before, "replies that come again change nothing");
    assert_eq!(world.messages(REPLIES).await, 0);
}
