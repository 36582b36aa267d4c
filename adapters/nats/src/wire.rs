//! The wire contract of `PROTOCOL.md`, in types: what engines and participants tell each other, and how it is written.

mod command;
mod headers;
mod reply;

pub use command::{Call, Direction, MalformedCall};
pub use reply::{Reply, Trouble};

pub(crate) use command::{command, query};
pub(crate) use headers::{
    ATTEMPT, DIRECTION, PREFIX_MAX, PROTOCOL, REPLY_TO, REQUEST_ID, SAGA, VERSION, is_name,
};
pub(crate) use reply::{Replied, found, replied};
