//! What stands in a mail: its body, and the answer to it, as JSON.
//!
//! A mail may be posted by one version of the program and decided by the next, so these shapes are kept as the
//! journal's are: new words and new optional fields, nothing renamed or reshaped.

use std::sync::Arc;

use amends_core::event::{Answer, Verb};
use amends_core::machine::{Attempted, Command, CompensationOrder, Operation, PersonFinding};
use amends_core::{ActionId, Json, OperationId, RequestId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::ports::{Mail, MailKind};

/// What a mail says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Letter {
    /// A person asks for something.
    Asked(Ask, Operation),
    /// A participant answers.
    Replied(Replied),
}

impl Letter {
    /// Reads a mail. The error is a reason for people.
    pub(crate) fn read(mail: &Mail) -> Result<Self, String> {
        let unreadable =
            |error: serde_json::Error| format!("the {} cannot be read: {error}", mail.kind.word());
        match mail.kind {
            MailKind::Operator => {
                let Asked { ask, reason } = serde_json::from_str(&mail.body).map_err(unreadable)?;
                let id = OperationId::new(mail.key.clone());
                Ok(Self::Asked(ask, Operation { id, actor: mail.actor.to_string(), reason }))
            }
            MailKind::Reply => Ok(Self::Replied(serde_json::from_str(&mail.body).map_err(unreadable)?)),
            MailKind::Damaged => Err(format!("the mail cannot be read: {}", mail.body)),
            MailKind::Signal => Err("no workflow waits for signals".to_owned()),
        }
    }
}

/// The body of a person's mail. Its key is the operation id, its actor the person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Asked {
    pub(crate) ask: Ask,
    pub(crate) reason: String,
}

/// The body of a reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Replied {
    pub(crate) request: RequestId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) attempt: Option<u32>,
    pub(crate) answer: Attempted,
}

/// Everything that a person can ask for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ask {
    Cancel {},
    TurnBack {},
    Pause {},
    Unpause {},
    Resume {
        action: ActionId,
    },
    RetryNow {
        action: ActionId,
    },
    SendAgain {
        action: ActionId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        override_reason: Option<String>,
    },
    Accept {
        action: ActionId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Json>,
        evidence: String,
    },
    Found {
        action: ActionId,
        finding: PersonFinding,
        evidence: String,
    },
    Reject {
        action: ActionId,
    },
    Supply {
        action: ActionId,
        output: Json,
        evidence: String,
    },
    Keep {
        action: ActionId,
        until: Timestamp,
    },
    Waive {
        action: ActionId,
    },
    Assign {
        item: String,
        assignee: String,
    },
    SetDisposition {
        item: String,
        disposition: String,
    },
    CompensateInDoubt {
        action: ActionId,
    },
    Compensate {
        action: ActionId,
        order: CompensationOrder,
    },
    Close {
        follow_up: String,
        named: Vec<ActionId>,
    },
    Approve {
        request: String,
    },
    Deny {
        request: String,
    },
}

impl Ask {
    /// The result that a person says a forward action has, which must decode before it is journalled.
    pub(crate) fn output(&self) -> Option<(&ActionId, &Json)> {
        match self {
            Self::Accept { action, output: Some(output), .. } | Self::Supply { action, output, .. } => {
                action.is_forward().then_some((action, output))
            }
            _ => None,
        }
    }

    /// The verb, as journals spell it.
    pub(crate) fn verb(&self) -> Verb {
        match self {
            Self::Cancel {} => Verb::Cancel,
            Self::TurnBack {} => Verb::TurnBack,
            Self::Pause {} => Verb::Pause,
            Self::Unpause {} => Verb::Unpause,
            Self::Resume { .. } => Verb::Resume,
            Self::RetryNow { .. } => Verb::RetryNow,
            Self::SendAgain { .. } => Verb::SendAgain,
            Self::Accept { .. } => Verb::Accept,
            Self::Found { .. } => Verb::Found,
            Self::Reject { .. } => Verb::Reject,
            Self::Supply { .. } => Verb::Supply,
            Self::Keep { .. } => Verb::Keep,
            Self::Waive { .. } => Verb::Waive,
            Self::Assign { .. } => Verb::Assign,
            Self::SetDisposition { .. } => Verb::SetDisposition,
            Self::CompensateInDoubt { .. } => Verb::CompensateInDoubt,
            Self::Compensate { .. } => Verb::Compensate,
            Self::Close { .. } => Verb::Close,
            Self::Approve { .. } => Verb::Approve,
            Self::Deny { .. } => Verb::Deny,
        }
    }

