//! What happened to messages, for the checkers.

use std::fmt;

use amends_core::SagaId;

/// Something happened to a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Noted {
    /// It is durable, and is no duplicate.
    Stored {
        /// In which stream.
        stream: &'static str,
        /// Where.
        sequence: u64,
    },
    /// It was handed to somebody.
    Delivered {
        /// From which stream.
        stream: String,
        /// Where it lies.
        sequence: u64,
        /// How often with this.
        number: u64,
    },
    /// A participant says of a saga of this key that something took effect that did not.
    Lied {
        /// Which one.
        key: String,
    },
    /// Somebody has made something of it.
    Ended {
        /// Of which stream.
        stream: &'static str,
        /// Where it lies.
        sequence: u64,
        /// How often it was delivered.
        number: u64,
        /// What became of it.
        ending: Ending,
    },
}

/// What became of one delivery of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It started a saga.
    Saga(SagaId),
    /// Its saga was there already; which one, not every node can tell.
    Duplicate(Option<SagaId>),
    /// Its key stands for another input: it is in intake.
    Conflict,
    /// It is older than what is remembered: it is in intake.
    Refused,
    /// No saga could be made of it: it is in intake.
    Intake,
    /// What it says is durable: a command was carried out, a reply was told.
    Taken,
    /// Our own code failed on it: it comes again.
    Failed,
    /// Whoever has it cannot work now: it comes again.
    Later,
}

impl Ending {
    /// Is it done with?
    pub fn is_final(&self) -> bool {
        !matches!(self, Self::Failed | Self::Later)
    }

    /// Does a person find it in intake?
    pub fn is_in_intake(&self) -> bool {
        matches!(self, Self::Conflict | Self::Refused | Self::Intake)
    }
}

impl fmt::Display for Noted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stored { stream, sequence } => write!(f, "{stream} {sequence} is stored"),
            Self::Delivered { stream, sequence, number } => {
                write!(f, "{stream} {sequence} is delivered ({number})")
            }
            Self::Lied { key } => write!(f, "a participant lies about {key}"),
            Self::Ended { stream, sequence, number, ending } => {
                write!(f, "{stream} {sequence} ({number}) ends as {ending:?}")
            }
        }
    }
}
