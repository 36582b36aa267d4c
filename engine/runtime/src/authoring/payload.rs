//! What may be kept in the journal.

use amends_core::state::Given;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A value that is kept in the journal as JSON: a step's input, output or refusal, or a saga's input.
///
/// One line per type, beside the serde derives:
///
/// ```
/// use amends::Payload;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct OrderPlaced { order: String }
/// impl Payload for OrderPlaced { const SCHEMA: &'static str = "order-placed/1"; }
/// ```
///
/// The tag is part of the workflow's digest: whoever changes what a payload means changes its tag and the
/// workflow's version. A recorded output that no longer decodes sets its saga aside.
///
/// Ready are `()`, `bool`, text, whole numbers of 8 to 64 bits, and `Option`, `Vec` and tuples of payloads. Floats are not:
/// money is never one, and JSON has no text for NaN or infinity. Wider numbers do not survive every reader of JSON.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be kept in the journal",
    label = "this type is not a `Payload`",
    note = "derive `serde::Serialize` and `serde::Deserialize`, then give it a schema tag: `impl amends::Payload for {Self} {{ const SCHEMA: &'static str = \"name/1\"; }}`"
)]
pub trait Payload: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// Names what the value means, with a version: for instance `order-placed/1`.
    const SCHEMA: &'static str;

    /// The tag as it stands in digests; composite types name their parts.
    fn schema() -> String {
        Self::SCHEMA.to_owned()
    }

    /// The value that was recorded, or that a branch gives. Not to be implemented by authors.
    ///
    /// # Errors
    /// When it is not of this type; the answer names the place.
    #[doc(hidden)]
    fn recall(given: &Given<'_>) -> Result<Self, String> {
        match given {
            Given::Value(json) => json.decode().map_err(|error| error.to_string()),
            Given::Present(_) | Given::Absent => Err("it is optional".to_owned()),
        }
    }
}

macro_rules! plain {
    ($($type:ty: $tag:literal),+ $(,)?) => { $(#[diagnostic::do_not_recommend] impl Payload for $type { const SCHEMA: &'static str = $tag; })+ };
}

plain! {
    (): "unit", bool: "bool", String: "text",
    u8: "u8", u16: "u16", u32: "u32", u64: "u64",
    i8: "i8", i16: "i16", i32: "i32", i64: "i64",
}

#[diagnostic::do_not_recommend]
impl<T: Payload> Payload for Option<T> {
    const SCHEMA: &'static str = "optional";

    fn schema() -> String {
        format!("optional({})", T::schema())
    }

    /// Whether a branch was taken is known from its decision, not from the JSON: `Some(())` is not `None`.
    fn recall(given: &Given<'_>) -> Result<Self, String> {
        match given {
            Given::Value(json) => json.decode().map_err(|error| error.to_string()),
            Given::Present(given) => T::recall(given).map(Some),
            Given::Absent => Ok(None),
        }
    }
}

#[diagnostic::do_not_recommend]
impl<T: Payload> Payload for Vec<T> {
    const SCHEMA: &'static str = "list";

    fn schema() -> String {
        format!("list({})", T::schema())
    }
}

macro_rules! tuple {
    ($($T:ident),+) => {
        #[diagnostic::do_not_recommend]
        impl<$($T: Payload),+> Payload for ($($T,)+) {
            const SCHEMA: &'static str = "tuple";

            fn schema() -> String {
                format!("({})", [$($T::schema()),+].join(", "))
            }
        }
    };
}

tuple!(A);
tuple!(A, B);
tuple!(A, B, C);
tuple!(A, B, C, D);
tuple!(A, B, C, D, E);
tuple!(A, B, C, D, E, F);
tuple!(A, B, C, D, E, F, G);
tuple!(A, B, C, D, E, F, G, H);

/// The refusal of a step that cannot refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Never {}

#[diagnostic::do_not_recommend]
impl Payload for Never {
    const SCHEMA: &'static str = "never";
}

impl Serialize for Never {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        match *self {}
    }
}

impl<'de> serde::Deserialize<'de> for Never {
    fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(serde::de::Error::custom("a step that cannot refuse has no refusal"))
    }
}
