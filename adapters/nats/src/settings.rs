//! How to connect.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// How to reach a server, and as whom.
#[derive(Clone, Debug)]
pub struct NatsSettings {
    /// The servers, separated by commas: `nats://host:4222`, `tls://host:4222`.
    pub url: String,
    /// What the server calls this connection. Default `amends`.
    pub name: String,
    /// Who connects. Default [`Login::Open`].
    pub login: Login,
    /// Encryption. Default: what the server asks for, against the roots of the system.
    pub tls: Tls,
    /// The JetStream domain, where there are several. Default none.
    pub domain: Option<String>,
    /// What answers are sent to: for accounts that may only subscribe to a part of `_INBOX`. Default `_INBOX`.
    pub inbox_prefix: Option<String>,
    /// How long the answer to one request is waited for. Default 5 s.
    pub request_timeout: Duration,
    /// How long connecting may take. Default 5 s.
    pub connect_timeout: Duration,
    /// The most messages of one subscription that wait in the client to be taken. What is more the client drops: it is counted
    /// ([`Connection::messages_dropped`]), and comes again or is asked for again. At least as many as one taker has in hand.
    /// Default 65 536.
    ///
    /// [`Connection::messages_dropped`]: crate::Connection::messages_dropped
    pub subscription_capacity: usize,
    /// The longest wait between two tries to connect again, which is tried without end. Default 500 ms.
    pub reconnect_delay_max: Duration,
}

impl NatsSettings {
    /// The defaults, for these servers.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            name: "amends".to_owned(),
            login: Login::Open,
            tls: Tls::default(),
            domain: None,
            inbox_prefix: None,
            request_timeout: Duration::from_secs(5),
            connect_timeout: Duration::from_secs(5),
            subscription_capacity: 65_536,
            reconnect_delay_max: Duration::from_millis(500),
        }
    }

    /// Connects as somebody.
    #[must_use]
    pub fn login(mut self, login: Login) -> Self {
        self.login = login;
        self
    }

    /// Says more about encryption.
    #[must_use]
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = tls;
        self
    }

    /// Is known to the server by this name.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Takes answers under this prefix.
    #[must_use]
    pub fn inbox_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.inbox_prefix = Some(prefix.into());
        self
    }
}

/// Who connects. Its secrets are not shown by `Debug`.
#[derive(Clone)]
#[non_exhaustive]
pub enum Login {
    /// Nobody in particular.
    Open,
    /// A user with a password.
    Password {
        /// The user.
        user: String,
        /// The password.
        password: String,
    },
    /// A token.
    Token(String),
    /// An NKey, by its seed (`SU…`).
    NKey(String),
    /// A JWT with its NKey, in a file as `nsc` writes them (`.creds`).
    CredentialsFile(PathBuf),
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open => f.write_str("Open"),
            Self::Password { user, .. } => write!(f, "Password {{ user: {user:?} }}"),
            Self::Token(_) => f.write_str("Token"),
            Self::NKey(_) => f.write_str("NKey"),
            Self::CredentialsFile(path) => write!(f, "CredentialsFile({path:?})"),
        }
    }
}

/// Encryption.
#[derive(Clone, Debug, Default)]
pub struct Tls {
    /// Refuse to speak with a server in the clear.
    pub required: bool,
    /// Certificates of authorities besides those of the system, as a PEM file.
    pub roots: Option<PathBuf>,
    /// Our own certificate and its key, as PEM files.
    pub client: Option<(PathBuf, PathBuf)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_secret_is_shown() {
        let logins = [
            Login::Password { user: "engine".to_owned(), password: "secret".to_owned() },
            Login::Token("secret".to_owned()),
            Login::NKey("secret".to_owned()),
        ];
        for login in logins {
            let shown = format!("{:?}", NatsSettings::new("nats://localhost").login(login));
            assert!(!shown.contains("secret"), "{shown}");
        }
    }
}
