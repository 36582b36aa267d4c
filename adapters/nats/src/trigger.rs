//! From an event to a saga.
//!
//! # The protocol
//!
//! * One durable pull consumer for each trigger, shared by all nodes. Messages are pulled only as far as there is room
//!   to start sagas ([`TriggerLimits::in_hand_max`]), and all that are in hand are started at once, so that the store
//!   takes them in a few commits.
//! * A message is acknowledged after its saga is durable, and the acknowledgement is confirmed. Whatever happens in
//!   between, it comes again and finds its saga: a duplicate. The broker's windows are a convenience, never relied on.
//! * *This message is bad* (malformed, a type nobody knows, a key that stands for another input) is told from *I cannot
//!   work now*. The first goes to intake on its first delivery, with its bytes and the reason, and is terminated. For the
//!   second nothing is pulled, and what is in hand is kept alive with `+WPI`, so that no outage uses up deliveries.
//! * *Our own code failed* (a panic in an extractor) concerns one message: it comes again after a growing time, and at the
//!   [n-th delivery](TriggerLimits::failures_max), by the broker's count, it goes to intake.
//!
//! # Failure cases
//!
//! * *The process dies between start and acknowledgement*: the message comes again after the consumer's `ack_wait`.
//! * *The connection is lost, the server restarts, the consumer moves to another server*: two heartbeats are missed; the
//!   pull is made again, and the consumer is looked at first.
//! * *The consumer is gone*: it is declared again, or readiness names it ([`Trigger::verify_only`]).
//! * *A message kills the process*: after twice [`failures_max`](TriggerLimits::failures_max) deliveries it goes to intake
//!   without being read.
//! * *Intake is full*, or *a person holds the starts of the workflow*: nothing more is pulled until a person has closed
//!   something, or released them.

mod ending;
mod envelope;
mod event;

mod start;
mod verdict;

mod work;

mod advisory;
mod run;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use amends::core::admission;
use amends::{Payload, Saga};

pub use ending::Counters;
pub(crate) use envelope::timestamp;
pub use event::{Event, Unfit};
pub use run::{Triggers, TriggersBuilder, TriggersError};

use crate::declare::{ConsumerSettings, StreamSettings};
use start::{Starter, Starts};

/// How much a trigger takes on, and for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriggerLimits {
    /// Messages in hand on this node: being read, started and acknowledged. Default 256, as many as one commit of the
    /// store takes.
    pub in_hand_max: u32,
    /// The largest message, and how deep its JSON may be nested. Default 1 MiB and 64.
    pub message: admission::Limits,
    /// At which delivery a message on which our own code fails goes to intake. Default 10.
    pub failures_max: u64,
    /// After how long a message comes again on which our own code failed: the first time, and at most. It doubles.
    /// Default 1 s and 60 s.
    pub failure_delay: (Duration, Duration),
    /// How long one pull waits for messages. Default 30 s; at least 200 ms.
    pub pull_expires: Duration,
    /// How often the server says that a waiting pull is alive. After two of these without a word it is made again.
    /// At most half of `pull_expires`. Default 1 s; at least 100 ms.
    pub heartbeat: Duration,
}

impl Default for TriggerLimits {
    fn default() -> Self {
        Self {
            in_hand_max: 256,
            message: admission::Limits::DEFAULT,
            failures_max: 10,
            failure_delay: (Duration::from_secs(1), Duration::from_secs(60)),
            pull_expires: Duration::from_secs(30),
            heartbeat: Duration::from_secs(1),
        }
    }
}

/// Which messages. Becomes a [`Trigger`] by saying what they start.
#[derive(Clone, Debug)]
#[must_use = "it starts nothing before it has a workflow"]
pub struct TriggerSource {
    stream: String,
    subject: String,
}

impl TriggerSource {
    /// Starts sagas of this workflow. Unless said otherwise, the data of an event is the input, and the event's id is
    /// the key.
    pub fn workflow<I: Payload, O: 'static>(self, saga: &Saga<I, O>) -> Trigger<I, O> {
        let consumer =
            format!("amends-{}", saga.plan().workflow).replace(['.', '*', '>', ' ', '/', '\\'], "-");
        Trigger {
            consumer: ConsumerSettings::new(self.stream, self.subject, consumer),
            stream: None,
            create: true,
            limits: TriggerLimits::default(),
            starter: Starter::new(saga.clone()),
        }
    }
}

