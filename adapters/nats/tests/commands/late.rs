//! What comes after the end: commands that were overtaken, effects that nobody expected any more, and answers of long ago.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;

use amends::Outcome;
use amends::core::state::Phase;
use amends::core::{ActionId, Json};
use amends::operator::By;
use amends_nats::{Call, Direction, Handler, NotNow, Participant, ParticipantSettings, Reply};
use amends_nats_testkit::Server;
use async_nats::jetstream::consumer::PullConsumer;
use async_nats::jetstream::{AckKind, Message};
use async_trait::async_trait;
use futures_util::StreamExt as _;

use crate::service::SERVICE;
use crate::world::{COMMANDS, World, in_time, until};

/// Takes the next command out of the stream, as a process of the service that stands still from then on.
async fn stuck(world: &World) -> Message {
    let consumer: PullConsumer =
        world.connection.jetstream().get_consumer_from_stream(SERVICE, COMMANDS).await.unwrap();
    let mut one = consumer.fetch().max_messages(1).expires(Duration::from_secs(60)).messages().await.unwrap();
    in_time("a command comes", one.next()).await.unwrap().unwrap()
}

fn by(id: &str) -> By {
    By::new("ann", "the customer does not want it any more", id.to_owned())
}

#[tokio::test]
async fn g10_a_command_that_its_own_undoing_overtook_has_no_effect_when_it_comes() {
    let server = Server::start();
    let world = World::on(server.url()).await;
    let long = |settings: &mut ParticipantSettings| settings.ack_wait = Duration::from_secs(300);
    world.participant_with(world.connect().await, long).await.stop().await;
    let node = world.node_with(|plan| plan.timeout = Duration::from_millis(300)).await;
    let saga = node.order(0).await;
    let late = stuck(&world).await;
    let _participant = world.participant_with(world.connect().await, long).await;
    until("nobody knows what became of it", async || node.timeline(0).await.contains("unknown")).await;
    node.engine.operator().saga(saga.id()).cancel(by("op-1")).await.unwrap();
    let outcome = node.ended(0).await;
    assert!(matches!(outcome, Outcome::Compensated { .. }), "{outcome:?}");
    let before = world.service.deliveries();
    // Now it arrives, and is delivered again for good measure.
    late.double_ack_with(AckKind::Nak(None)).await.unwrap();
    until("it has come", async || world.service.deliveries() > before).await;
    world.assert_nothing_left(&node).await;
    assert_eq!(world.service.effects().await, [], "{}", node.timeline(0).await);
    assert_eq!(node.engine.desk().await.unwrap(), []);
    assert_eq!(saga.view().await.unwrap().phase, Phase::Compensated);
}

/// A service that keeps no barrier: what comes takes effect, however late.
#[derive(Clone, Default)]
struct Careless {
    done: Arc<AtomicU32>,
    undone: Arc<AtomicU32>,
}

#[async_trait]
impl Handler for Careless {
    async fn command(&self, call: &Call) -> Result<Reply, NotNow> {
        Ok(match call.direction {
            Direction::Forward => {
                self.done.fetch_add(1, SeqCst);
                Reply::applied(&1)
            }
            Direction::Compensation => {
                self.undone.fetch_add(1, SeqCst);
                Reply::undone()
            }
        })
    }

    async fn close_out(&self, _: &Call, reply: Reply) -> Result<Reply, NotNow> {
        Ok(reply)
    }

    async fn query(&self, call: &Call) -> Result<Reply, NotNow> {
        let (done, undone) = (self.done.load(SeqCst), self.undone.load(SeqCst));
        Ok(match call.direction {
            Direction::Forward if done > 0 => Reply::applied(&1),
            Direction::Compensation if undone > 0 => Reply::undone(),
            _ => Reply::Absent,
        })
    }
}

