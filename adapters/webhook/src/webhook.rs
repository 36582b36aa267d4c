//! The sender.

use std::fmt;
use std::time::Duration;

use amends::ports::{Notice, Notifier, OutboxMessage, PublishError, Published, Publisher};
use async_trait::async_trait;
use ureq::Agent;
use ureq::http::{HeaderName, HeaderValue, Request, Uri};

use crate::answer;

/// How long a receiver may take, where nobody says otherwise.
const TIMEOUT: Duration = Duration::from_secs(8);

/// Posts messages to one address. Cheap to clone.
///
/// *Guarantees*: at least once, as the outbox does; the same message has the same `Idempotency-Key` whenever it
/// comes. *Not guaranteed*: that a message comes once, or that notices come in order.
///
/// Each request holds a thread of tokio's blocking pool while it is under way.
#[derive(Clone)]
pub struct Webhook {
    agent: Agent,
    address: Uri,
    secret: Option<(HeaderName, HeaderValue)>,
    timeout: Duration,
}

/// Why there is no sender. The operator can mend it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WebhookError {
    /// It is not an `http` or `https` URL with a host.
    #[error("failed to read the address of a webhook: {0}")]
    Address(String),
    /// The name or the value cannot stand in a header. The value is not repeated here.
    #[error("failed to read the secret of a webhook: the header {0} cannot be sent")]
    Secret(String),
}

impl Webhook {
    /// Posts to this URL.
    ///
    /// # Errors
    /// [`WebhookError::Address`].
    pub fn to(url: &str) -> Result<Self, WebhookError> {
        let address: Uri = url.parse().map_err(|error| WebhookError::Address(format!("{error}")))?;
        if !matches!(address.scheme_str(), Some("http" | "https")) || address.host().is_none() {
            return Err(WebhookError::Address("it needs http or https, and a host".to_owned()));
        }
        let agent = Agent::config_builder()
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .build()
            .new_agent();
        Ok(Self { agent, address, secret: None, timeout: TIMEOUT })
    }

    /// Sends a header by which the receiver knows that it is you, such as `authorization`. It is not shown anywhere.
    ///
    /// # Errors
    /// [`WebhookError::Secret`].
    pub fn secret(mut self, header: &str, value: &str) -> Result<Self, WebhookError> {
        let wrong = || WebhookError::Secret(header.to_owned());
        let name = HeaderName::from_bytes(header.as_bytes()).map_err(|_| wrong())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        self.secret = Some((name, value));
        Ok(self)
    }

    /// How long a request may take in all, from looking up the name to the answer. Keep it below the engine's
    /// `publish_within`. Default 8 s.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    async fn post(&self, headers: Vec<(String, String)>, body: String) -> Result<(), PublishError> {
        let mut request = Request::post(&self.address);
        if let Some((name, value)) = &self.secret {
            request = request.header(name, value);
        }
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let request = request
            .body(body)
            .map_err(|error| PublishError::Refused(format!("a header cannot be sent: {error}")))?;
        let (agent, timeout) = (self.agent.clone(), self.timeout);
        let answered = tokio::task::spawn_blocking(move || {
            let request = agent.configure_request(request).timeout_global(Some(timeout)).build();
            agent.run(request).map(|response| response.status().as_u16())
        });
        match answered.await {
            Ok(Ok(status)) => answer::of_status(status),
            Ok(Err(error)) => Err(PublishError::Unavailable(error.to_string())),
            Err(error) => Err(PublishError::Unavailable(format!("the call ended early: {error}"))),
        }
    }
}

impl fmt::Debug for Webhook {
    /// Without what might be secret: header, path and query.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhook").field("host", &self.address.host()).finish_non_exhaustive()
    }
}

#[async_trait]
impl Publisher for Webhook {
    /// The message's headers become the request's.
    async fn publish(&self, message: &OutboxMessage) -> Result<Published, PublishError> {
        let headers: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&message.headers)
            .map_err(|error| PublishError::Refused(format!("its headers cannot be read: {error}")))?;
        let text = |value: serde_json::Value| match value {
            serde_json::Value::String(text) => text,
            other => other.to_string(),
        };
        let mut headers: Vec<(String, String)> =
            headers.into_iter().map(|(name, value)| (name, text(value))).collect();
        headers.push(("idempotency-key".to_owned(), message.id.to_string()));
        self.post(headers, message.body.clone()).await?;
        Ok(Published::default())
    }
}

#[async_trait]
impl Notifier for Webhook {
    async fn notify(&self, notice: &Notice) -> Result<(), PublishError> {
        let headers =
            [("content-type", "application/json".to_owned()), ("idempotency-key", notice.id.to_string())];
        let body = serde_json::to_string(notice)
            .map_err(|error| PublishError::Refused(format!("it cannot be written: {error}")))?;
        self.post(headers.map(|(name, value)| (name.to_owned(), value)).to_vec(), body).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_an_http_url_with_a_host() {
        for wrong in ["", "pager.example/notices", "ftp://pager.example", "https://", "not a url"] {
            assert!(matches!(Webhook::to(wrong), Err(WebhookError::Address(_))), "{wrong}");
        }
        assert!(Webhook::to("http://127.0.0.1:8080/notices?team=a").is_ok());
    }

    #[test]
    fn a_secret_is_shown_nowhere() {
        let webhook = Webhook::to("https://pager.example/hidden?token=hidden").expect("an address");
        let webhook = webhook.secret("authorization", "Bearer hidden").expect("a header");
        assert!(!format!("{webhook:?}").contains("hidden"), "{webhook:?}");
        let wrong =
            Webhook::to("https://pager.example").expect("an address").secret("authorization", "hidden\n");
        let wrong = wrong.expect_err("a line break is no header");
        assert!(!wrong.to_string().contains("hidden"), "{wrong}");
    }
}
