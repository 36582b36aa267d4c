//! One connection, and what the server says about itself. The client library connects again by itself, without end.

use std::sync::Arc;
use std::time::Duration;

use async_nats::client::{RequestError, RequestErrorKind};
use async_nats::jetstream::{self, context::ContextBuilder};
use async_nats::{ConnectErrorKind, ConnectOptions, Request};

use crate::heard::{Heard, general};
use crate::settings::{Login, NatsSettings};
use crate::version::ServerVersion;

/// The first wait before connecting again; it grows by as much with every try.
const RECONNECT_STEP: Duration = Duration::from_millis(50);

/// There is no usable connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// No server answers: it may do so later.
    #[error("failed to reach NATS at {url}: {reason}")]
    Unreachable {
        /// The servers that were tried.
        url: String,
        /// Why.
        reason: String,
    },
    /// The server does not let this login in, or the login cannot be read: an operator mends it.
    #[error("failed to log in to NATS at {url}: {reason}")]
    Refused {
        /// The servers that were tried.
        url: String,
        /// Why.
        reason: String,
    },
    /// The server is too old: an operator replaces it.
    #[error(
        "failed to use NATS at {url}: the server is version {found}, which ignores features it does not know; \
         at least {} is needed",
        ServerVersion::LEAST
    )]
    TooOld {
        /// The servers that were tried.
        url: String,
        /// Its version.
        found: ServerVersion,
    },
    /// The server has no JetStream: an operator switches it on.
    #[error("failed to use NATS at {url}: the server runs without JetStream; start it with `-js`")]
    NoJetStream {
        /// The servers that were tried.
        url: String,
    },
}

/// A connection to NATS. Cheap to clone: every clone is the same connection.
#[derive(Clone)]
pub struct Connection {
    client: async_nats::Client,
    jetstream: jetstream::Context,
    version: ServerVersion,
    inbox_prefix: Arc<str>,
    heard: Arc<Heard>,
}

impl Connection {
    /// Connects, and reads the server's version. Later it connects again by itself, without end.
    ///
    /// # Errors
    /// See [`ConnectError`].
    pub async fn open(settings: NatsSettings) -> Result<Self, ConnectError> {
        let url = settings.url.clone();
        let heard = Arc::new(Heard::default());
        let options = options(&settings, heard.clone()).await.map_err(|reason| refused(&url, reason))?;
        let servers: Vec<String> = url.split(',').map(|server| server.trim().to_owned()).collect();
        let client = options.connect(servers).await.map_err(|error| connect_error(&url, &error))?;
        let info = client.server_info();
        let version = match info.version.parse::<ServerVersion>() {
            Ok(found) if found < ServerVersion::LEAST => return Err(ConnectError::TooOld { url, found }),
            Ok(found) => found,
            Err(reason) => return Err(ConnectError::Unreachable { url, reason }),
        };
        if !info.jetstream {
            return Err(ConnectError::NoJetStream { url });
        }
        if version < ServerVersion::ADVISED {
            tracing::warn!(%version, advised = %ServerVersion::ADVISED, "the nats-server is old");
        }
        let context = ContextBuilder::new().timeout(settings.request_timeout);
        let jetstream = match &settings.domain {
            Some(domain) => context.domain(domain).build(client.clone()),
            None => context.build(client.clone()),
        };
        tracing::info!(%version, server = info.server_name, "connected to NATS");
        let inbox_prefix = settings.inbox_prefix.as_deref().unwrap_or("_INBOX").into();
        Ok(Self { client, jetstream, version, inbox_prefix, heard })
    }

    /// The client of the library.
    pub fn client(&self) -> &async_nats::Client {
        &self.client
    }

    /// JetStream on it.
    pub fn jetstream(&self) -> &jetstream::Context {
        &self.jetstream
    }

    /// The version of the server that this connection was opened to.
    pub fn version(&self) -> ServerVersion {
        self.version
    }

    /// Is there a connection at this moment?
    pub fn is_connected(&self) -> bool {
        self.client.connection_state() == async_nats::connection::State::Connected
    }

