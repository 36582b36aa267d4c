//! What comes in at the door: one JSON document that every reader reads alike, or a refusal that names the place.
//!
//! Lenient readers disagree about a document with a key that comes twice, a number that no `f64` holds or half
//! of a surrogate pair: the first in a chain checks one order and the last acts on another. So the door is
//! strict, and behind it a document means one thing. What a step gives back is held against the same rules
//! before it is kept, for tomorrow it is what another step reads.
//!
//! `read` reads the text strictly, `canonical` writes what was read in its one canonical form. Whoever compares
//! two documents, looks for a key that comes twice or bounds a depth, does it here.

mod canonical;
mod read;

use std::fmt::{self, Display};

use crate::json::Json;
use read::Value;

/// How large a document may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest document, in bytes.
    pub bytes_max: usize,
    /// The deepest nesting of arrays and objects; a number stands at depth 0, `[]` at depth 1. More than
    /// [`Limits::DEPTH_MAX`] counts as that.
    pub depth_max: usize,
}

impl Limits {
    /// What `serde_json` reads, which reads every admitted document sooner or later.
    pub const DEPTH_MAX: usize = 127;

    /// 1 MiB, the most that a journal keeps of one value; 64 levels, about half of what `serde_json` reads, so
    /// that whoever wraps a document (an envelope, a report) still makes one that can be read.
    pub const DEFAULT: Self = Self { bytes_max: 1 << 20, depth_max: 64 };

    /// As much as can be read at all: for questions that are not about size.
    pub const NONE: Self = Self { bytes_max: usize::MAX, depth_max: Self::DEPTH_MAX };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// A document was refused: it must not be used, and sending it again changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {reason}")]
pub struct Refused {
    /// The place, as in `$.order.items[0].quantity`; `$` is the document as a whole.
    pub path: String,
    /// What is wrong there.
    pub reason: Reason,
}

impl Refused {
    /// A refusal of the document as a whole.
    pub fn whole(reason: Reason) -> Self {
        Self { path: "$".to_owned(), reason }
    }

    /// The same, seen from the object that has it under `key`.
    fn in_member(mut self, key: &str) -> Self {
        let plain =
            !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        let segment = if plain { format!(".{key}") } else { format!("[{key:?}]") };
        self.path.insert_str(1, &segment);
        self
    }

    /// The same, seen from the array that has it at `index`.
    fn in_item(mut self, index: usize) -> Self {
        self.path.insert_str(1, &format!("[{index}]"));
        self
    }
}

/// What is wrong with a document.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// It has more bytes than one document may have.
    TooLarge {
        /// How many it has.
        bytes: usize,
        /// How many it may have.
        bytes_max: usize,
    },
    /// Arrays and objects stand deeper in each other than they may.
    TooDeep {
        /// How deep they may stand.
        depth_max: usize,
    },
    /// Its bytes are not text.
    NotUtf8 {
        /// The first byte that is none, from 1.
        at: usize,
    },
    /// It is not JSON.
    Syntax {
        /// What is wrong, in words.
        problem: &'static str,
        /// At which byte, from 1.
        at: usize,
    },
    /// It ends too early.
    Ended {
        /// What is not complete.
        within: &'static str,
        /// After which byte.
        at: usize,
    },
    /// Something follows the document.
    Trailing {
        /// At which byte, from 1.
        at: usize,
    },
    /// The key comes twice in its object, however it is spelled.
    DuplicateKey,
    /// The text or the key holds U+0000, raw or as an escape: one database refuses it, another stops reading.
    Nul,
    /// The text or a key of the object holds half of a surrogate pair, which no UTF-8 can say.
    LoneSurrogate,
    /// The integer is outside −2⁶³…2⁶⁴−1.
    Integer {
        /// The number as written, cut to 40 characters.
        text: String,
    },
    /// The number is too large for a double, or too small to be told from zero by one.
    Number {
        /// The number as written, cut to 40 characters.
        text: String,
    },
    /// The value could not be written as JSON in the first place.
    Unwritable {
        /// Why, in the words of its `Serialize`.
        reason: String,
    },
}

impl Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { bytes, bytes_max } => {
                write!(f, "{bytes} bytes are more than the {bytes_max} of one document")
            }
            Self::TooDeep { depth_max } => write!(f, "nested deeper than {depth_max}"),
            Self::NotUtf8 { at } => write!(f, "invalid UTF-8 at byte {at}"),
            Self::Syntax { problem, at } => write!(f, "{problem} (byte {at})"),
            Self::Ended { within, at } => write!(f, "EOF while parsing {within} (byte {at})"),
            Self::Trailing { at } => write!(f, "trailing characters (byte {at})"),
            Self::DuplicateKey => f.write_str("duplicate key"),
            Self::Nul => f.write_str("the text holds a NUL character"),
            Self::LoneSurrogate => f.write_str("the text holds half of a surrogate pair"),
            Self::Integer { text } => write!(f, "the integer {text} is outside -2^63 to 2^64-1"),
            Self::Number { text } => write!(f, "the number {text} is beyond the range of a double"),
            Self::Unwritable { reason } => write!(f, "cannot be written as JSON: {reason}"),
        }
    }
}

/// Takes one document, as the bytes that came. The text is kept as it is, but for white space around it.
///
/// # Errors
/// When readers could take it for different things, or not at all: see [`Reason`].
pub fn admit(bytes: &[u8], limits: Limits) -> Result<Json, Refused> {
    fits(bytes.len(), limits)?;
    let text = std::str::from_utf8(bytes).map_err(|error| not_text(bytes, error.valid_up_to(), limits))?;
    read::read(text, limits.depth_max)?;
    // The lenient reader accepts all that the strict one does; the laws of chance in `tests` look for more.
    let unread = |_| Refused::whole(Reason::Syntax { problem: "not JSON", at: 1 });
    Json::parse(text).map_err(unread)
}

/// Holds a document that is here already, for instance what a step gave back, against the rules of the door.
///
/// # Errors
/// As [`admit`].
pub fn check(json: &Json, limits: Limits) -> Result<(), Refused> {
    strict(json.text(), limits).map(drop)
}

/// The canonical form of a document: see [`Json::canonical_digest`].
pub(crate) fn canonical(text: &str, limits: Limits) -> Result<String, Refused> {
    let mut canonical = String::with_capacity(text.len());
    canonical::write(&strict(text, limits)?, &mut canonical);
    Ok(canonical)
}

fn strict(text: &str, limits: Limits) -> Result<Value<'_>, Refused> {
    fits(text.len(), limits)?;
    read::read(text, limits.depth_max)
}

fn fits(bytes: usize, limits: Limits) -> Result<(), Refused> {
    let Limits { bytes_max, .. } = limits;
    if bytes > bytes_max {
        return Err(Refused::whole(Reason::TooLarge { bytes, bytes_max }));
    }
    Ok(())
}

/// The good text before the bad byte breaks off somewhere: that is the place.
fn not_text(bytes: &[u8], valid_up_to: usize, limits: Limits) -> Refused {
    let reason = Reason::NotUtf8 { at: valid_up_to + 1 };
    let before = std::str::from_utf8(&bytes[..valid_up_to]).unwrap_or_default();
    match read::read(before, limits.depth_max) {
        Err(Refused { path, reason: Reason::Ended { .. } }) => Refused { path, reason },
        _ => Refused::whole(reason),
    }
}