    /// The machine's command for it.
    pub(crate) fn command(self, operation: Operation) -> Command {
        match self {
            Self::Cancel {} => Command::Cancel(operation),
            Self::TurnBack {} => Command::TurnBack(operation),
            Self::Pause {} => Command::Pause(operation),
            Self::Unpause {} => Command::Unpause(operation),
            Self::Resume { action } => Command::Resume { action, operation },
            Self::RetryNow { action } => Command::RetryNow { action, operation },
            Self::SendAgain { action, override_reason } => {
                Command::SendAgain { action, override_reason, operation }
            }
            Self::Accept { action, output, evidence } => {
                Command::Accept { action, output, evidence, operation }
            }
            Self::Found { action, finding, evidence } => {
                Command::FoundByPerson { action, finding, evidence, operation }
            }
            Self::Reject { action } => Command::Reject { action, operation },
            Self::Supply { action, output, evidence } => {
                Command::Supply { action, output, evidence, operation }
            }
            Self::Keep { action, until } => Command::Keep { action, until, operation },
            Self::Waive { action } => Command::Waive { action, operation },
            Self::Assign { item, assignee } => Command::Assign { item, assignee, operation },
            Self::SetDisposition { item, disposition } => {
                Command::SetDisposition { item, disposition, operation }
            }
            Self::CompensateInDoubt { action } => Command::CompensateInDoubt { action, operation },
            Self::Compensate { action, order } => Command::Compensate { action, order, operation },
            Self::Close { follow_up, named } => Command::Close { follow_up, named, operation },
            Self::Approve { request } => Command::Approve { request, operation },
            Self::Deny { request } => Command::Deny { request, operation },
        }
    }
}

/// An answer, as a mail keeps it.
pub(crate) fn spell(answer: &Answer) -> String {
    serde_json::to_string(answer).expect("an answer has string keys only, so it encodes")
}

/// An answer, as a mail keeps it. The error is a reason for people.
pub(crate) fn unspell(text: &str) -> Result<Answer, String> {
    serde_json::from_str(text).map_err(|error| format!("the answer of the mail cannot be read: {error}"))
}

/// The key of a reply: the same news of the same attempt is posted once.
pub(crate) fn reply_key(replied: &Replied) -> Arc<str> {
    let attempt = replied.attempt.map_or_else(|| "-".to_owned(), |attempt| attempt.to_string());
    format!("reply/{}/{attempt}/{}", replied.request, outcome_digest(replied)).into()
}

/// The same for news that no saga takes: by request and outcome, whichever attempt brought it.
pub(crate) fn news_key(replied: &Replied) -> String {
    format!("{}/{}", replied.request, outcome_digest(replied))
}

