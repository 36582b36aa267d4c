//! Streams and consumers: declared where they are missing, compared where they are there.
//!
//! What differs from the settings is reported and never changed: somebody may have meant it. What cannot work at all
//! (a consumer that pushes, one that wants no acknowledgement) is refused.

use std::collections::HashMap;
use std::time::Duration;

use async_nats::jetstream::consumer::{self, AckPolicy, DeliverPolicy};
use async_nats::jetstream::context::{RequestError, RequestErrorKind};
use async_nats::jetstream::response::Response;
use async_nats::jetstream::stream::{self, RetentionPolicy, StorageType};
use async_nats::jetstream::{self, ErrorCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::connection::Connection;

/// A stream as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamSettings {
    /// Its name.
    pub name: String,
    /// What is published into it.
    pub subjects: Vec<String>,
    /// What stays in it. Default: everything, within its limits.
    pub retention: RetentionPolicy,
    /// On how many servers it lies. Default 1; 3 in a cluster that is to survive a server.
    pub replicas: usize,
    /// For how long a repeated `Nats-Msg-Id` is dropped. Default 2 min. Nothing relies on it.
    pub duplicate_window: Duration,
    /// For how long messages stay. Default without end.
    pub age_max: Option<Duration>,
    /// On disk, or in memory. Default on disk.
    pub storage: StorageType,
}

impl StreamSettings {
    /// The defaults, for this name and these subjects.
    pub fn new(name: impl Into<String>, subjects: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            name: name.into(),
            subjects: subjects.into_iter().map(Into::into).collect(),
            retention: RetentionPolicy::Limits,
            replicas: 1,
            duplicate_window: Duration::from_secs(120),
            age_max: None,
            storage: StorageType::File,
        }
    }

    fn config(&self) -> stream::Config {
        stream::Config {
            name: self.name.clone(),
            subjects: self.subjects.clone(),
            retention: self.retention,
            num_replicas: self.replicas,
            duplicate_window: self.duplicate_window,
            max_age: self.age_max.unwrap_or_default(),
            storage: self.storage,
            ..stream::Config::default()
        }
    }

    fn differences(&self, found: &stream::Config) -> Vec<Difference> {
        let of = format!("stream {}", self.name);
        let mut differences = Differences::of(of);
        differences.look("subjects", &self.subjects, &found.subjects);
        differences.look("retention", &self.retention, &found.retention);
        differences.look("replicas", &self.replicas, &found.num_replicas);
        differences.look("duplicate_window", &self.duplicate_window, &found.duplicate_window);
        differences.look("max_age", &self.age_max.unwrap_or_default(), &found.max_age);
        differences.look("storage", &self.storage, &found.storage);
        differences.found
    }
}

/// A durable pull consumer as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumerSettings {
    /// Of this stream.
    pub stream: String,
    /// The messages whose subject this filter takes in.
    pub subject: String,
    /// Its name.
    pub name: String,
    /// How long a message may be in hand without a word before it is delivered again. Default 30 s.
    pub ack_wait: Duration,
    /// The most messages in hand, of all nodes together. Default 4 096.
    pub ack_pending_max: u32,
    /// The most deliveries of a message; none: without end. Default none. A message that is delivered so often is not
    /// delivered any more; it is then put into intake.
    pub deliveries_max: Option<u32>,
    /// On how many servers its state lies; 0: as its stream. Default 0.
    pub replicas: usize,
    /// Where it begins when it is created: with all messages of the stream, or with new ones only. Default all.
    pub only_new: bool,
}

impl ConsumerSettings {
    /// The defaults, for this stream, filter and name.
    pub fn new(stream: impl Into<String>, subject: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            stream: stream.into(),
            subject: subject.into(),
            name: name.into(),
            ack_wait: Duration::from_secs(30),
            ack_pending_max: 4_096,
            deliveries_max: None,
            replicas: 0,
            only_new: false,
        }
    }

    fn config(&self) -> consumer::Config {
        consumer::Config {
            durable_name: Some(self.name.clone()),
            name: Some(self.name.clone()),
            filter_subject: self.subject.clone(),
            ack_policy: AckPolicy::Explicit,
            ack_wait: self.ack_wait,
            max_ack_pending: i64::from(self.ack_pending_max),
            max_deliver: self.deliveries_max.map_or(-1, i64::from),
            num_replicas: self.replicas,
            deliver_policy: if self.only_new { DeliverPolicy::New } else { DeliverPolicy::All },
            ..consumer::Config::default()
        }
    }

    pub(crate) fn of(&self) -> String {
        format!("consumer {} of {}", self.name, self.stream)
    }

    fn differences(&self, found: &consumer::Config) -> Vec<Difference> {
        let mut differences = Differences::of(self.of());
        let wanted = self.config();
        let filters = match found.filter_subjects.as_slice() {
            [] => std::slice::from_ref(&found.filter_subject),
            several => several,
        };
        differences.look("filter_subject", &[wanted.filter_subject][..], filters);
        differences.look("ack_wait", &wanted.ack_wait, &found.ack_wait);
        differences.look("max_ack_pending", &wanted.max_ack_pending, &found.max_ack_pending);
        differences.look("max_deliver", &wanted.max_deliver, &found.max_deliver);
        differences.look("num_replicas", &wanted.num_replicas, &found.num_replicas);
        differences.found
    }
}

