//! What a person does about a saga, as a line says it: `{"resume": {"saga": …, "action": …, "reason": …}}`.

use std::fmt;
use std::time::Duration;

use amends::core::{ActionId, Direction, Json};
use amends::operator::PersonFinding;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::SagaName;
use crate::admission::{self, Malformed};

/// What a person does about a saga.
#[derive(Clone, Debug, PartialEq)]
pub struct Operator {
    /// Which.
    pub saga: SagaName,
    /// What is done.
    pub verb: Verb,
    /// Who does it.
    pub by: String,
    /// Why.
    pub reason: String,
}

/// What can be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Verb {
    /// The saga turns back, if it still can.
    Cancel,
    /// The same, as its operator.
    TurnBack,
    /// No attempt starts.
    Pause,
    /// Attempts may start again.
    Unpause,
    /// A quarantined action goes on with a fresh budget.
    Resume(ActionId),
    /// A scheduled attempt, or query, comes now.
    RetryNow(ActionId),
    /// What is unknown is transmitted once more.
    SendAgain(ActionId),
    /// A quarantined step is rejected, and the saga turns back.
    Reject(ActionId),
    /// The saga does without the step.
    Waive(ActionId),
    /// It took effect.
    Accept(ActionId, Option<Json>, String),
    /// What a person found out.
    Found(ActionId, PersonFinding, String),
    /// The result that could not be recorded.
    Supply(ActionId, Json, String),
    /// The next query comes so much later.
    Keep(ActionId, Duration),
    /// Somebody works on a desk item; without an action, on the saga's own.
    Assign(Option<ActionId>, String),
    /// What was decided about a desk item.
    SetDisposition(Option<ActionId>, String),
    /// What is unknown in a saga that turned back is compensated.
    CompensateInDoubt(ActionId),
    /// What is in place is compensated, as a new business action.
    Compensate {
        /// Which: `step/manual:ID`, with an id that the requester brings.
        action: ActionId,
        /// From the shop's vocabulary.
        reason_code: String,
        /// The policy that allows it; none: another person approves.
        policy: Option<String>,
    },
    /// The saga is to end as it stands; another person approves.
    Close {
        /// What is done about the effects that remain.
        follow_up: String,
        /// Those that are possible or partial.
        named: Vec<ActionId>,
    },
    /// A stale compensation, or without an action the closing, is approved.
    Approve(Option<ActionId>),
    /// Or denied.
    Deny(Option<ActionId>),
    /// Not a person's word: what a participant answers after all.
    LateAnswer(ActionId, u32, Late),
}

/// What a participant answers late.
#[derive(Clone, Debug, PartialEq)]
pub enum Late {
    /// It took effect.
    Done(Json),
    /// It did not, and will not.
    NotDone,
}

/// The names of all verbs, in the order in which they are told.
pub const VERBS: [&str; 21] = [
    "resume",
    "cancel",
    "turn_back",
    "retry_now",
    "send_again",
    "accept",
    "found",
    "reject",
    "waive",
    "supply",
    "keep",
    "assign",
    "set_disposition",
    "compensate",
    "compensate_in_doubt",
    "pause",
    "unpause",
    "close",
    "approve",
    "deny",
    "late_answer",
];

impl Verb {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::TurnBack => "turn_back",
            Self::Pause => "pause",
            Self::Unpause => "unpause",
            Self::Resume(_) => "resume",
            Self::RetryNow(_) => "retry_now",
            Self::SendAgain(_) => "send_again",
            Self::Reject(_) => "reject",
            Self::Waive(_) => "waive",
            Self::Accept(..) => "accept",
            Self::Found(..) => "found",
            Self::Supply(..) => "supply",
            Self::Keep(..) => "keep",
            Self::Assign(..) => "assign",
            Self::SetDisposition(..) => "set_disposition",
            Self::CompensateInDoubt(_) => "compensate_in_doubt",
            Self::Compensate { .. } => "compensate",
            Self::Close { .. } => "close",
            Self::Approve(_) => "approve",
            Self::Deny(_) => "deny",
            Self::LateAnswer(..) => "late_answer",
        }
    }

    /// The action that it is about, if it is not about the saga.
    pub fn action(&self) -> Option<&ActionId> {
        match self {
            Self::Cancel | Self::TurnBack | Self::Pause | Self::Unpause | Self::Close { .. } => None,
            Self::Approve(action)
            | Self::Deny(action)
            | Self::Assign(action, _)
            | Self::SetDisposition(action, _) => action.as_ref(),
            Self::Resume(action)
            | Self::RetryNow(action)
            | Self::SendAgain(action)
            | Self::Reject(action)
            | Self::Waive(action)
            | Self::Accept(action, ..)
            | Self::Found(action, ..)
            | Self::Supply(action, ..)
            | Self::Keep(action, _)
            | Self::CompensateInDoubt(action)
            | Self::Compensate { action, .. }
            | Self::LateAnswer(action, ..) => Some(action),
        }
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.verb.action() {
            Some(action) => write!(f, "{} {action} of {}", self.verb.name(), self.saga),
            None => write!(f, "{} {}", self.verb.name(), self.saga),
        }
    }
}

