//! What a request says.

use amends::core::admission::{self, Limits};
use amends::core::machine::PersonFinding;
use amends::core::{ActionId, Json, SagaId};
use amends::engine::{OperateError, SagaStartError, ViewError};
use amends::operator::{By, OutboxPlace};
use amends::{Engine, engine};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Why a request is not answered as it wishes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) code: usize,
    pub(super) words: String,
}

impl Problem {
    pub(super) fn unreadable(words: impl Into<String>) -> Self {
        Self { code: 400, words: words.into() }
    }

    pub(super) fn unknown(words: impl Into<String>) -> Self {
        Self { code: 404, words: words.into() }
    }

    fn conflict(words: impl Into<String>) -> Self {
        Self { code: 409, words: words.into() }
    }

    pub(super) fn unavailable(words: impl Into<String>) -> Self {
        Self { code: 503, words: words.into() }
    }
}

impl From<SagaStartError> for Problem {
    fn from(error: SagaStartError) -> Self {
        let words = error.to_string();
        match error {
            SagaStartError::Conflict { .. } | SagaStartError::TooOld { .. } => Self::conflict(words),
            SagaStartError::NotRegistered(_) => Self::unknown(words),
            SagaStartError::Key(_)
            | SagaStartError::Input(_)
            | SagaStartError::Tenant(_)
            | SagaStartError::Unstorable(_) => Self::unreadable(words),
            _ => Self::unavailable(words),
        }
    }
}

impl From<ViewError> for Problem {
    fn from(error: ViewError) -> Self {
        let words = error.to_string();
        match error {
            ViewError::Unknown(_) | ViewError::Purged(_) => Self::unknown(words),
            _ => Self::unavailable(words),
        }
    }
}

impl From<OperateError> for Problem {
    fn from(error: OperateError) -> Self {
        let words = error.to_string();
        match error {
            OperateError::Refused(_) => Self::conflict(words),
            OperateError::Unknown | OperateError::Purged => Self::unknown(words),
            OperateError::Incomplete(_) | OperateError::Output(_) => Self::unreadable(words),
            _ => Self::unavailable(words),
        }
    }
}

/// Reads a request as strictly as a trigger reads an event.
pub(super) fn read<T: DeserializeOwned>(payload: &[u8]) -> Result<T, Problem> {
    let json = admission::admit(payload, Limits::DEFAULT);
    let json =
        json.map_err(|refused| Problem::unreadable(format!("failed to read the request: {refused}")))?;
    let read = json.decode();
    read.map_err(|error| Problem::unreadable(format!("failed to read the request: {error}")))
}

/// A start.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Start {
    pub(super) workflow: String,
    pub(super) key: String,
    pub(super) input: Json,
    #[serde(default)]
    pub(super) occurred_at: Option<String>,
}

/// A saga or a message, and whatever the verb wants besides.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    saga: Option<String>,
    workflow: Option<String>,
    key: Option<String>,
    actor: Option<String>,
    reason: Option<String>,
    operation: Option<String>,
    action: Option<String>,
    pub(super) output: Option<Json>,
    evidence: Option<String>,
    finding: Option<PersonFinding>,
    message: Option<String>,
}

fn missing(what: &str) -> Problem {
    Problem::unreadable(format!("failed to read the request: `{what}` is missing"))
}

impl Asked {
    /// Which saga.
    pub(super) async fn saga(&self, engine: &Engine) -> Result<SagaId, Problem> {
        if let Some(id) = &self.saga {
            let id = id.parse().map_err(|_| Problem::unreadable(format!("`{id}` is no id of a saga")))?;
            return Ok(SagaId(id));
        }
        let workflow = self.workflow.as_deref().ok_or_else(|| missing("saga"))?;
        let key = self.key.as_deref().ok_or_else(|| missing("key"))?;
        let row = engine.query().find(workflow, key).await;
        let row = row.map_err(|fault: amends::ports::Fault| Problem::unavailable(fault.to_string()))?;
        let unknown = || Problem::unknown(format!("there is no saga `{key}` of {workflow}"));
        row.map(|row| row.id).ok_or_else(unknown)
    }

    /// By whom.
    pub(super) fn by(&self) -> Result<By, Problem> {
        let said = |what: &'static str, text: &Option<String>| text.clone().ok_or_else(|| missing(what));
        let operation = said("operation", &self.operation)?;
        Ok(By::new(said("actor", &self.actor)?, said("reason", &self.reason)?, operation))
    }

    pub(super) fn action(&self) -> Result<ActionId, Problem> {
        let action = self.action.as_deref().ok_or_else(|| missing("action"))?;
        action.parse().map_err(|error| Problem::unreadable(format!("failed to {error}")))
    }

    pub(super) fn message(&self) -> Result<OutboxPlace, Problem> {
        let message = self.message.as_deref().ok_or_else(|| missing("message"))?;
        let unreadable = || Problem::unreadable(format!("`{message}` is no message of the outbox"));
        OutboxPlace::of(message).ok_or_else(unreadable)
    }

    pub(super) fn evidence(&self) -> Result<String, Problem> {
        self.evidence.clone().ok_or_else(|| missing("evidence"))
    }

    pub(super) fn finding(&self) -> Result<PersonFinding, Problem> {
        self.finding.clone().ok_or_else(|| missing("finding"))
    }
}

/// What the time of an event is.
pub(super) fn options(occurred_at: Option<&str>) -> Result<engine::StartOptions, Problem> {
    let at = occurred_at.map(crate::trigger::timestamp).transpose();
    let occurred_at = at.map_err(|unfit| Problem::unreadable(unfit.words()))?;
    Ok(engine::StartOptions { occurred_at, ..engine::StartOptions::default() })
}
