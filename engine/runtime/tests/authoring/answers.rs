//! What becomes of a step's answers: every `?` says what it means, and the journal keeps the class.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use amends::core::event::{Failure, FailureKind, Finding as Found, Recorded};
use amends::core::machine::Attempted;
use amends::core::{Json, RequestId, SagaId, Timestamp};
use amends::ports::SystemClock;
use amends::prelude::*;
use amends::{BoxFuture, ContextParts, ForwardOutcome, Node, Prepared};
use expect_test::{Expect, expect};
use futures_util::FutureExt as _;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// An error of a payment gateway.
#[derive(Debug)]
struct GatewayError(&'static str, Option<Duration>);

impl fmt::Display for GatewayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the gateway answered {}", self.0)
    }
}

impl Coded for GatewayError {
    fn code(&self) -> &str {
        self.0
    }

    fn wait(&self) -> Option<Duration> {
        self.1
    }
}

#[derive(Serialize, Deserialize)]
enum Declined {
    InsufficientFunds,
}

impl Payload for Declined {
    const SCHEMA: &'static str = "declined/1";
}

fn rules() -> Classifier {
    Classifier::new("gateway/3")
        .rule("rate_limited", Class::Transient)
        .rule("bad_credential", Class::Persistent)
        .rule_for("refund", "locked", Class::Transient)
}

/// The gateway answers with the step's input: `ok`, or an error code.
fn call(code: &str) -> Result<(), GatewayError> {
    match code {
        "ok" => Ok(()),
        "rate_limited" => Err(GatewayError("rate_limited", Some(minutes(3)))),
        "rate_limited_for_a_year" => Err(GatewayError("rate_limited", Some(hours(365 * 24)))),
        "bad_credential" => Err(GatewayError("bad_credential", None)),
        "insufficient_funds" => Err(GatewayError("insufficient_funds", None)),
        "locked" => Err(GatewayError("locked", None)),
        _ => Err(GatewayError("never_heard_of", None)),
    }
}

struct Charge;

impl Step for Charge {
    type Input = String;
    type Output = String;
    type Refusal = Declined;
    type Settle = ByQuery;

    async fn run(&self, _: &StepContext, input: String) -> Result<String, StepError<Declined>> {
        match input.as_str() {
            "transient" => "x".parse::<u32>().map(drop).transient()?,
            "persistent" => "x".parse::<u32>().map(drop).persistent()?,
            "unknown" => "x".parse::<u32>().map(drop).unknown()?,
            "taken" => return Err(StepError::accepted(None)),
            "taken for a minute" => return Err(StepError::accepted(minutes(1))),
            "taken for a year" => return Err(StepError::accepted(hours(365 * 24))),
            "in part" => return Err(StepError::Partial(Json::encode("a\0b").ok())),
            code => call(code)
                .refuse_if(|error| (error.0 == "insufficient_funds").then_some(Declined::InsufficientFunds))?
                .classify(&rules(), "charge")?,
        }
        Ok(input)
    }
}

impl Compensate for Charge {
    type UndoSettle = ByQuery;

    async fn compensate(
        &self,
        _: &StepContext,
        input: String,
        forward: Forward<String>,
    ) -> Result<Undo, CompensationError> {
        match forward {
            Forward::Completed(charged) if charged != input => {
                return Err(CompensationError::persistent("mixed-up", charged));
            }
            Forward::Completed(_) => {}
            Forward::Unrecorded(Omitted { reason, digest, size }) => {
                let digest = digest.unwrap_or_default();
                let known = format!("{reason}: {size} bytes, {}", &digest[..digest.len().min(8)]);
                return Err(CompensationError::unknown("unrecorded", known));
            }
            Forward::Partial(part) => {
                return Err(CompensationError::transient("partial", part.unwrap_or_default()));
            }
            Forward::InDoubt => return Ok(Undo::NothingToUndo),
        }
        match input.as_str() {
            "taken for a minute" => return Err(CompensationError::accepted(minutes(1))),
            "transient" => "x".parse::<u32>().map(drop).transient()?,
            code => call(code).classify(&rules(), "refund")?,
        }
        Ok(Undo::Undone)
    }
}

impl Reconcile for Charge {
    async fn reconcile(
        &self,
        _: &StepContext,
        input: String,
    ) -> Result<Finding<String, Declined>, QueryError> {
        match input.as_str() {
            "transient" => "x".parse::<u32>().map(drop).transient()?,
            "insufficient_funds" => return Ok(Finding::Refused(Declined::InsufficientFunds)),
            code => call(code).classify(&rules(), "status")?,
        }
        Ok(Finding::Applied(input))
    }
}

