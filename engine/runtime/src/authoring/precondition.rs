//! What a compensation expects to find, and what it would do: the two things a person is shown before an undoing
//! could overwrite what legitimately happened since.

use amends_core::Json;
use amends_core::admission::Refused;

use super::classify::{Class, Classified};
use super::encode::{unstorable, unwritable};
use super::error::{Problem, bounded};
use super::payload::Payload;

/// The most resources that a [`Preview`] names.
const AFFECTED_MAX: usize = 100;

/// The state and version that a compensation expects to find at its participant: small, and compared as a whole.
///
/// A value that cannot be kept (see [`PAYLOAD_BYTES_MAX`](super::PAYLOAD_BYTES_MAX)) quarantines the compensation
/// before anything is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Precondition(Result<Json, Refused>);

impl Precondition {
    /// This state: a version, or a small value that tells one state from another.
    pub fn of<T: Payload>(state: &T) -> Self {
        let json = Json::encode(state).map_err(|error| unwritable(&error));
        Self(json.and_then(|json| unstorable(&json).map_or(Ok(json), Err)))
    }

    /// As it was recorded.
    pub(crate) fn recorded(state: Json) -> Self {
        Self(Ok(state))
    }

    /// As it is to be recorded.
    pub(crate) fn kept(self) -> Result<Json, Refused> {
        self.0
    }

    /// The expected state, for a participant that compares for itself.
    ///
    /// # Errors
    /// Persistent, with the code `expectation`, when it is not a `T`: a person's request may expect anything.
    pub fn decode<T: Payload>(&self) -> Result<T, Classified> {
        let state = self.0.as_ref().map_err(ToString::to_string);
        let decoded = state.and_then(|state| state.decode().map_err(|error| error.to_string()));
        decoded.map_err(|error| {
            let message = format!("what is expected is not a `{}`: {error}", T::schema());
            Classified::new(Class::Persistent, Problem::new("expectation", message))
        })
    }

    /// Is `found` the same state? Key order and white space do not matter, number text does.
    pub(crate) fn is_met_by(&self, found: &Json) -> bool {
        let digest = |json: &Json| json.canonical_digest().ok();
        self.0.as_ref().is_ok_and(|expected| digest(expected).is_some_and(|it| digest(found) == Some(it)))
    }
}

/// What a compensation would do: the evidence of a dry run, for the person who decides about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    proposed: String,
    affected: Vec<String>,
    found: Option<Precondition>,
}

impl Preview {
    /// What it would do, in words for people (cut at 4 096 bytes).
    pub fn new(proposed: impl Into<String>) -> Self {
        Self { proposed: bounded(proposed.into()), affected: Vec::new(), found: None }
    }

    /// A resource that it would touch (cut at 4 096 bytes). More than 100 are not listed.
    #[must_use]
    pub fn affects(mut self, resource: impl Into<String>) -> Self {
        if self.affected.len() < AFFECTED_MAX {
            self.affected.push(bounded(resource.into()));
        }
        self
    }

    /// The present state and version: of the same shape as [`Compensate::expected`](super::Compensate::expected)
    /// gives, so that a request can expect it.
    #[must_use]
    pub fn found<T: Payload>(mut self, state: &T) -> Self {
        self.found = Some(Precondition::of(state));
        self
    }

    /// What it would do, in words.
    pub fn proposed(&self) -> &str {
        &self.proposed
    }

    /// The resources that it would touch.
    pub fn affected(&self) -> &[String] {
        &self.affected
    }

    /// The present state and version, if the dry run looked at it: what a request made now expects.
    pub fn present_state(&self) -> Option<&Json> {
        self.found.as_ref().and_then(|found| found.0.as_ref().ok())
    }

    /// All of it as one document, for the compensation's record: `proposed`, `affected` and `found`.
    pub fn evidence(&self) -> Json {
        let found = self.present_state();
        let document = Evidence { proposed: &self.proposed, affected: &self.affected, found };
        Json::encode(&document).expect("texts and a document encode as JSON")
    }

    /// Why it cannot be kept, if it cannot.
    pub(crate) fn refused(&self) -> Option<&Refused> {
        self.found.as_ref().and_then(|found| found.0.as_ref().err())
    }
}

#[derive(serde::Serialize)]
struct Evidence<'a> {
    proposed: &'a str,
    affected: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    found: Option<&'a Json>,
}
