//! Newtypes for every id, so that a saga id can never be taken for a request id.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }

        impl From<Uuid> for $name {
            fn from(id: Uuid) -> Self {
                Self(id)
            }
        }
    };
}

uuid_id! {
    /// One saga. A UUIDv7 made by the starter: ids in time order keep the store's indexes append-only.
    SagaId
}
uuid_id! {
    /// The stable id of an action, seen by its participant: the same for every attempt, after every
    /// crash, replay and change of node.
    RequestId
}
uuid_id! {
    /// One transition of one saga, made before it is submitted: an occupied sequence that holds *my*
    /// transition id is success.
    TransitionId
}
uuid_id! {
    /// One process start of one node: the unit of ownership.
    Incarnation
}

/// The namespace of request ids: UUIDv5(DNS, "amends").
const REQUEST_NAMESPACE: Uuid = Uuid::from_u128(0xeaba_22f7_e289_5aea_9d27_2db9_f61c_7e6a);

/// A one-time id of something a person asked for, chosen by the caller. At most 200 bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OperationId(pub Arc<str>);

impl OperationId {
    /// Takes the caller's text as it is.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self(id.into())
    }
}

impl fmt::Display for OperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The position of a step in its plan. Never journalled: journals speak of step *names*.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StepIx(pub usize);

/// The position of a branch in its plan. Never journalled: journals speak of branch *names*.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BranchIx(pub usize);

/// Which of a step's actions is meant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Direction {
    /// The step itself.
    Forward,
    /// Its automatic compensation.
    Compensation,
    /// A compensation requested by a person, with the id that the requester brought.
    Manual(Uuid),
}

/// One action of one saga: a step's name and a direction.
///
/// Written as `step/forward`, `step/compensation` or `step/manual:<uuid>`, in journals and on desks alike.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ActionId {
    /// The step's name within its plan.
    pub step: Arc<str>,
    /// Which of the step's actions.
    pub direction: Direction,
}

impl ActionId {
    /// The forward action of `step`.
    pub fn forward(step: impl Into<Arc<str>>) -> Self {
        Self { step: step.into(), direction: Direction::Forward }
    }

    /// The automatic compensation of `step`.
    pub fn compensation(step: impl Into<Arc<str>>) -> Self {
        Self { step: step.into(), direction: Direction::Compensation }
    }

    /// Is this the step itself, not a compensation?
    pub fn is_forward(&self) -> bool {
        self.direction == Direction::Forward
    }

    /// The stable request id of this action in `saga`: UUIDv5 of (saga, step, direction).
    pub fn request_id(&self, saga: SagaId) -> RequestId {
        let mut name = Vec::with_capacity(48 + self.step.len());
        name.extend_from_slice(saga.0.as_bytes());
        name.extend_from_slice(self.to_string().as_bytes());
        RequestId(Uuid::new_v5(&REQUEST_NAMESPACE, &name))
    }
}

impl fmt::Display for ActionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.direction {
            Direction::Forward => write!(f, "{}/forward", self.step),
            Direction::Compensation => write!(f, "{}/compensation", self.step),
            Direction::Manual(id) => write!(f, "{}/manual:{id}", self.step),
        }
    }
}

/// The text is not `step/forward`, `step/compensation` or `step/manual:<uuid>`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("read an action: `{0}` is not step/forward, step/compensation or step/manual:<uuid>")]
pub struct NotAnAction(String);

impl std::str::FromStr for ActionId {
    type Err = NotAnAction;

    fn from_str(text: &str) -> Result<Self, NotAnAction> {
        let wrong = || NotAnAction(text.to_owned());
        let (step, direction) = text.rsplit_once('/').ok_or_else(wrong)?;
        let direction = match direction {
            "forward" => Direction::Forward,
            "compensation" => Direction::Compensation,
            other => {
                let id = other.strip_prefix("manual:").ok_or_else(wrong)?;
                Direction::Manual(Uuid::try_parse(id).map_err(|_| wrong())?)
            }
        };
        Ok(Self { step: step.into(), direction })
    }
}

impl Serialize for ActionId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ActionId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