    /// What the server refused to this connection, in its own words, the oldest first; at most 64.
    pub fn refusals(&self) -> Vec<String> {
        self.heard.refusals()
    }

    /// How often the connection was lost since it was opened. A server hangs up on whoever reads too slowly; only its own
    /// log says that this was why (*Slow Consumer*).
    pub fn connections_lost(&self) -> u64 {
        self.heard.connections_lost()
    }

    /// How many messages the client library dropped since the connection was opened, at least, because those before them
    /// were not taken from it quickly enough ([`NatsSettings::subscription_capacity`]).
    pub fn messages_dropped(&self) -> u64 {
        self.heard.messages_dropped()
    }

    /// What the server refused that names a subject which ends so, or the subjects of answers: the reason why an answer
    /// never came.
    pub(crate) fn refusal_of(&self, subject: &str) -> Option<String> {
        let named = format!("{subject}\"");
        let answers = format!("Subscription to \"{}.", self.inbox_prefix);
        let explains = |refusal: &String| refusal.contains(&named) || refusal.contains(&answers);
        self.heard.refusals().into_iter().rev().find(explains)
    }

    /// Asks, and waits for the answer for as long as the settings say.
    pub(crate) async fn request(&self, subject: String, payload: String) -> Result<(), RequestFailure> {
        let request = Request::new().payload(payload.into());
        match self.client.send_request(subject.clone(), request).await {
            Ok(_) => Ok(()),
            Err(error) => Err(RequestFailure::of(&error, self.refusal_of(&general(&subject)))),
        }
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("version", &self.version).finish_non_exhaustive()
    }
}

/// An answer did not come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RequestFailure {
    /// Nobody listens there: whom it was for is gone.
    NobodyThere,
    /// The connection has not the permission.
    Refused(String),
    /// It did not come in time, or there is no connection: whether it was heard is unknown.
    Silence(String),
}

impl RequestFailure {
    fn of(error: &RequestError, refusal: Option<String>) -> Self {
        match (error.kind(), refusal) {
            (RequestErrorKind::NoResponders, _) => Self::NobodyThere,
            (_, Some(refusal)) => Self::Refused(refusal),
            _ => Self::Silence(error.to_string()),
        }
    }
}

async fn options(settings: &NatsSettings, heard: Arc<Heard>) -> Result<ConnectOptions, String> {
    let longest = settings.reconnect_delay_max;
    let mut options = ConnectOptions::new()
        .name(&settings.name)
        .request_timeout(Some(settings.request_timeout))
        .connection_timeout(settings.connect_timeout)
        .subscription_capacity(settings.subscription_capacity)
        .require_tls(settings.tls.required)
        .reconnect_delay_callback(move |tries| {
            RECONNECT_STEP.saturating_mul(u32::try_from(tries).unwrap_or(u32::MAX)).min(longest)
        })
        .event_callback(move |event| {
            heard.event(&event);
            std::future::ready(())
        });
    if let Some(prefix) = &settings.inbox_prefix {
        options = options.custom_inbox_prefix(prefix);
    }
    if let Some(roots) = &settings.tls.roots {
        options = options.add_root_certificates(roots.clone());
    }
    if let Some((certificate, key)) = &settings.tls.client {
        options = options.add_client_certificate(certificate.clone(), key.clone());
    }
    match &settings.login {
        Login::Open => Ok(options),
        Login::Password { user, password } => Ok(options.user_and_password(user.clone(), password.clone())),
        Login::Token(token) => Ok(options.token(token.clone())),
        Login::NKey(seed) => Ok(options.nkey(seed.clone())),
        Login::CredentialsFile(path) => {
            let unreadable =
                |error| format!("the credentials file {} cannot be read: {error}", path.display());
            options.credentials_file(path).await.map_err(unreadable)
        }
    }
}

fn refused(url: &str, reason: impl ToString) -> ConnectError {
    ConnectError::Refused { url: url.to_owned(), reason: reason.to_string() }
}

fn connect_error(url: &str, error: &async_nats::ConnectError) -> ConnectError {
    match error.kind() {
        ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => refused(url, error),
        _ => ConnectError::Unreachable { url: url.to_owned(), reason: error.to_string() },
    }
}
