//! The engine as a NATS micro service: start, inspect and people's verbs by request and reply, discoverable by the
//! stock tools (`nats micro ls`, `nats micro info amends`).
//!
//! Every request is one JSON object, every answer is one. An error comes as NATS services send it, in the headers
//! `Nats-Service-Error` and `Nats-Service-Error-Code`:
//!
//! | code | means |
//! |---|---|
//! | 400 | the request cannot be read, or says nothing that could be done |
//! | 404 | there is no such saga or workflow |
//! | 409 | the key stands for another input, or the state does not allow it; the state is the reason |
//! | 503 | it cannot be decided now: make the same request again |
//!
//! # Subjects, below `amends`
//!
//! | subject | request | answer |
//! |---|---|---|
//! | `start` | `{"workflow", "key", "input", "occurred_at"?}` | `{"saga", "workflow", "key"}`, once it is durable. The same again is the same saga |
//! | `inspect` | a saga | its phase, steps, desk entries, what it waits for, and its timeline as text |
//! | `verbs` | a saga | every verb, with what it would do now or why it would be refused |
//! | `cancel`, `turn-back`, `pause`, `unpause` | a saga, and by whom | `{"answer"}` |
//! | `resume`, `retry-now`, `send-again`, `reject`, `waive` | the same with `"action": "step/forward"` | `{"answer"}` |
//! | `accept` | the same with `"evidence"` and `"output"?` | `{"answer"}` |
//! | `found` | the same with `"evidence"` and `"finding"`: `"not_applied"`, `{"refused": …}`, `{"partial": …}` | `{"answer"}` |
//! | `approve`, `deny` | the same with the compensation as `"action"` | `{"answer"}` |
//! | `outbox` | `{}` | how many messages wait to be published, the oldest 100 of those that were refused, and what does not get through |
//! | `let-go` | a refused message, `{"message": …}` as `outbox` names it, and by whom | `{"answer"}` |
//!
//! *A saga* is `{"saga": "<id>"}` or `{"workflow": …, "key": …}`. *By whom* is `"actor"`, `"reason"` and `"operation"`, the
//! one-time id under which the same request gives the same answer. `answer` is `accepted`, `too-late`, `pending` or
//! `already`. Risky verbs are not offered here.
//!
//! Whoever may publish to these subjects may do all this in anybody's name: give the permission to your own gateways only.

mod request;
mod shown;
mod verbs;

use std::sync::Arc;

use amends::Engine;
use async_nats::service::{self, ServiceExt as _};
use futures_util::{FutureExt as _, StreamExt as _};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::connection::Connection;
use request::Problem;

/// What a service is called, and how much it takes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceSettings {
    /// Its name, and what its subjects begin with. Letters, digits, `-` and `_`. Default `amends`.
    pub name: String,
    /// Requests under way on this node; more wait with the client library. Default 64.
    pub requests_max: usize,
}

impl Default for ServiceSettings {
    fn default() -> Self {
        Self { name: "amends".to_owned(), requests_max: 64 }
    }
}

/// The service cannot be offered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("failed to offer the service {name}: {reason}")]
pub struct ServiceError {
    /// Its name.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// An engine that answers as a NATS service. Dropped, it stops at once.
pub struct EngineService {
    service: Option<service::Service>,
    closing: CancellationToken,
    under_way: TaskTracker,
}

impl EngineService {
    /// Offers an engine as a service. Any number of nodes offer the same one; each request is answered by one of them.
    ///
    /// # Errors
    /// See [`ServiceError`].
    pub async fn start(
        connection: &Connection,
        engine: &Engine,
        settings: ServiceSettings,
    ) -> Result<Self, ServiceError> {
        let failed = |reason: String| ServiceError { name: settings.name.clone(), reason };
        let builder = connection.client().service_builder().description("Sagas: start, inspect, decide");
        let service = builder.start(&settings.name, env!("CARGO_PKG_VERSION")).await;
        let service = service.map_err(|error| failed(error.to_string()))?;
        let group = service.group(&settings.name);
        let room = Arc::new(Semaphore::new(settings.requests_max.max(1)));
        let (closing, under_way) = (CancellationToken::new(), TaskTracker::new());
        for verb in verbs::ALL {
            let endpoint = group.endpoint_builder().name(verb).add(verb).await;
            let endpoint = endpoint.map_err(|error| failed(error.to_string()))?;
            let answering = Answering { verb, engine: engine.clone(), room: room.clone() };
            under_way.spawn(answering.run(endpoint, closing.clone(), under_way.clone()));
        }
        Ok(Self { service: Some(service), closing, under_way })
    }

    /// Takes no more requests, and waits until those under way are answered.
    pub async fn stop(mut self) {
        self.closing.cancel();
        self.under_way.close();
        self.under_way.wait().await;
        if let Some(service) = self.service.take()
            && let Err(error) = service.stop().await
        {
            tracing::debug!(%error, "the service could not say that it stops");
        }
    }
}

impl Drop for EngineService {
    fn drop(&mut self) {
        self.closing.cancel();
    }
}

/// One endpoint.
struct Answering {
    verb: &'static str,
    engine: Engine,
    room: Arc<Semaphore>,
}

impl Answering {
    async fn run(
        self,
        mut endpoint: service::endpoint::Endpoint,
        closing: CancellationToken,
        under_way: TaskTracker,
    ) {
        let answering = Arc::new(self);
        loop {
            let request = tokio::select! {
                biased;
                () = closing.cancelled() => return,
                request = endpoint.next() => request,
            };
            let Some(request) = request else { return };
            let Ok(place) = answering.room.clone().acquire_owned().await else { return };
            let answering = answering.clone();
            under_way.spawn(async move {
                answering.answer(&request).await;
                drop(place);
            });
        }
    }

    async fn answer(&self, request: &service::Request) {
        let work = verbs::answer(&self.engine, self.verb, &request.message.payload);
        // A panic concerns one request.
        let answer = std::panic::AssertUnwindSafe(work).catch_unwind().await;
        let answer = answer.unwrap_or_else(|_| Err(Problem::unavailable("our own code failed on it")));
        let response = match answer {
            Ok(json) => Ok(json.to_string().into()),
            Err(Problem { code, words }) => Err(service::error::Error { status: one_line(&words), code }),
        };
        if let Err(error) = request.respond(response).await {
            tracing::debug!(verb = self.verb, %error, "an answer could not be sent");
        }
    }
}

/// A header holds one line.
fn one_line(words: &str) -> String {
    words.replace(['\r', '\n'], " ")
}