/// A setting that is not as it should be. It was left as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Of what: `stream ORDERS`, `consumer amends-order of ORDERS`.
    pub of: String,
    /// Which setting, as NATS calls it.
    pub setting: &'static str,
    /// As the settings here say.
    pub wanted: String,
    /// As it is.
    pub found: String,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {} is {}, not {}", self.of, self.setting, self.found, self.wanted)
    }
}

struct Differences {
    of: String,
    found: Vec<Difference>,
}

impl Differences {
    fn of(of: String) -> Self {
        Self { of, found: Vec::new() }
    }

    fn look<T: PartialEq + std::fmt::Debug + ?Sized>(
        &mut self,
        setting: &'static str,
        wanted: &T,
        found: &T,
    ) {
        if wanted != found {
            let (wanted, found) = (format!("{wanted:?}"), format!("{found:?}"));
            self.found.push(Difference { of: self.of.clone(), setting, wanted, found });
        }
    }
}

/// A stream or consumer cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeclareError {
    /// It is not there, and was not to be created: an operator creates it.
    #[error("failed to find the {of}")]
    Missing {
        /// `stream ORDERS`, `consumer amends-order of ORDERS`.
        of: String,
    },
    /// It is there and cannot be used: an operator mends it.
    #[error("failed to use the {of}: {reason}")]
    Unusable {
        /// As above.
        of: String,
        /// Why.
        reason: String,
    },
    /// It is a consumer of engines on another store: each would take what is the other's. An operator gives one of them another
    /// name, or removes the consumer if that store is no more.
    #[error(
        "failed to use the {of}: it was declared by the node {owner}, which never joined the store of this node, {this}; engines \
         of different stores would take each other's messages. Give one of them another prefix, engine or consumer name, or \
         delete the consumer if that other store is no more"
    )]
    OfAnotherStore {
        /// As above.
        of: String,
        /// The node that declared it, and its incarnation.
        owner: String,
        /// This node, and its incarnation.
        this: String,
    },
    /// The login has not the permission: an operator grants it.
    #[error("failed to look at the {of}: the login has not the permission ({refusal})")]
    Forbidden {
        /// As above.
        of: String,
        /// What the server refused, in its own words.
        refusal: String,
    },
    /// The server does not answer: it may do so later.
    #[error("failed to look at the {of}: {reason}")]
    Unreachable {
        /// As above.
        of: String,
        /// Why.
        reason: String,
    },
}

impl Connection {
    /// Declares a stream where it is missing (and `create` allows that), and compares it where it is there.
    ///
    /// # Errors
    /// See [`DeclareError`].
    pub async fn declare_stream(
        &self,
        settings: &StreamSettings,
        create: bool,
    ) -> Result<Vec<Difference>, DeclareError> {
        let of = format!("stream {}", settings.name);
        let info = format!("STREAM.INFO.{}", settings.name);
        let found: Option<stream::Info> = self.look_up(&of, info.clone()).await?;
        if let Some(found) = found {
            return Ok(settings.differences(&found.config));
        }
        if !create {
            return Err(DeclareError::Missing { of });
        }
        let config = settings.config();
        let created: Result<stream::Info, Failure> =
            self.api(format!("STREAM.CREATE.{}", settings.name), &config).await;
        match created {
            Ok(created) => Ok(settings.differences(&created.config)),
            // Another node was quicker.
            Err(Failure::JetStream(error)) if error.error_code() == ErrorCode::STREAM_NAME_EXIST => {
                let found: Option<stream::Info> = self.look_up(&of, info).await?;
                found.map(|found| settings.differences(&found.config)).ok_or(DeclareError::Missing { of })
            }
            Err(failure) => Err(failure.of(of)),
        }
    }