#[tokio::test]
async fn g10_a_reply_by_the_broker_that_tells_of_an_effect_after_the_end_has_it_undone_once() {
    let server = Server::start();
    let world = World::on(server.url()).await;
    let careless = Careless::default();
    let settings = || {
        let ack_wait = Duration::from_secs(300);
        ParticipantSettings { ack_wait, ..ParticipantSettings::new(SERVICE) }
    };
    Participant::start(world.connect().await, settings(), careless.clone()).await.unwrap().stop().await;
    let node = world
        .node_with(|plan| {
            plan.timeout = Duration::from_millis(300);
            plan.retry = "once";
        })
        .await;
    let saga = node.order(0).await;
    let late = stuck(&world).await;
    let participant = Participant::start(world.connect().await, settings(), careless.clone()).await.unwrap();
    let outcome = node.ended(0).await;
    assert!(matches!(outcome, Outcome::Compensated { .. }), "{outcome:?}");
    assert_eq!(careless.undone.load(SeqCst), 0, "nothing was found to undo");

    late.double_ack_with(AckKind::Nak(None)).await.unwrap();
    until("it is undone", async || careless.undone.load(SeqCst) > 0).await;
    // The same word twice more.
    let reserve = ActionId::forward("reserve").request_id(saga.id()).0;
    for _ in 0..2 {
        world.reply(saga.id(), reserve, "applied", "1").await;
    }
    world.assert_nothing_left(&node).await;
    until("nothing waits for a person", async || node.engine.desk().await.unwrap().is_empty()).await;
    let view = saga.view().await.unwrap();
    assert_eq!((view.phase, view.state().open_actions(view.plan())), (Phase::Compensated, 0));
    assert_eq!((careless.done.load(SeqCst), careless.undone.load(SeqCst)), (1, 1), "{}", view.timeline());
    participant.stop().await;
}

#[tokio::test]
async fn g16_late_answers_by_the_broker_move_no_ended_saga_and_a_contradiction_is_looked_into() {
    let server = Server::start();
    let world = World::on(server.url()).await;
    let participant = world.participant().await;
    let node = world.node().await;
    let (completed, turned_back) = (node.order(0).await, node.order(4).await);
    world.audit(&node, [0, 4]).await;
    participant.stop().await;
    let effects = world.service.effects().await;
    let before = node.timeline(4).await;
    let request = |saga, step: &str| ActionId::forward(step).request_id(saga).0;
    // A "reserved" of the order that was turned back, twice; a "no" of the one that was charged.
    for _ in 0..2 {
        world.reply(turned_back.id(), request(turned_back.id(), "reserve"), "applied", "5").await;
    }
    let charge = request(completed.id(), "charge");
    world.reply(completed.id(), charge, "refused", "\"after all\"").await;
    until("a discrepancy is seen", async || node.engine.desk().await.unwrap().len() == 1).await;
    let (of, item) = node.engine.desk().await.unwrap().remove(0);
    assert_eq!((of, item.desk), (completed.id(), "discrepancy"));
    let after = node.timeline(4).await;
    let news = after.strip_prefix(&before).expect("nothing of before has changed");
    assert_eq!(news.matches("it repeats what is recorded").count(), 1, "{news}");
    assert_eq!(news.lines().count(), 2, "it was taken up, and nothing moved: {news}");

    // Nobody answered when it was asked, so a person looks into it.
    let evidence = "the till has it as it was recorded";
    let it = node.engine.operator().saga(completed.id());
    it.accept(ActionId::forward("charge"), Some(Json::encode(&1).unwrap()), evidence, by("op-1"))
        .await
        .unwrap();
    until("it is looked into", async || node.engine.desk().await.unwrap().is_empty()).await;
    for (saga, phase) in [(completed, Phase::Completed), (turned_back, Phase::Compensated)] {
        let view = saga.view().await.unwrap();
        assert_eq!((view.phase, view.state().open_actions(view.plan())), (phase, 0));
    }
    world.assert_nothing_left(&node).await;
    assert_eq!(world.service.effects().await, effects);
}