/// Events that start sagas of one workflow. The extractor's type and the workflow's input are the same at compile time:
///
/// ```
/// use amends::prelude::*;
/// use amends::Saga;
/// use amends_nats::{Event, Trigger};
/// # use serde::{Deserialize, Serialize};
/// # #[derive(Serialize, Deserialize)]
/// # struct OrderPlaced { order: String, amount: u64 }
/// # impl Payload for OrderPlaced { const SCHEMA: &'static str = "order-placed/1"; }
/// # #[derive(Deserialize)]
/// # struct Checkout { basket: String, total: u64 }
///
/// fn trigger(saga: &Saga<OrderPlaced, ()>) -> Trigger<OrderPlaced, ()> {
///     Trigger::on("SHOP", "shop.checkout.>")
///         .workflow(saga)
///         .types(["checkout.v1"])
///         .key(|event| Ok(format!("{}/{}", event.subject_part(2).unwrap_or("-"), event.id().unwrap_or("-"))))
///         .input(|event| {
///             let checkout: Checkout = event.data()?;
///             Ok(OrderPlaced { order: checkout.basket, amount: checkout.total })
///         })
/// }
/// ```
///
/// What does not fit does not compile:
///
/// ```compile_fail,E0308
/// # use amends::prelude::*;
/// # use amends::Saga;
/// # use amends_nats::Trigger;
/// # use serde::{Deserialize, Serialize};
/// # #[derive(Serialize, Deserialize)]
/// # struct OrderPlaced { order: String, amount: u64 }
/// # impl Payload for OrderPlaced { const SCHEMA: &'static str = "order-placed/1"; }
/// # #[derive(Serialize, Deserialize)]
/// # struct Checkout { basket: String, total: u64 }
/// # fn trigger(saga: &Saga<OrderPlaced, ()>) {
/// Trigger::on("SHOP", "shop.checkout.>").workflow(saga).input(|_| {
///     Ok(Checkout { basket: "b-1".to_owned(), total: 1 }) // the workflow takes an `OrderPlaced`
/// });
/// # }
/// ```
#[must_use = "a trigger starts nothing before it runs: give it to `Triggers`"]
pub struct Trigger<I = (), O = ()> {
    consumer: ConsumerSettings,
    stream: Option<StreamSettings>,
    create: bool,
    limits: TriggerLimits,
    starter: Starter<I, O>,
}

impl Trigger {
    /// Of this stream, the messages whose subject this filter takes in: `orders.placed`, `orders.*`, `orders.>`.
    pub fn on(stream: impl Into<String>, subject: impl Into<String>) -> TriggerSource {
        TriggerSource { stream: stream.into(), subject: subject.into() }
    }
}

impl<I: Payload, O: 'static> Trigger<I, O> {
    /// Takes the saga's key from the event, instead of the event's id. One event, one key: two events of one key are
    /// one saga, or a conflict.
    pub fn key(
        mut self,
        extractor: impl Fn(&Event) -> Result<String, Unfit> + Send + Sync + 'static,
    ) -> Self {
        self.starter.key = Arc::new(extractor);
        self
    }

    /// Takes the workflow's input from the event, instead of decoding its data as it. It must give the same for the same
    /// event whenever it is asked, for the saga's input is compared with it.
    pub fn input(mut self, extractor: impl Fn(&Event) -> Result<I, Unfit> + Send + Sync + 'static) -> Self {
        self.starter.input = Arc::new(extractor);
        self
    }

    /// Takes CloudEvents of these types only; any other, and what has no type, goes to intake.
    pub fn types(mut self, types: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.starter.types = Some(types.into_iter().map(Into::into).collect());
        self
    }

    /// Takes CloudEvents of these data schemas only; any other, and what names none, goes to intake.
    pub fn schemas(mut self, schemas: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.starter.schemas = Some(schemas.into_iter().map(Into::into).collect());
        self
    }

    /// The name of the durable consumer, which all nodes share, and of this trigger in reports. Default
    /// `amends-<workflow>`.
    pub fn consumer(mut self, name: impl Into<String>) -> Self {
        self.consumer.name = name.into();
        self
    }

    /// Says more about the consumer.
    pub fn consumer_settings(mut self, change: impl FnOnce(&mut ConsumerSettings)) -> Self {
        change(&mut self.consumer);
        self
    }

    /// Declares the stream as well, where it is missing. Without this it must be there.
    pub fn declare_stream(mut self, settings: StreamSettings) -> Self {
        self.stream = Some(settings);
        self
    }

    /// Creates nothing: stream and consumer must be there, and readiness names what is missing.
    pub fn verify_only(mut self) -> Self {
        self.create = false;
        self
    }

    /// Replaces the limits.
    pub fn limits(mut self, limits: TriggerLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Without its types, as it runs.
    fn erased(self) -> Declared {
        let Self { consumer, stream, create, limits, starter } = self;
        Declared { consumer, stream, create, limits, starter: Arc::new(starter) }
    }
}

impl<I, O> fmt::Debug for Trigger<I, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { consumer, starter, .. } = self;
        write!(f, "Trigger({} {} -> {})", consumer.stream, consumer.subject, starter.workflow())
    }
}

/// A trigger as it runs.
struct Declared {
    consumer: ConsumerSettings,
    stream: Option<StreamSettings>,
    /// May what is missing be created?
    create: bool,
    limits: TriggerLimits,
    starter: Arc<dyn Starts>,
}
