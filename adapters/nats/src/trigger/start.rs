//! The typed middle: an event in, a saga out.

use std::sync::Arc;

use amends::engine::SagaStartError;
use amends::{Begun, Engine, Payload, Saga, StartOptions};
use async_trait::async_trait;

use super::event::{Event, Unfit};

type Extractor<T> = Arc<dyn Fn(&Event) -> Result<T, Unfit> + Send + Sync>;

/// Which events start what, and how.
pub(crate) struct Starter<I, O> {
    saga: Saga<I, O>,
    pub(super) key: Extractor<String>,
    pub(super) input: Extractor<I>,
    pub(super) types: Option<Vec<String>>,
    pub(super) schemas: Option<Vec<String>>,
}

/// No saga stands for the event.
pub(crate) enum NoSaga {
    /// No saga can be made of it.
    Unfit(Unfit),
    /// The engine did not start one.
    NotStarted(SagaStartError),
}

/// A saga stands for the event.
pub(crate) struct Stands {
    pub(crate) is_new: bool,
}

/// A starter without its types.
#[async_trait]
pub(crate) trait Starts: Send + Sync {
    fn workflow(&self) -> &str;

    /// Does the engine know the workflow?
    fn is_known_to(&self, engine: &Engine) -> bool;

    /// Starts the event's saga, or finds it. Waits for as long as the engine cannot.
    async fn start(&self, engine: &Engine, event: &Event) -> Result<Stands, NoSaga>;
}

impl<I: Payload, O: 'static> Starter<I, O> {
    pub(super) fn new(saga: Saga<I, O>) -> Self {
        let key = |event: &Event| {
            let without = "it has no id: neither a CloudEvents `id` nor the header `Nats-Msg-Id`";
            event.id().map(str::to_owned).ok_or_else(|| Unfit::new(without))
        };
        Self { saga, key: Arc::new(key), input: Arc::new(Event::data), types: None, schemas: None }
    }

    fn check(&self, event: &Event) -> Result<(), Unfit> {
        one_of("type", event.event_type(), self.types.as_deref())?;
        one_of("dataschema", event.schema(), self.schemas.as_deref())
    }
}

impl<I, O> Starter<I, O> {
    pub(super) fn workflow(&self) -> &str {
        &self.saga.plan().workflow
    }
}

fn one_of(what: &str, found: Option<&str>, known: Option<&[String]>) -> Result<(), Unfit> {
    let Some(known) = known else { return Ok(()) };
    let known_here = known.join(", ");
    match found {
        Some(found) if known.iter().any(|one| one == found) => Ok(()),
        Some(found) => Err(Unfit::unknown_version(format!(
            "its {what} `{found}` is not known here; known are: {known_here}"
        ))),
        None => Err(Unfit::unknown_version(format!("it names no {what}; known are: {known_here}"))),
    }
}

#[async_trait]
impl<I: Payload, O: 'static> Starts for Starter<I, O> {
    fn workflow(&self) -> &str {
        Starter::workflow(self)
    }

    fn is_known_to(&self, engine: &Engine) -> bool {
        engine.knows(&self.saga)
    }

    async fn start(&self, engine: &Engine, event: &Event) -> Result<Stands, NoSaga> {
        self.check(event).map_err(NoSaga::Unfit)?;
        let key = (self.key)(event).map_err(NoSaga::Unfit)?;
        let input = (self.input)(event).map_err(NoSaga::Unfit)?;
        let options = StartOptions {
            occurred_at: Some(event.occurred_at()),
            trigger: Some(event.record()),
            trace: event.trace.clone(),
            ..StartOptions::default()
        };
        let begun = engine.start_or_find(&self.saga, key, input, options).await;
        let begun = begun.map_err(NoSaga::NotStarted)?;
        Ok(Stands { is_new: matches!(begun, Begun::New(_)) })
    }
}