fn outcome_digest(replied: &Replied) -> String {
    use sha2::{Digest as _, Sha256};
    let outcome =
        serde_json::to_string(&replied.answer).expect("a reply has string keys only, so it encodes");
    Sha256::digest(outcome.as_bytes()).iter().take(16).map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use amends_core::event::{Failure, FailureKind, Omitted, Recorded};
    use amends_core::machine::Approval;
    use amends_core::{ActionId, RequestId, SagaId};
    use expect_test::expect;
    use uuid::Uuid;

    fn json(text: &str) -> Json {
        Json::parse(text).expect("it is JSON")
    }

    fn asks() -> Vec<Ask> {
        let action = || ActionId::forward("a");
        let order = CompensationOrder {
            reason_code: "goodwill".to_owned(),
            approval: Approval::AnotherPerson,
            expected: Some(json("{\"v\": 1.0}")),
            proposed: None,
            affected: None,
            dry_run: None,
        };
        let allowed = CompensationOrder { approval: Approval::Policy("small".to_owned()), ..order.clone() };
        let evidence = || "a letter".to_owned();
        let found = |finding| Ask::Found { action: action(), finding, evidence: evidence() };
        vec![
            Ask::Cancel {},
            Ask::TurnBack {},
            Ask::Pause {},
            Ask::Unpause {},
            Ask::Resume { action: action() },
            Ask::RetryNow { action: action() },
            Ask::SendAgain { action: action(), override_reason: None },
            Ask::SendAgain { action: action(), override_reason: Some("asked".to_owned()) },
            Ask::Accept { action: action(), output: Some(json("[1.50]")), evidence: evidence() },
            found(PersonFinding::NotApplied),
            found(PersonFinding::Refused(Some(json("\"no\"")))),
            found(PersonFinding::Partial(None)),
            Ask::Reject { action: action() },
            Ask::Supply { action: action(), output: json("7"), evidence: evidence() },
            Ask::Keep { action: action(), until: Timestamp(9) },
            Ask::Waive { action: action() },
            Ask::Assign { item: "a/forward".to_owned(), assignee: "carol".to_owned() },
            Ask::SetDisposition { item: String::new(), disposition: "resume".to_owned() },
            Ask::CompensateInDoubt { action: action() },
            Ask::Compensate { action: action(), order },
            Ask::Compensate { action: action(), order: allowed },
            Ask::Close { follow_up: "a credit note".to_owned(), named: vec![action()] },
            Ask::Approve { request: "1".to_owned() },
            Ask::Deny { request: "1".to_owned() },
        ]
    }

    fn replies() -> Vec<Attempted> {
        let kind = FailureKind::Unknown;
        let failure = || Failure {
            kind,
            code: "lost".to_owned(),
            message: String::new(),
            rule: String::new(),
            classifier: String::new(),
            hint: None,
        };
        let omitted = Omitted { reason: "too large".to_owned(), digest: None, size: 9 };
        vec![
            Attempted::Succeeded(Recorded::Value(json("{\"b\": 1.50}"))),
            Attempted::Succeeded(Recorded::Omitted(omitted)),
            Attempted::Refused(Recorded::Value(json("\"no\""))),
            Attempted::Transient(failure()),
            Attempted::Persistent(failure()),
            Attempted::Unknown(failure()),
            Attempted::Accepted { wait: Some(std::time::Duration::from_secs(3)) },
            Attempted::Partial(None),
            Attempted::Fenced { through: 2 },
            Attempted::Mismatch(failure()),
            Attempted::Stale { found: json("2") },
        ]
    }

    /// A mail that was posted yesterday must be read tomorrow: only new lines are allowed here.
    #[test]
    fn letters_keep_their_spelling_and_survive_it() {
        let mut text = String::new();
        for ask in asks() {
            let line = serde_json::to_string(&ask).unwrap();
            assert_eq!(serde_json::from_str::<Ask>(&line).unwrap(), ask);
            text += &format!("{line}\n");
        }
        for answer in replies() {
            let request = ActionId::forward("a").request_id(SagaId(Uuid::nil()));
            let replied = Replied { request, attempt: Some(1), answer };
            let line = serde_json::to_string(&replied).unwrap();
            assert_eq!(serde_json::from_str::<Replied>(&line).unwrap(), replied);
            text += &format!("{line}\n");
        }
        let none =
            Replied { request: RequestId(Uuid::nil()), attempt: None, answer: Attempted::Partial(None) };
        text += &format!("{}\n", serde_json::to_string(&none).unwrap());
        let asked = Asked { ask: Ask::Cancel {}, reason: "why".to_owned() };
        text += &format!("{}\n", serde_json::to_string(&asked).unwrap());
        expect![[r#"
            {"cancel":{}}
            {"turn_back":{}}
            {"pause":{}}
            {"unpause":{}}
            {"resume":{"action":"a/forward"}}
            {"retry_now":{"action":"a/forward"}}
            {"send_again":{"action":"a/forward"}}
            {"send_again":{"action":"a/forward","override_reason":"asked"}}
            {"accept":{"action":"a/forward","output":[1.50],"evidence":"a letter"}}
            {"found":{"action":"a/forward","finding":"not_applied","evidence":"a letter"}}
            {"found":{"action":"a/forward","finding":{"refused":"no"},"evidence":"a letter"}}
            {"found":{"action":"a/forward","finding":{"partial":null},"evidence":"a letter"}}
            {"reject":{"action":"a/forward"}}
            {"supply":{"action":"a/forward","output":7,"evidence":"a letter"}}
            {"keep":{"action":"a/forward","until":9}}
            {"waive":{"action":"a/forward"}}
            {"assign":{"item":"a/forward","assignee":"carol"}}
            {"set_disposition":{"item":"","disposition":"resume"}}
            {"compensate_in_doubt":{"action":"a/forward"}}
            {"compensate":{"action":"a/forward","order":{"reason_code":"goodwill","approval":"another_person","expected":{"v": 1.0},"proposed":null,"affected":null,"dry_run":null}}}
            {"compensate":{"action":"a/forward","order":{"reason_code":"goodwill","approval":{"policy":"small"},"expected":{"v": 1.0},"proposed":null,"affected":null,"dry_run":null}}}
            {"close":{"follow_up":"a credit note","named":["a/forward"]}}
            {"approve":{"request":"1"}}
            {"deny":{"request":"1"}}
            {"request":"139f4304-0934-55aa-a8c8-d4b7addbf19d","attempt":1,"answer":{"succeeded":{"value":{"b": 1.50}}}}
            {"request":"139f4304-0934-55aa-a8c8-d4b7addbf19d","attempt":1,"answer":{"succeeded":{"omitted":{"reason":"too large","size":9}}}}
            {"request":"139f4304-0934-55aa-a8c8-d4b7addbf19d","attempt":1,"answer":{"refused":{"value":"no"}}}
            {"request":"139f4304-0934-55aa-a8c8-d4b7addbf19d","attempt":1,"answer":{"transient":{"kind":"unknown","code":"lost"}}}
            {"request":"139f4304-0934-55aa-a8c8-d4b7addbf19d","attempt":1,"answer":{"persistent":{"kind":"unknown","code":"lost"}}}
            {"request":"139f4304-0934-55aa-a8c8-d4b7addbf19d","attempt":1,"answer":{"unknown":{"kind":"unknown","code":"lost"}}}
            {"request":"139f4304-0934-55aa-a8c8-d4b7addbf19d","attempt":1,"answer":{"accepted":{"wait":{"secs":3,"nanos":0}}}}
            {"request":"139f4304-0934-55aa-a8c8-d4b7addbf19d","attempt":1,"answer":{"partial":null}}
            {"request":"139f4304-0934-55aa-a8c8-d4b7addbf19d","attempt":1,"answer":{"fenced":{"through":2}}}
            {"request":"139f4304-0934-55aa-a8c8-d4b7addbf19d","attempt":1,"answer":{"mismatch":{"kind":"unknown","code":"lost"}}}
            {"request":"139f4304-0934-55aa-a8c8-d4b7addbf19d","attempt":1,"answer":{"stale":{"found":2}}}
            {"request":"00000000-0000-0000-0000-000000000000","answer":{"partial":null}}
            {"ask":{"cancel":{}},"reason":"why"}
        "#]].assert_eq(&text);
    }

    #[test]
    fn the_key_of_a_reply_tells_request_attempt_and_outcome_apart() {
        let of = |n, attempt, answer| {
            reply_key(&Replied { request: RequestId(Uuid::from_u128(n)), attempt, answer })
        };
        let yes = || Attempted::Succeeded(Recorded::Value(json("1")));
        assert_eq!(of(1, Some(1), yes()), of(1, Some(1), yes()));
        for other in [of(2, Some(1), yes()), of(1, Some(2), yes()), of(1, None, yes())] {
            assert_ne!(of(1, Some(1), yes()), other);
        }
        assert_ne!(of(1, Some(1), yes()), of(1, Some(1), Attempted::Partial(None)));
    }
}
