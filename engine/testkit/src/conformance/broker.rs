//! The broker's suite: [`broker_conformance!`](crate::broker_conformance) makes one `#[test]` of each behaviour.
//!
//! It asks for what triggers, commands and replies build on, of a real server and of the broker in memory alike: durable
//! messages in order, ids within a duplicate window, pull consumers whose messages come again until they are answered,
//! bounds, and restarts. Nothing in it sleeps: where time has to pass, a pull waits for a message that does not come.

pub mod answers;
pub mod bounds;
pub mod publishing;
pub mod restarts;
pub mod sharing;

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use tokio::runtime::Runtime;

use crate::broker::{Answer, ConsumerSettings, Delivery, Full, Keeps, Message, Stored, StreamSettings};

/// Makes the brokers under test. One factory serves one test: it may own the server.
#[async_trait]
pub trait BrokerFactory: Send + Sync + 'static {
    /// The broker.
    type Broker: BrokerUnderTest;

    /// What the test runs on. By default real time.
    fn runtime(&self) -> Runtime {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        runtime.expect("a runtime starts")
    }

    /// A broker with one stream, which takes the subjects `s.>`, and no consumer. Called once.
    async fn open(&self, stream: &StreamSettings) -> Self::Broker;
}

/// A broker with one stream.
#[async_trait]
pub trait BrokerUnderTest: Send + Sync {
    /// Declares a consumer.
    async fn consumer(&self, settings: &ConsumerSettings);

    /// Publishes a message, and waits for its acknowledgement.
    ///
    /// # Errors
    /// When the stream is full.
    async fn publish(&self, message: &Message) -> Result<Stored, Full>;

    /// Up to so many messages of a consumer: those that can be had; if there is none, those that come first within
    /// `wait`; none after that.
    async fn pull(&self, consumer: &str, most: usize, wait: Duration) -> Vec<Delivery>;

    /// Answers for a message, and waits until the broker has heard it.
    async fn answer(&self, delivery: &Delivery, answer: Answer);

    /// The broker is stopped in order, and starts again.
    async fn restart(&mut self);
}

/// Within this a broker that is well gives what can be had.
const SOON: Duration = Duration::from_secs(20);

/// A moment, after which nothing is expected to come any more.
const A_MOMENT: Duration = Duration::from_millis(300);

/// The ack wait of consumers that are waited for.
const ACK_WAIT: Duration = Duration::from_millis(800);

/// The consumer of most behaviours.
const C: &str = "c";

fn queue() -> StreamSettings {
    StreamSettings { keeps: Keeps::Untaken, ..StreamSettings::default() }
}

fn everything(name: &str) -> ConsumerSettings {
    ConsumerSettings { ack_wait: SOON, ..ConsumerSettings::new(name, "s.>") }
}

fn impatient(name: &str) -> ConsumerSettings {
    ConsumerSettings { ack_wait: ACK_WAIT, ..everything(name) }
}

fn message(id: &str, body: &str) -> Message {
    Message {
        subject: "s.a".into(),
        id: Some(id.to_owned()),
        headers: BTreeMap::new(),
        body: body.to_owned(),
    }
}

/// The bodies of deliveries, in order, with the number of each.
fn told(deliveries: &[Delivery]) -> Vec<(&str, u64)> {
    deliveries.iter().map(|delivery| (delivery.message.body.as_str(), delivery.number)).collect()
}

async fn publish(broker: &impl BrokerUnderTest, id: &str, body: &str) -> Stored {
    broker.publish(&message(id, body)).await.expect("there is room")
}

/// As many messages as that, however many pulls it takes.
async fn pull(broker: &impl BrokerUnderTest, consumer: &str, count: usize) -> Vec<Delivery> {
    let mut all = Vec::new();
    while all.len() < count {
        let more = broker.pull(consumer, count - all.len(), SOON).await;
        assert!(!more.is_empty(), "{} of {count} messages came", all.len());
        all.extend(more);
    }
    all
}

async fn one(broker: &impl BrokerUnderTest, consumer: &str) -> Delivery {
    pull(broker, consumer, 1).await.remove(0)
}

#[track_caller]
fn nothing(came: Vec<Delivery>) {
    assert_eq!(told(&came), []);
}

/// Runs one behaviour against one broker.
///
/// # Panics
/// When the broker does not behave.
pub fn check<F, B>(factory: F, behaviour: impl FnOnce(F) -> B)
where
    F: BrokerFactory,
    B: Future<Output = ()>,
{
    let runtime = factory.runtime();
    runtime.block_on(behaviour(factory));
}

/// One `#[test]` for each behaviour that every broker must show. The argument is an expression that makes a
/// [`BrokerFactory`](crate::conformance::broker::BrokerFactory).
#[macro_export]
macro_rules! broker_conformance {
    ($factory:expr) => {
        $crate::broker_behaviours! { $factory;
            publishing::{
                messages_come_as_they_were_published_in_the_order_in_which_they_were_stored,
                an_id_that_is_repeated_within_the_window_is_a_duplicate_and_stored_once,
                an_id_stays_known_when_its_message_is_done_with,
                an_id_is_forgotten_after_the_window,
                messages_without_an_id_are_never_duplicates,
            }
            answers::{
                what_was_acknowledged_does_not_come_again,
                what_was_terminated_does_not_come_again,
                what_nobody_answers_comes_again_with_the_next_number,
                what_comes_again_comes_before_what_is_new,
                what_was_given_back_comes_again_at_once,
                what_was_given_back_for_a_while_comes_again_after_it,
                what_is_being_worked_on_does_not_come_again,
                an_acknowledgement_that_comes_after_the_redelivery_counts,
            }
            bounds::{
                what_was_delivered_too_often_comes_no_more_and_holds_up_nobody,
                a_full_stream_refuses_what_is_new_and_takes_it_once_there_is_room,
                no_more_is_in_hand_than_may_be,
                what_is_too_old_is_gone,
            }
            sharing::{
                who_shares_a_consumer_gets_each_message_once,
                two_consumers_get_each_message_each,
                a_consumer_gets_what_its_filter_takes_in,
                a_consumer_that_comes_later_gets_what_lies_there,
                of_a_work_queue_nothing_is_left_that_was_taken,
            }
            restarts::{
                messages_and_where_they_stand_survive_a_restart,
                an_id_stays_known_over_a_restart_while_its_message_lies_there,
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! broker_behaviours {
    ($factory:expr; $($area:ident :: { $($behaviour:ident),* $(,)? })*) => {$(
        mod $area {
            use super::*;
            $(
                #[test]
                fn $behaviour() {
                    $crate::conformance::broker::check(
                        $factory,
                        $crate::conformance::broker::$area::$behaviour,
                    );
                }
            )*
        }
    )*};
}
