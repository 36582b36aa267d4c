//! A command in two hands: the process that has it stands still for longer than the broker waits, and another one gets it.
//! Whoever then says that nothing took effect has made it so.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Mutex, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use amends::Outcome;
use amends_barrier::{Answer, Error, forward, in_transaction};
use amends_nats::{Call, Handler, NotNow, Participant, ParticipantSettings, Reply};
use amends_nats_testkit::Server;
use async_trait::async_trait;
use tokio::sync::oneshot;

use crate::service::{SERVICE, Service, known};
use crate::world::{World, connect, in_time, until};

/// When a process stands still with its first command in hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    /// Before anything is done.
    Begun,
    /// It has failed, and what it wrote is undone.
    Failed,
    /// It has closed the attempt out, and is about to answer.
    ClosedOut,
    Never,
}

/// Its first command fails, unless it stands still before that; whatever comes then is carried out.
struct Hand {
    service: Service,
    moment: Moment,
    took_one: AtomicBool,
    stands: Mutex<Option<oneshot::Sender<()>>>,
    goes_on: Mutex<mpsc::Receiver<()>>,
}

impl Hand {
    /// Blocks its thread, on which all of its process runs, as if that were suspended.
    fn stand_still(&self, moment: Moment) {
        if self.moment == moment
            && let Some(stands) = self.stands.lock().unwrap().take()
        {
            let _ = stands.send(());
            let _ = self.goes_on.lock().unwrap().recv();
        }
    }
}

#[async_trait]
impl Handler for Hand {
    async fn command(&self, call: &Call) -> Result<Reply, NotNow> {
        let is_first = !self.took_one.swap(true, SeqCst);
        self.stand_still(Moment::Begun);
        if is_first && self.moment != Moment::Begun {
            self.service.fails(call).await;
            self.stand_still(Moment::Failed);
            return Ok(Reply::transient("busy", "nothing took effect"));
        }
        self.service.command(call).await
    }

    async fn close_out(&self, call: &Call, reply: Reply) -> Result<Reply, NotNow> {
        let reply = self.service.close_out(call, reply).await?;
        self.stand_still(Moment::ClosedOut);
        Ok(reply)
    }

    async fn query(&self, call: &Call) -> Result<Reply, NotNow> {
        self.service.query(call).await
    }
}

impl Service {
    /// Carries a command out whose transaction is rolled back.
    async fn fails(&self, call: &Call) {
        let answer = in_transaction(self.db(), async |txn| {
            forward::<u64, String, Error, _, _>(txn, known(call), || async {
                Err(sea_orm::DbErr::Custom("the body fails".to_owned()).into())
            })
            .await
        });
        assert!(!matches!(answer.await, Ok(Answer::Kept(_))), "nothing is kept");
    }
}

/// The broker waits for an acknowledgement for a moment only, and gives this process one command at a time: none waits in
/// it while it stands still.
fn settings() -> ParticipantSettings {
    let ack_wait = Duration::from_millis(300);
    ParticipantSettings { ack_wait, in_flight: 1, ..ParticipantSettings::new(SERVICE) }
}

/// A process of the service with a thread of its own.
struct Process {
    thread: JoinHandle<()>,
    stands: Option<oneshot::Receiver<()>>,
    goes_on: mpsc::Sender<()>,
    end: oneshot::Sender<()>,
}

impl Process {
    /// Takes commands once this returns.
    async fn start(world: &World, moment: Moment) -> Self {
        let (stands, stood) = oneshot::channel();
        let (goes_on, waits) = mpsc::channel();
        let (end, ended) = oneshot::channel::<()>();
        let (ready, is_ready) = oneshot::channel();
        let (url, folder) = (world.url.clone(), world.folder().to_owned());
        let work = async move {
            let hand = Hand {
                service: Service::open(&folder).await,
                moment,
                took_one: AtomicBool::new(false),
                stands: Mutex::new(Some(stands)),
                goes_on: Mutex::new(waits),
            };
            let participant = Participant::start(connect(&url).await, settings(), hand).await.unwrap();
            ready.send(()).unwrap();
            let _ = ended.await;
            participant.stop().await;
        };
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(work);
        });
        in_time("it begins", is_ready).await.unwrap();
        Self { thread, stands: Some(stood), goes_on, end }
    }

    /// Returns once it stands still.
    async fn stands(&mut self) {
        in_time("it stands still", self.stands.take().unwrap()).await.unwrap();
    }

    fn goes_on(&self) {
        self.goes_on.send(()).unwrap();
    }

    /// Ends it in order.
    async fn stop(self) {
        self.end.send(()).unwrap();
        let thread = self.thread;
        tokio::task::spawn_blocking(move || thread.join().unwrap()).await.unwrap();
    }
}

fn as_settings(settings: &mut ParticipantSettings) {
    *settings = self::settings();
}

#[tokio::test]
async fn who_stood_still_and_failed_says_what_another_hand_did_before_it_died() {
    let server = Server::start();
    let world = World::on(server.url()).await;
    // An attempt that is known without effect turns the saga back, and nobody asks again.
    let node = world.node_with(|plan| plan.retry = "once").await;
    let mut first = Process::start(&world, Moment::Failed).await;
    node.order(0).await;
    first.stands().await;
    world.service.exit.forget_permits(tokio::sync::Semaphore::MAX_PERMITS);
    let second = world.participant_with(world.connect().await, as_settings).await;
    until("it took effect in the other hand", async || world.service.effects().await.len() == 1).await;
    drop(second);
    first.goes_on();
    world.audit(&node, [0]).await;
    first.stop().await;
}

#[tokio::test]
async fn who_comes_after_an_attempt_was_closed_out_says_the_same_and_the_next_attempt_takes_effect() {
    let server = Server::start();
    let world = World::on(server.url()).await;
    let node = world.node().await;
    let mut first = Process::start(&world, Moment::ClosedOut).await;
    node.order(0).await;
    first.stands().await;
    assert_eq!(world.service.effects().await, []);
    let _second = world.participant_with(world.connect().await, as_settings).await;
    let outcome = node.ended(0).await;
    assert!(matches!(outcome, Outcome::Completed(_)), "{outcome:?}");
    assert!(node.timeline(0).await.contains("reserve started (attempt 2)"), "{}", node.timeline(0).await);
    first.goes_on();
    world.audit(&node, [0]).await;
    first.stop().await;
    let timeline = node.timeline(0).await;
    assert!(!timeline.contains("quarantine") && !timeline.contains("disputed"), "{timeline}");
}

#[tokio::test]
async fn what_was_answered_without_effect_takes_none_in_a_hand_that_stood_still() {
    let server = Server::start();
    let world = World::on(server.url()).await;
    let node = world.node_with(|plan| plan.retry = "once").await;
    let mut slow = Process::start(&world, Moment::Begun).await;
    node.order(0).await;
    slow.stands().await;
    let failing = Process::start(&world, Moment::Never).await;
    let outcome = node.ended(0).await;
    assert!(matches!(outcome, Outcome::Compensated { .. }), "{outcome:?}");
    failing.stop().await;
    slow.goes_on();
    // It carries out what it has in hand before it ends.
    slow.stop().await;
    assert_eq!(world.service.effects().await, [], "{}", node.timeline(0).await);
    world.assert_nothing_left(&node).await;
    assert_eq!(node.engine.desk().await.unwrap(), []);
}