/// Reads what stands under a verb's name.
///
/// # Errors
/// When a field is missing, of another type, or one too many.
pub fn read(verb: &str, content: &RawValue) -> Result<Operator, Malformed> {
    let within = |malformed: Malformed| {
        let Malformed { path, reason } = malformed;
        Malformed { path: path.replacen('$', &format!("$.{verb}"), 1), reason }
    };
    understand(verb, &content.to_owned().into()).map_err(within)
}

/// `workflow/key`.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct WrittenName(SagaName);

impl TryFrom<String> for WrittenName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.split_once('/') {
            Some((workflow, key)) if !workflow.is_empty() && !key.is_empty() => {
                Ok(Self(SagaName { workflow: workflow.to_owned(), key: key.to_owned() }))
            }
            _ => Err(format!("`{text}` names no saga; write workflow/key, as in order/O-1001")),
        }
    }
}

fn operator() -> String {
    "operator".to_owned()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "what is done about a saga, an object")]
struct OfSaga {
    saga: WrittenName,
    reason: String,
    #[serde(default = "operator")]
    by: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "what is done about an action, an object")]
struct OfAction {
    saga: WrittenName,
    action: ActionId,
    reason: String,
    #[serde(default = "operator")]
    by: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "what is accepted or supplied, an object")]
struct WithResult {
    saga: WrittenName,
    action: ActionId,
    result: Option<Box<RawValue>>,
    evidence: String,
    reason: String,
    #[serde(default = "operator")]
    by: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "what was found out, an object")]
struct WithFinding {
    saga: WrittenName,
    action: ActionId,
    finding: WrittenFinding,
    result: Option<Box<RawValue>>,
    evidence: String,
    reason: String,
    #[serde(default = "operator")]
    by: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum WrittenFinding {
    NotApplied,
    Refused,
    Partial,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "what is kept as it is, an object")]
struct Kept {
    saga: WrittenName,
    action: ActionId,
    seconds: u32,
    reason: String,
    #[serde(default = "operator")]
    by: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "who works on a desk item, an object")]
struct Assigned {
    saga: WrittenName,
    action: Option<ActionId>,
    to: String,
    reason: String,
    #[serde(default = "operator")]
    by: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "what was decided about a desk item, an object")]
struct Disposed {
    saga: WrittenName,
    action: Option<ActionId>,
    disposition: String,
    reason: String,
    #[serde(default = "operator")]
    by: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a compensation that is requested, an object")]
struct Requested {
    saga: WrittenName,
    action: ActionId,
    reason_code: String,
    policy: Option<String>,
    reason: String,
    #[serde(default = "operator")]
    by: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "what is closed, an object")]
struct Closing {
    saga: WrittenName,
    follow_up: String,
    #[serde(default)]
    named: Vec<ActionId>,
    reason: String,
    #[serde(default = "operator")]
    by: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "what is approved or denied, an object")]
struct Decided {
    saga: WrittenName,
    action: Option<ActionId>,
    reason: String,
    #[serde(default = "supervisor")]
    by: String,
}