impl ReconcileCompensation for Charge {
    async fn reconcile_compensation(
        &self,
        _: &StepContext,
        input: String,
    ) -> Result<UndoFinding, QueryError> {
        call(&input).unknown()?;
        Ok(UndoFinding::NothingToUndo)
    }
}

fn node() -> Arc<dyn Node> {
    let (mut s, order) = SagaBuilder::<String>::new("payment", 1);
    // Configured, so that what it forwards is covered as well.
    let charged = s.step("charge", Charge.timeout(seconds(3)), order);
    let definition =
        s.finish(charged).expect("a good definition").resolve(&Policies::new()).expect("possible numbers");
    definition.nodes[0].clone()
}

fn context() -> StepContext {
    let request_id = RequestId(Uuid::from_u128(2));
    StepContext::new(ContextParts {
        saga: SagaId(Uuid::from_u128(1)),
        key: "payment-1".into(),
        request_id,
        forward_request_id: request_id,
        attempt: 1,
        fence_through: None,
        expected: None,
        trace: None,
        deadline: Timestamp(0),
        clock: Arc::new(SystemClock::starting_at(Timestamp(0))),
        stop: Default::default(),
    })
}

fn input(text: &str) -> Prepared {
    Prepared { value: Box::new(text.to_owned()), shaped: None }
}

fn now<T>(future: BoxFuture<T>) -> T {
    future.now_or_never().expect("nothing in these steps waits")
}

fn run(text: &str) -> Attempted {
    now(node().run(context(), input(text)))
}

fn compensate(text: &str, forward: ForwardOutcome) -> Attempted {
    now(node().compensate(context(), input(text), forward))
}

fn completed(json: &str) -> ForwardOutcome {
    ForwardOutcome::Completed(Recorded::Value(Json::parse(json).expect("JSON")))
}

fn told(failure: &Failure) -> String {
    let Failure { kind, code, message, rule, classifier, hint } = failure;
    format!("{kind:?} {code} [{message}] rule={rule} classifier={classifier} hint={hint:?}")
}

fn check(answers: impl IntoIterator<Item = Attempted>, expected: Expect) {
    let lines: Vec<String> = answers
        .into_iter()
        .map(|answer| match answer {
            Attempted::Succeeded(recorded) => format!("succeeded {recorded:?}"),
            Attempted::Refused(recorded) => format!("refused {recorded:?}"),
            Attempted::Transient(failure) => format!("transient: {}", told(&failure)),
            Attempted::Persistent(failure) => format!("persistent: {}", told(&failure)),
            Attempted::Unknown(failure) => format!("unknown: {}", told(&failure)),
            other => format!("{other:?}"),
        })
        .collect();
    expected.assert_eq(&lines.join("\n"));
}

