//! What the barrier answers, and the form in which answers are kept.

use serde::{Serialize, de::DeserializeOwned, de::Error as _};

/// What a forward body brought about. Each of the three is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome<T, R> {
    /// It took effect.
    Success(T),
    /// It took effect in part; what there is of a result.
    Partial(Option<T>),
    /// The participant said no, finally. What the body wrote is committed with the refusal, so that a
    /// service can record it; an effect must not be among it.
    Refused(R),
}

/// What a compensation's body brought about. Either is kept, and either is a success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undo {
    /// The forward call's effect was undone.
    Undone,
    /// There was no effect to undo.
    NothingToUndo,
}

/// The answer to a call: `K` is an [`Outcome`] for a forward call and an [`Undo`] for a compensation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer<K> {
    /// What is kept under this request id, from this call or an earlier one.
    Kept(K),
    /// This transmission is closed out: it had no effect and never will.
    Fenced(Fence),
    /// The same, where [`close_out`](crate::close_out) closed it, or a later attempt: what was said then, to be said again.
    /// Never of a compensation.
    ClosedOut(String),
    /// The request id is held with other parameters. This call had no effect.
    Mismatch,
}

/// What a query found: `K` as for [`Answer`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding<K> {
    /// What is kept under this request id.
    Kept(K),
    /// Nothing is kept, and no attempt that the fence covers can take effect any more.
    Fenced(Fence),
    /// A call of this request id runs at this moment.
    InProgress,
    /// Nothing is committed under this request id. A call may still be running, or be on its way.
    Absent,
}

/// How far a request id is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fence {
    /// Up to this attempt; later ones run.
    Through(u32),
    /// A compensation closed it: no attempt runs.
    ForEver,
}

impl Fence {
    /// The last attempt the fence covers, for protocols that carry a number: [`u32::MAX`] if it is for ever.
    #[must_use]
    pub const fn through(self) -> u32 {
        match self {
            Self::Through(attempt) => attempt,
            Self::ForEver => u32::MAX,
        }
    }
}

/// An answer as the row holds it: a word that SQL can count by, and its content as JSON text.
pub(crate) trait Keep: Sized {
    fn word(&self) -> &'static str;
    fn write(&self) -> Result<String, serde_json::Error>;
    fn read(word: &str, answer: &str) -> Result<Self, serde_json::Error>;
}

pub(crate) const SUCCESS: &str = "success";
pub(crate) const PARTIAL: &str = "partial";
const REFUSED: &str = "refused";
const UNDONE: &str = "undone";
const NOTHING_TO_UNDO: &str = "nothing to undo";

impl<T, R> Keep for Outcome<T, R>
where
    T: Serialize + DeserializeOwned,
    R: Serialize + DeserializeOwned,
{
    fn word(&self) -> &'static str {
        match self {
            Self::Success(_) => SUCCESS,
            Self::Partial(_) => PARTIAL,
            Self::Refused(_) => REFUSED,
        }
    }

    fn write(&self) -> Result<String, serde_json::Error> {
        match self {
            Self::Success(result) => serde_json::to_string(result),
            Self::Partial(result) => serde_json::to_string(result),
            Self::Refused(reason) => serde_json::to_string(reason),
        }
    }

    fn read(word: &str, answer: &str) -> Result<Self, serde_json::Error> {
        match word {
            SUCCESS => serde_json::from_str(answer).map(Self::Success),
            PARTIAL => serde_json::from_str(answer).map(Self::Partial),
            REFUSED => serde_json::from_str(answer).map(Self::Refused),
            other => Err(serde_json::Error::custom(format!("\"{other}\" is no outcome of a forward call"))),
        }
    }
}

impl Keep for Undo {
    fn word(&self) -> &'static str {
        match self {
            Self::Undone => UNDONE,
            Self::NothingToUndo => NOTHING_TO_UNDO,
        }
    }

    fn write(&self) -> Result<String, serde_json::Error> {
        Ok("null".to_owned())
    }

    fn read(word: &str, _answer: &str) -> Result<Self, serde_json::Error> {
        match word {
            UNDONE => Ok(Self::Undone),
            NOTHING_TO_UNDO => Ok(Self::NothingToUndo),
            other => Err(serde_json::Error::custom(format!("\"{other}\" is no outcome of a compensation"))),
        }
    }
}
