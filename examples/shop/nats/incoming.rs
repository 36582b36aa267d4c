//! Lines as events: published to the stream, from which the triggers start the sagas.
//!
//! An event is CloudEvents 1.0 as JSON; the triggers take plain JSON as well, so that anybody can publish an order with
//! a stock client. The key of a saga is the name in the order, not the event's id: so the same order is one saga,
//! however often it comes.

use std::sync::Arc;
use std::time::Duration;

use amends::core::Json;
use amends::ports::Clock as _;
use amends::ports::{SagaRow, SystemClock};
use amends::{Engine, Payload, Saga, SagaHandle};
use amends_nats::trigger::TriggerSource;
use amends_nats::{Connection, Trigger};
use amends_workflows::ports::Sent;
use amends_workflows::{OrderPlaced, PaymentRequested, RefundRequested};
use serde_json::json;
use serde_json::value::RawValue;

use super::left::WORK;
use crate::load::Start;

/// How long the saga of an event is waited for, once the stream has it.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often it is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How often an event is published whose acknowledgement does not come.
const PUBLISHED_MAX: u32 = 3;

/// Orders start order sagas.
pub(super) fn orders(source: TriggerSource, saga: &Saga<OrderPlaced, Sent>) -> Trigger<OrderPlaced, Sent> {
    at_work(source.workflow(saga).key(|event| Ok(event.data::<OrderPlaced>()?.order().to_string())))
}

/// Payments start payment sagas.
pub(super) fn payments(
    source: TriggerSource,
    saga: &Saga<PaymentRequested, Sent>,
) -> Trigger<PaymentRequested, Sent> {
    at_work(source.workflow(saga).key(|event| Ok(event.data::<PaymentRequested>()?.payment().to_string())))
}

/// Refunds start refund sagas.
pub(super) fn refunds(
    source: TriggerSource,
    saga: &Saga<RefundRequested, Sent>,
) -> Trigger<RefundRequested, Sent> {
    at_work(source.workflow(saga).key(|event| Ok(event.data::<RefundRequested>()?.refund.to_string())))
}

/// What is in hand of a process that died comes to another one.
fn at_work<I: Payload, O: 'static>(trigger: Trigger<I, O>) -> Trigger<I, O> {
    trigger.consumer_settings(|consumer| consumer.ack_wait = WORK)
}

/// The way of lines into the shop. Cheap to clone.
#[derive(Clone)]
pub struct Incoming {
    connection: Connection,
    prefix: Arc<str>,
    source: Arc<str>,
}

/// The saga that stands for an event.
pub enum Taken {
    /// It has the input of the event.
    Same(SagaHandle),
    /// It has another one.
    Conflict,
    /// The engine has stopped.
    Stopped,
}

impl Incoming {
    pub(super) fn new(connection: Connection, prefix: &str, source: &str) -> Self {
        Self { connection, prefix: prefix.into(), source: source.into() }
    }

    /// Publishes the event of a line, and returns once the stream has it.
    ///
    /// # Errors
    /// When it does not take it.
    pub async fn publish(&self, line: usize, start: &Start) -> Result<(), String> {
        let data = RawValue::from_string(start.input.text().to_owned()).map_err(|error| error.to_string())?;
        let event = json!({
            "specversion": "1.0",
            "id": format!("{}:{line}", self.source),
            "source": "/shop",
            "type": format!("shop.{}.v1", start.saga.workflow),
        });
        // The data goes as it came, number for number.
        let mut event = event.to_string();
        event.truncate(event.len() - 1);
        let event = format!("{event},\"data\":{data}}}");
        let subject = format!("{}.incoming.{}", self.prefix, start.saga.workflow);
        let mut failure = String::new();
        for _ in 0..PUBLISHED_MAX {
            let jetstream = self.connection.jetstream();
            let published = async { jetstream.publish(subject.clone(), event.clone().into()).await?.await };
            match published.await {
                Ok(_) => return Ok(()),
                // Whether the stream has it is unknown, and coming twice does no harm.
                Err(error) => failure = error.to_string(),
            }
        }
        Err(format!("no acknowledgement of {subject}: {failure}"))
    }

    /// Waits for the saga of an event that was published.
    ///
    /// # Errors
    /// When there is none for a while, or the database does not answer.
    pub async fn taken(&self, engine: &Engine, start: &Start) -> Result<Taken, String> {
        let (workflow, key) = (&start.saga.workflow, &start.saga.key);
        let clock = SystemClock::new();
        let until = clock.now() + PATIENCE;
        loop {
            if engine.stopped().is_some() {
                return Ok(Taken::Stopped);
            }
            let row = engine.query().find(workflow, key).await.map_err(|error| error.to_string())?;
            if let Some(row) = row {
                if !has_input(&row, workflow, &start.input) {
                    return Ok(Taken::Conflict);
                }
                let handle = engine.find(workflow, key).await.map_err(|error| error.to_string())?;
                if let Some(handle) = handle {
                    return Ok(Taken::Same(handle));
                }
            }
            if clock.now() >= until {
                return Err(format!("its event was published, and no saga came of it within {PATIENCE:?}"));
            }
            clock.sleep_until(clock.now() + LOOK_EVERY).await;
        }
    }
}

/// Was the saga started with this, as the triggers read it?
fn has_input(row: &SagaRow, workflow: &str, input: &Json) -> bool {
    let digest = match workflow {
        "order" => digest::<OrderPlaced>(input),
        "payment" => digest::<PaymentRequested>(input),
        _ => digest::<RefundRequested>(input),
    };
    digest == Some(row.input_digest)
}

fn digest<T: Payload>(input: &Json) -> Option<[u8; 32]> {
    Json::encode(&input.decode::<T>().ok()?).ok()?.canonical_digest().ok()
}