#[test]
fn plain_question_marks_in_a_step_say_what_they_mean() {
    check(
        ["transient", "persistent", "unknown"].map(run),
        expect![[r#"
        transient: Transient error [invalid digit found in string] rule=step classifier= hint=None
        persistent: Persistent error [invalid digit found in string] rule=step classifier= hint=None
        unknown: Unknown error [invalid digit found in string] rule=step classifier= hint=None"#]],
    );
}

#[test]
fn rules_classify_by_code_and_whatever_no_rule_knows_is_unknown() {
    check(
        ["ok", "rate_limited", "bad_credential", "locked", "no such code"].map(run),
        expect![[r#"
        succeeded Value("ok")
        transient: Transient rate_limited [the gateway answered rate_limited] rule=rate_limited classifier=gateway/3 hint=Some(180s)
        persistent: Persistent bad_credential [the gateway answered bad_credential] rule=bad_credential classifier=gateway/3 hint=None
        unknown: Unknown locked [the gateway answered locked] rule=unlisted classifier=gateway/3 hint=None
        unknown: Unknown never_heard_of [the gateway answered never_heard_of] rule=unlisted classifier=gateway/3 hint=None"#]],
    );
}

#[test]
fn a_final_no_is_a_refusal_before_any_rule_is_asked() {
    check(["insufficient_funds"].map(run), expect![[r#"refused Value("InsufficientFunds")"#]]);
}

#[test]
fn a_hint_of_a_year_counts_as_a_day_through_a_classifier_too() {
    let Attempted::Transient(failure) = run("rate_limited_for_a_year") else { panic!("it is transient") };
    assert_eq!(failure.hint, Some(hours(24)));
}

#[test]
fn hints_that_are_no_time_at_all_are_ignored_and_endless_ones_bounded() {
    let hint = |seconds| match StepError::<Never>::Transient(Problem::new("busy", "").wait_seconds(seconds)) {
        StepError::Transient(problem) => problem,
        _ => unreachable!("it was made transient"),
    };
    let none = Problem::new("busy", "");
    for nonsense in [-1.0, -0.001, f64::NAN, f64::NEG_INFINITY] {
        assert_eq!(hint(nonsense), none, "{nonsense}");
    }
    for endless in [f64::INFINITY, f64::MAX, 1e12, 86_400.5] {
        assert_eq!(hint(endless), none.clone().wait(hours(24)), "{endless}");
    }
    assert_eq!(hint(1.5), none.clone().wait(Duration::from_millis(1_500)));
    assert_eq!(hint(0.0), none.wait(Duration::ZERO));
}

#[test]
fn an_acceptance_hands_its_hint_on_and_a_year_counts_as_a_day() {
    let taken = |hint| Attempted::Accepted { wait: hint };
    assert_eq!(run("taken"), taken(None));
    assert_eq!(run("taken for a minute"), taken(Some(minutes(1))));
    assert_eq!(run("taken for a year"), taken(Some(hours(24))));
    assert_eq!(compensate("taken for a minute", ForwardOutcome::InDoubt), Attempted::Succeeded(nothing()));
    let completed = completed("\"taken for a minute\"");
    assert_eq!(compensate("taken for a minute", completed), taken(Some(minutes(1))));
}

fn nothing() -> Recorded {
    Recorded::Value(Json::parse("\"NothingToUndo\"").expect("JSON"))
}

#[test]
fn a_partial_output_that_may_not_be_kept_is_omitted() {
    let answer = run("in part");
    assert!(matches!(answer, Attempted::Partial(Some(Recorded::Omitted(_)))), "{answer:?}");
}

#[test]
fn compensations_have_their_own_rules() {
    let answers = ["ok", "transient", "locked", "bad_credential", "no such code"]
        .map(|code| compensate(code, completed(&format!("{code:?}"))));
    check(
        answers,
        expect![[r#"
        succeeded Value("Undone")
        transient: Transient error [invalid digit found in string] rule=step classifier= hint=None
        transient: Transient locked [the gateway answered locked] rule=refund:locked classifier=gateway/3 hint=None
        persistent: Persistent bad_credential [the gateway answered bad_credential] rule=bad_credential classifier=gateway/3 hint=None
        unknown: Unknown never_heard_of [the gateway answered never_heard_of] rule=unlisted classifier=gateway/3 hint=None"#]],
    );
}

#[test]
fn a_compensation_is_told_what_is_known_of_the_forward_action() {
    let partial = |json| ForwardOutcome::Partial(Some(Recorded::Value(Json::parse(json).expect("JSON"))));
    let answers = [
        compensate("ok", completed("\"other\"")),
        compensate("ok", completed("17")),
        compensate("ok", partial("\"half\"")),
        compensate("ok", partial("17")),
        compensate("ok", ForwardOutcome::InDoubt),
    ];
    check(
        answers,
        expect![[r#"
            persistent: Persistent mixed-up [other] rule=step classifier= hint=None
            unknown: Unknown unrecorded [not a `text`: invalid type: integer `17`, expected a string at line 1 column 2: 2 bytes, 4523540f] rule=step classifier= hint=None
            transient: Transient partial [half] rule=step classifier= hint=None
            transient: Transient partial [] rule=step classifier= hint=None
            succeeded Value("NothingToUndo")"#]],
    );
}

#[test]
fn a_query_finds_out_or_fails_without_any_class() {
    let ask = |text| now(node().reconcile(context(), input(text)));
    assert!(matches!(ask("ok"), Ok(Found::Applied(Recorded::Value(json))) if json.text() == "\"ok\""));
    assert!(matches!(ask("insufficient_funds"), Ok(Found::Refused(_))));
    let failures = ["transient", "rate_limited", "no such code"].map(|text| told(&ask(text).unwrap_err()));
    expect![[r#"
        Unknown error [invalid digit found in string] rule=step classifier= hint=None
        Unknown rate_limited [the gateway answered rate_limited] rule=rate_limited classifier=gateway/3 hint=Some(180s)
        Unknown never_heard_of [the gateway answered never_heard_of] rule=unlisted classifier=gateway/3 hint=None"#]].assert_eq(&failures.join("\n"));
}

#[test]
fn a_query_for_a_compensation_is_asked_through_settings_too() {
    let ask = |text| now(node().reconcile_compensation(context(), input(text)));
    assert!(
        matches!(ask("ok"), Ok(Found::Applied(Recorded::Value(json))) if json.text() == "\"NothingToUndo\"")
    );
    assert_eq!(ask("locked").unwrap_err().kind, FailureKind::Unknown);
}

#[test]
fn a_message_is_cut_at_a_character_and_holds_no_nul() {
    let long = Problem::new("x", "ä".repeat(5_000));
    assert_eq!(long, Problem::new("x", "ä".repeat(2_048)));
    assert_eq!(Problem::new("x", "a\0b"), Problem::new("x", "a\u{fffd}b"));
}
