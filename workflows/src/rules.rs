//! What the participants' codes mean: one versioned list of rules each.
//!
//! A code that is not listed is *unknown*, and an answer that never came is not listed on purpose: whoever
//! adds a code here claims to know that nothing took effect.

use std::sync::LazyLock;

use amends::prelude::{
    Class, Classifier, CompensationError, Meaning, Problem, QueryError, StepContext, StepError, Undo,
};

use crate::ports::{Answer, CallError, Fault, UndoAnswer, UndoError, code};

/// The warehouse's codes.
pub static WAREHOUSE: LazyLock<Classifier> = LazyLock::new(|| usual("warehouse/1"));

/// The payment gateway's codes. It alone counts calls.
pub static PAYMENT_GATEWAY: LazyLock<Classifier> =
    LazyLock::new(|| usual("payment-gateway/1").rule(code::RATE_LIMITED, Class::Transient));

/// The ledger's codes.
pub static LEDGER: LazyLock<Classifier> = LazyLock::new(|| usual("ledger/1"));

/// The carrier's codes.
pub static CARRIER: LazyLock<Classifier> = LazyLock::new(|| usual("carrier/1"));

/// The codes of those who send letters and messages.
pub static POST_OFFICE: LazyLock<Classifier> = LazyLock::new(|| usual("post-office/1"));

/// The codes of the risk check.
pub static RISK_ENGINE: LazyLock<Classifier> = LazyLock::new(|| usual("risk-engine/1"));

/// The codes of those who remember sales. What is too early today is fine tomorrow.
pub static SALES: LazyLock<Classifier> =
    LazyLock::new(|| usual("sales/1").rule(code::TOO_EARLY, Class::Transient));

fn usual(version: &str) -> Classifier {
    Classifier::new(version)
        .rule(code::UNAVAILABLE, Class::Transient)
        .rule(code::BAD_CREDENTIAL, Class::Persistent)
        .rule(code::BAD_REQUEST, Class::Persistent)
}

/// The answer to a forward call, as a step gives it.
///
/// # Errors
/// Whatever the answer is other than a result.
pub fn forward<T, R>(
    cx: &StepContext,
    rules: &Classifier,
    operation: &str,
    answer: Answer<T, R>,
) -> Result<T, StepError<R>> {
    let fault = match answer {
        Ok(result) => return Ok(result),
        Err(CallError::Refused(reason)) => return Err(StepError::Refused(reason)),
        Err(CallError::Accepted { wait }) => return Err(StepError::Accepted { wait }),
        Err(CallError::Partial(result)) => return Err(StepError::Partial(result)),
        Err(CallError::Failed(fault)) => fault,
    };
    // These two speak of the request id and not of the work, so they mean the same everywhere.
    match &*fault.code {
        code::FENCED => Err(StepError::Fenced { through: cx.attempt() }),
        code::MISMATCH => Err(StepError::Mismatch(Problem::new(code::MISMATCH, &fault.message))),
        _ => Ok(Err(fault).classify(rules, operation)?),
    }
}

/// The answer to a compensation, as a step gives it.
///
/// # Errors
/// Whatever the answer is other than a result.
pub fn backward(rules: &Classifier, operation: &str, answer: UndoAnswer) -> Result<Undo, CompensationError> {
    let fault = match answer {
        Ok(undo) => return Ok(undo),
        Err(UndoError::Accepted { wait }) => return Err(CompensationError::Accepted { wait }),
        Err(UndoError::Stale { found }) => return Err(CompensationError::Stale { found }),
        Err(UndoError::Failed(fault)) => fault,
    };
    match &*fault.code {
        // This transmission was closed out, so it had no effect; the next one is a later attempt.
        code::FENCED => Err(CompensationError::transient(code::FENCED, &fault.message)),
        code::MISMATCH => Err(CompensationError::Mismatch(Problem::new(code::MISMATCH, &fault.message))),
        _ => Ok(Err(fault).classify(rules, operation)?),
    }
}

/// What a query found, or that it failed itself.
///
/// # Errors
/// When the query failed.
pub fn query<T>(rules: &Classifier, operation: &str, found: Result<T, Fault>) -> Result<T, QueryError> {
    Ok(found.classify(rules, operation)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_that_no_rule_lists_is_unknown() {
        assert_eq!(PAYMENT_GATEWAY.class_of("capture", "code_x777"), Class::Unknown);
        assert_eq!(PAYMENT_GATEWAY.class_of("capture", code::REPLY_LOST), Class::Unknown);
    }

    #[test]
    fn only_those_who_count_calls_may_say_that_there_were_too_many() {
        assert_eq!(PAYMENT_GATEWAY.class_of("capture", code::RATE_LIMITED), Class::Transient);
        assert_eq!(CARRIER.class_of("ship", code::RATE_LIMITED), Class::Unknown);
    }

    #[test]
    fn a_failure_names_its_rule_and_the_version_of_the_rules() {
        let mut fault = Fault::new(code::UNAVAILABLE, "card declined");
        fault.retry_after = Some(std::time::Duration::from_secs(3));
        let error = backward(&CARRIER, "ship", Err(fault.into())).unwrap_err();
        let expected = expect_test::expect![[r#"
            Transient(
                Problem {
                    code: "unavailable",
                    message: "card declined",
                    rule: "unavailable",
                    classifier: "carrier/1",
                    wait: Some(
                        3s,
                    ),
                },
            )
        "#]];
        expected.assert_debug_eq(&error);
    }
}