fn supervisor() -> String {
    "supervisor".to_owned()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a late answer, an object")]
struct WrittenLate {
    saga: WrittenName,
    action: ActionId,
    attempt: u32,
    /// None: it was not done.
    result: Option<Box<RawValue>>,
    from: String,
}

fn understand(verb: &str, content: &Json) -> Result<Operator, Malformed> {
    let of_saga = |verb| {
        let OfSaga { saga, reason, by } = admission::decode(content)?;
        Ok(Operator { saga: saga.0, verb, by, reason })
    };
    let of_action = |verb: fn(ActionId) -> Verb| {
        let OfAction { saga, action, reason, by } = admission::decode(content)?;
        Ok(Operator { saga: saga.0, verb: verb(action), by, reason })
    };
    let decided = |verb: fn(Option<ActionId>) -> Verb| {
        let Decided { saga, action, reason, by } = admission::decode(content)?;
        Ok(Operator { saga: saga.0, verb: verb(action), by, reason })
    };
    match verb {
        "cancel" => of_saga(Verb::Cancel),
        "turn_back" => of_saga(Verb::TurnBack),
        "pause" => of_saga(Verb::Pause),
        "unpause" => of_saga(Verb::Unpause),
        "resume" => of_action(Verb::Resume),
        "retry_now" => of_action(Verb::RetryNow),
        "send_again" => of_action(Verb::SendAgain),
        "reject" => of_action(Verb::Reject),
        "waive" => of_action(Verb::Waive),
        "compensate_in_doubt" => of_action(Verb::CompensateInDoubt),
        "approve" => decided(Verb::Approve),
        "deny" => decided(Verb::Deny),
        "accept" => {
            let WithResult { saga, action, result, evidence, reason, by } = admission::decode(content)?;
            let verb = Verb::Accept(action, result.map(Json::from), evidence);
            Ok(Operator { saga: saga.0, verb, by, reason })
        }
        "supply" => {
            let WithResult { saga, action, result, evidence, reason, by } = admission::decode(content)?;
            let missing = || Malformed { path: "$".to_owned(), reason: "missing field `result`".to_owned() };
            let verb = Verb::Supply(action, result.map(Json::from).ok_or_else(missing)?, evidence);
            Ok(Operator { saga: saga.0, verb, by, reason })
        }
        "found" => {
            let WithFinding { saga, action, finding, result, evidence, reason, by } =
                admission::decode(content)?;
            let result = result.map(Json::from);
            let finding = match finding {
                WrittenFinding::NotApplied => PersonFinding::NotApplied,
                WrittenFinding::Refused => PersonFinding::Refused(result),
                WrittenFinding::Partial => PersonFinding::Partial(result),
            };
            Ok(Operator { saga: saga.0, verb: Verb::Found(action, finding, evidence), by, reason })
        }
        "keep" => {
            let Kept { saga, action, seconds, reason, by } = admission::decode(content)?;
            let verb = Verb::Keep(action, Duration::from_secs(u64::from(seconds)));
            Ok(Operator { saga: saga.0, verb, by, reason })
        }
        "assign" => {
            let Assigned { saga, action, to, reason, by } = admission::decode(content)?;
            Ok(Operator { saga: saga.0, verb: Verb::Assign(action, to), by, reason })
        }
        "set_disposition" => {
            let Disposed { saga, action, disposition, reason, by } = admission::decode(content)?;
            Ok(Operator { saga: saga.0, verb: Verb::SetDisposition(action, disposition), by, reason })
        }
        "compensate" => requested(content),
        "close" => {
            let Closing { saga, follow_up, named, reason, by } = admission::decode(content)?;
            Ok(Operator { saga: saga.0, verb: Verb::Close { follow_up, named }, by, reason })
        }
        "late_answer" => {
            let WrittenLate { saga, action, attempt, result, from } = admission::decode(content)?;
            let late = result.map_or(Late::NotDone, |result| Late::Done(result.into()));
            let verb = Verb::LateAnswer(action, attempt, late);
            Ok(Operator { saga: saga.0, verb, by: from, reason: String::new() })
        }
        other => {
            let reason = format!("`{other}` is nothing that a person can do; there are {}", VERBS.join(", "));
            Err(Malformed { path: "$".to_owned(), reason })
        }
    }
}

/// A compensation that is requested has an id of its own: that of the step's is taken.
fn requested(content: &Json) -> Result<Operator, Malformed> {
    let Requested { saga, action, reason_code, policy, reason, by } = admission::decode(content)?;
    if !matches!(action.direction, Direction::Manual(_)) {
        let reason =
            format!("`{action}` is no requested compensation; write step/manual:ID with an id of yours");
        return Err(Malformed { path: "$.action".to_owned(), reason });
    }
    Ok(Operator { saga: saga.0, verb: Verb::Compensate { action, reason_code, policy }, by, reason })
}
