//! A consumer belongs to the engines of one store: those of another are refused by name, and take nothing.

use std::sync::Arc;
use std::time::Duration;

use amends::Engine;
use amends::memory::MemoryStore;
use amends_nats::{
    ConsumerState, DeclareError, Replies, RepliesError, ReplySettings, Triggers, TriggersError, streams,
};
use async_nats::jetstream::consumer::pull;

use crate::world::{CONSUMER, STREAM, World, until_ended};

/// A node of another installation, which was given the same names.
async fn stranger(world: &World) -> Engine {
    let builder = Engine::builder(Arc::new(MemoryStore::new())).register(world.saga.clone());
    builder.node_name("staging").host("laptop").start().await.unwrap()
}

async fn remove(world: &World, stream: &str, consumer: &str) {
    let stream = world.connection.jetstream().get_stream(stream).await.unwrap();
    stream.delete_consumer(consumer).await.unwrap();
}

/// It names the consumer, both nodes, and what to do.
fn assert_named(error: &DeclareError, consumer: &str, owner: &Engine, this: &Engine) {
    let DeclareError::OfAnotherStore { of, .. } = error else { panic!("{error:?}") };
    assert_eq!(of, consumer);
    let told = error.to_string();
    for part in [
        format!("{} ({})", owner.node_name(), owner.incarnation()),
        format!("{} ({})", this.node_name(), this.incarnation()),
        "another prefix, engine or consumer name, or delete the consumer".to_owned(),
    ] {
        assert!(told.contains(&part), "{told}");
    }
}

#[tokio::test]
async fn a_trigger_of_another_store_is_refused_and_takes_no_event() {
    let world = World::new().await;
    let triggers = world.start().await;
    let stranger = stranger(&world).await;
    let start = || Triggers::on(&world.connection, &stranger).with(world.trigger()).start();
    let Err(TriggersError::Declare(refused)) = start().await else { panic!("it was to be refused") };
    assert_named(&refused, "consumer amends-order of ORDERS", &world.engine, &stranger);
    assert_eq!(stranger.node_name(), "staging on laptop");
    for number in 0..20 {
        world.place(&format!("o-{number}"), 1).await;
    }
    assert_eq!(until_ended(&triggers, 20).await.sagas, 20);

    // It may have a consumer of its own, and that one once its store is no more.
    let own = world.trigger().consumer("staging-order");
    Triggers::on(&world.connection, &stranger).with(own).start().await.unwrap();
    drop(triggers);
    remove(&world, STREAM, CONSUMER).await;
    start().await.unwrap();
}

#[tokio::test]
async fn replies_of_another_store_are_refused_and_left_to_it() {
    let world = World::new().await;
    for settings in streams("amends").unwrap() {
        world.connection.declare_stream(&settings, true).await.unwrap();
    }
    let take = async |engine: &Engine, name: &str| {
        Replies::take(engine.clone(), world.connection.clone(), ReplySettings::new(name)).await
    };
    let _replies = take(&world.engine, "test").await.unwrap();
    let stranger = stranger(&world).await;
    let Err(RepliesError::Declare(refused)) = take(&stranger, "test").await else {
        panic!("it was to be refused")
    };
    assert_named(&refused, "consumer test of AMENDS_REPLIES", &world.engine, &stranger);
    take(&stranger, "staging").await.unwrap();
}

#[tokio::test]
async fn every_node_of_a_store_finds_its_consumer_whoever_declared_it() {
    let store = Arc::new(MemoryStore::new());
    let world = World::on(store.clone()).await;
    world.start().await;
    world.engine.abort().await;
    for name in ["second", "third"] {
        let builder = Engine::builder(store.clone()).register(world.saga.clone()).node_name(name);
        let engine = builder.start().await.unwrap();
        Triggers::on(&world.connection, &engine).with(world.trigger()).start().await.unwrap();
        engine.abort().await;
    }
}

#[tokio::test]
async fn a_consumer_that_nobody_marked_is_taken_as_it_is() {
    let world = World::new().await;
    let config = pull::Config {
        durable_name: Some(CONSUMER.to_owned()),
        filter_subject: "orders.placed".to_owned(),
        ..pull::Config::default()
    };
    let stream = world.connection.jetstream().get_stream(STREAM).await.unwrap();
    stream.create_consumer(config).await.unwrap();
    let triggers = world.start().await;
    world.place("o-1", 1).await;
    assert_eq!(until_ended(&triggers, 1).await.sagas, 1);
}

#[tokio::test]
async fn a_consumer_that_another_store_declares_while_a_trigger_runs_is_told_and_nothing_is_taken_from_it() {
    let world = World::new().await;
    let stranger = stranger(&world).await;
    world.start().await.stop(Duration::ZERO).await;
    let triggers = world.triggers().with(world.trigger().verify_only()).start().await.unwrap();
    remove(&world, STREAM, CONSUMER).await;
    let theirs = Triggers::on(&world.connection, &stranger).with(world.trigger()).start().await.unwrap();
    let told = |readiness: &amends_nats::Readiness| {
        matches!(&readiness.triggers[0].state, ConsumerState::Failing { reason, .. }
            if reason.contains("it was declared by the node staging on laptop"))
    };
    triggers.until(told).await;
    for number in 0..20 {
        world.place(&format!("o-{number}"), 1).await;
    }
    until_ended(&theirs, 20).await;
    assert_eq!(triggers.counters(CONSUMER).unwrap().deliveries, 0);
}