    /// Declares a consumer where it is missing (and `create` allows that), with this metadata, and compares it where it is
    /// there.
    pub(crate) async fn declare_consumer(
        &self,
        settings: &ConsumerSettings,
        metadata: HashMap<String, String>,
        create: bool,
    ) -> Result<(consumer::Info, Vec<Difference>), DeclareError> {
        let of = settings.of();
        let info = format!("CONSUMER.INFO.{}.{}", settings.stream, settings.name);
        if let Some(found) = self.look_up(&of, info.clone()).await? {
            return settings.usable(found);
        }
        if !create {
            return Err(DeclareError::Missing { of });
        }
        let subject = format!("CONSUMER.CREATE.{}.{}.{}", settings.stream, settings.name, settings.subject);
        // Never an update: what is there already is somebody's.
        let config = consumer::Config { metadata, ..settings.config() };
        let request = json!({"stream_name": settings.stream, "config": config, "action": "create"});
        match self.api(subject, &request).await {
            Ok(created) => settings.usable(created),
            Err(Failure::JetStream(error)) if another_was_quicker(&error) => {
                let found = self.look_up(&of, info).await?;
                found.ok_or(DeclareError::Missing { of }).and_then(|found| settings.usable(found))
            }
            Err(Failure::JetStream(error)) if error.error_code() == ErrorCode::STREAM_NOT_FOUND => {
                Err(DeclareError::Missing { of: format!("stream {}", settings.stream) })
            }
            Err(failure) => Err(failure.of(of)),
        }
    }

    /// What is there under this subject of the API; none, if nothing is.
    async fn look_up<T: DeserializeOwned>(
        &self,
        of: &str,
        subject: String,
    ) -> Result<Option<T>, DeclareError> {
        match self.api(subject, &json!({})).await {
            Ok(found) => Ok(Some(found)),
            Err(Failure::JetStream(error))
                if [ErrorCode::STREAM_NOT_FOUND, ErrorCode::CONSUMER_NOT_FOUND]
                    .contains(&error.error_code()) =>
            {
                Ok(None)
            }
            Err(failure) => Err(failure.of(of.to_owned())),
        }
    }

    async fn api<T: DeserializeOwned>(
        &self,
        subject: String,
        request: &impl Serialize,
    ) -> Result<T, Failure> {
        let answer: Result<Response<T>, RequestError> =
            self.jetstream().request(subject.clone(), request).await;
        match answer {
            Ok(Response::Ok(found)) => Ok(found),
            Ok(Response::Err { error }) => Err(Failure::JetStream(error)),
            Err(error) => Err(match (error.kind(), self.refusal_of(&subject)) {
                (_, Some(refusal)) => Failure::Forbidden(refusal),
                (RequestErrorKind::NoResponders, None) => {
                    Failure::Silence("JetStream does not answer".to_owned())
                }
                (_, None) => Failure::Silence(error.to_string()),
            }),
        }
    }
}

fn another_was_quicker(error: &jetstream::Error) -> bool {
    [ErrorCode::CONSUMER_ALREADY_EXISTS, ErrorCode::CONSUMER_NAME_EXIST].contains(&error.error_code())
}

impl ConsumerSettings {
    fn usable(&self, found: consumer::Info) -> Result<(consumer::Info, Vec<Difference>), DeclareError> {
        let unusable = |reason: &str| DeclareError::Unusable { of: self.of(), reason: reason.to_owned() };
        if found.config.deliver_subject.is_some() {
            return Err(unusable("it pushes messages; here they are pulled"));
        }
        if found.config.ack_policy != AckPolicy::Explicit {
            return Err(unusable(
                "its `ack_policy` is not `explicit`, so messages would be lost or acknowledged in a row",
            ));
        }
        let differences = self.differences(&found.config);
        Ok((found, differences))
    }
}

/// A call of the JetStream API failed.
enum Failure {
    JetStream(jetstream::Error),
    Forbidden(String),
    Silence(String),
}

impl Failure {
    fn of(self, of: String) -> DeclareError {
        match self {
            Self::JetStream(error) => DeclareError::Unusable { of, reason: error.to_string() },
            Self::Forbidden(refusal) => DeclareError::Forbidden { of, refusal },
            Self::Silence(reason) => DeclareError::Unreachable { of, reason },
        }
    }
}
