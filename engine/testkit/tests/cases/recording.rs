//! G30 to G32: what a store or a reader cannot take is refused at the door; from a step whose effect has
//! happened it is recorded as applied, with a marker where the value would be.
//!
//! `engine/core/tests/it/admission.rs` has every way to be inadmissible; `adapters/sea-orm/tests/recording/main.rs`
//! tells the same stories on SQLite. Bytes that are no UTF-8 cannot be a step's value: its type is text.

use std::sync::{Arc, Mutex};

use amends::core::admission::{Limits, Reason, Refused};
use amends::core::agenda::Desk;
use amends::core::event::{Answer, Recorded};
use amends::core::state::{Effect, Stage};
use amends::engine::SagaStartError;
use amends::prelude::*;
use amends_core::Json;
use amends_testkit::{Ledger, World, WorldSaga};
use serde::{Deserialize, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

use super::kit::{Part, part, request};

/// What a charge comes to: any document, or none at all.
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "Json")]
struct Receipt(Option<Json>);

impl Receipt {
    fn of(text: impl AsRef<str>) -> Self {
        Self(Some(Json::parse(text.as_ref()).expect("a lenient reader takes it")))
    }
}

impl From<Json> for Receipt {
    fn from(json: Json) -> Self {
        Self(Some(json))
    }
}

impl Serialize for Receipt {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Some(json) => json.serialize(serializer),
            None => Err(serde::ser::Error::custom("the printer is out of paper")),
        }
    }
}

impl Payload for Receipt {
    const SCHEMA: &'static str = "receipt/1";
}

/// What an attempt of a [`Charge`] answers, once its effect has happened.
type Reply = Result<Receipt, StepError<Receipt>>;

/// Takes effect, answers what the test says, and notes what its compensation is told.
#[derive(Clone)]
struct Charge {
    ledger: Ledger,
    reply: Arc<dyn Fn() -> Reply + Send + Sync>,
    found: Receipt,
    told: Arc<Mutex<Vec<String>>>,
}

impl Step for Charge {
    type Input = u32;
    type Output = Receipt;
    type Refusal = Receipt;
    type Settle = ByQuery;

    async fn run(&self, cx: &StepContext, _: u32) -> Reply {
        self.ledger.called(&"gateway".into(), cx);
        let reply = (self.reply)();
        if matches!(reply, Ok(_) | Err(StepError::Unknown(_) | StepError::Partial(_))) {
            self.ledger.took_effect(&"gateway".into(), cx);
        }
        reply
    }
}

impl Reconcile for Charge {
    async fn reconcile(&self, cx: &StepContext, _: u32) -> Result<Finding<Receipt, Receipt>, QueryError> {
        self.ledger.queried(&"gateway".into(), cx);
        Ok(Finding::Applied(self.found.clone()))
    }
}

impl Compensate for Charge {
    type UndoSettle = ByRepeating;

    async fn compensate(
        &self,
        cx: &StepContext,
        _: u32,
        forward: Forward<Receipt>,
    ) -> Result<Undo, CompensationError> {
        self.ledger.took_effect(&"gateway".into(), cx);
        self.told.lock().expect("nobody panicked with it").push(match forward {
            Forward::Unrecorded(omitted) => format!("{}: {} bytes", omitted.reason, omitted.size),
            other => format!("{other:?}").chars().take(99).collect(),
        });
        Ok(Undo::Undone)
    }
}

/// `charge → ship`; the shipping needs the receipt, or only that it exists.
struct Shop {
    world: World,
    ledger: Ledger,
    charge: Charge,
    ship: Part,
    saga: WorldSaga<u32>,
}

impl Shop {
    fn new(needed: bool, found: Receipt, reply: impl Fn() -> Reply + Send + Sync + 'static) -> Self {
        let mut world = World::new();
        let ledger = Ledger::new(&mut world);
        let charge = Charge { ledger: ledger.clone(), reply: Arc::new(reply), found, told: Arc::default() };
        let ship = part(&ledger, "carrier");
        let (mut s, input) = SagaBuilder::<u32>::new("order", 1);
        let charged = s.step("charge", charge.clone(), input);
        let shipping = ship.step::<ByQuery, ByOperator>();
        let (shipped, s) = if needed {
            s.pivot("ship", shipping, charged.map(|receipt: Receipt| u32::from(receipt.0.is_some())))
        } else {
            s.pivot("ship", shipping, input.after(charged))
        };
        let saga = s.finish(shipped).expect("the definition is sound");
        world.register(&saga);
        let saga = world.start(&saga, "key", 7);
        world.run_until_settled();
        Self { world, ledger, charge, ship, saga }
    }

    /// The charge counts as applied; where its value would be stands why it is not there.
    #[track_caller]
    fn assert_applied_without_value(&self, size: usize, digest: Option<String>, reason: &str) {
        let view = self.saga.view();
        let charge = &view.step("charge").expect("it is a step").forward;
        assert_eq!((charge.stage, charge.effect), (Stage::Succeeded, Effect::Applied), "{reason}");
        let Some(Recorded::Omitted(omitted)) = &charge.output else { panic!("{:?}", charge.output) };
        assert_eq!((omitted.size, &omitted.digest), (size as u64, &digest));
        assert!(omitted.reason.contains(reason), "{} / {reason}", omitted.reason);
        assert_eq!(self.counts(), (1, 1), "it is called once, whatever it answered: {reason}");
    }

    /// Calls and effects of the charge.
    fn counts(&self) -> (u32, usize) {
        let charge = request(&self.saga, "charge");
        (self.ledger.calls(charge), self.ledger.effects(charge))
    }
}

/// Receipts that cannot be kept, and what the journal says of each.
fn unstorable() -> Vec<(Receipt, &'static str)> {
    vec![
        (Receipt::of(r#""a\u0000b""#), "$: the text holds a NUL character"),
        (Receipt::of(r#"{"no":["x",{"a\u0000":1}]}"#), r#"$.no[1]["a\0"]: the text holds a NUL character"#),
        (Receipt::of(r#"{"name":"\ud800"}"#), "$.name: the text holds half of a surrogate pair"),
        (Receipt::of(r#"{"amount":200,"amoun\u0074":20000}"#), "$.amount: duplicate key"),
        (Receipt::of("[18446744073709551616]"), "$[0]: the integer 18446744073709551616 is outside"),
        (Receipt::of("[1e999]"), "$[0]: the number 1e999 is beyond the range of a double"),
        (Receipt::of("[".repeat(5_000) + &"]".repeat(5_000)), "nested deeper than 64"),
        (
            Receipt::of(format!("\"{}\"", "x".repeat(3 << 20))),
            "$: 3145730 bytes are more than the 1048576 of one document",
        ),
        (Receipt(None), "cannot be written as JSON: the printer is out of paper"),
    ]
}

fn hex(bytes: impl AsRef<[u8]>) -> String {
    bytes.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Size and digest of what was not kept.
fn measured(receipt: &Receipt) -> (usize, Option<String>) {
    receipt.0.as_ref().map_or((0, None), |json| (json.text().len(), Some(hex(Sha256::digest(json.text())))))
}

/// Why a step cannot begin.
fn complaint(saga: &WorldSaga<u32>, step: &str) -> String {
    let view = saga.view();
    let failure = &view.step(step).expect("it is a step").forward.failure;
    failure.as_ref().expect("it has failed").message.clone()
}

#[test]
fn g30_a_trigger_with_a_duplicate_key_starts_nothing_and_is_told_where_it_stands() {
    let mut shop = Shop::new(false, Receipt::of("1"), || Ok(Receipt::of("1")));
    let sagas = shop.ledger.entries().len();
    for (trigger, path) in [
        (r#"{"order":42,"amount":200,"amount":20000}"#, "$.amount"),
        (r#"{"body":{"order":42,"amount":200,"amount":20000}}"#, "$.body.amount"),
        (r#"{"body":[{"order":42,"amount":200,"amoun\u0074":20000}]}"#, "$.body[0].amount"),
    ] {
        let trigger = Json::parse(trigger).expect("a lenient reader takes it");
        let error = shop.world.start_json("order", "evt-2", trigger).expect_err("it is refused");
        let SagaStartError::Input(refused) = error else { panic!("{error}") };
        assert_eq!(refused, Refused { path: path.to_owned(), reason: Reason::DuplicateKey });
    }
    shop.world.run_until_settled();
    assert_eq!(shop.ledger.entries().len(), sagas, "nothing was called");
    let fits = Json::parse("7").expect("it is JSON");
    assert!(shop.world.start_json("order", "evt-2", fits).is_ok(), "the key is still free");
}

#[test]
fn g30_two_steps_of_one_name_are_no_definition() {
    let mut world = World::new();
    let ledger = Ledger::new(&mut world);
    let gateway = part(&ledger, "gateway");
    let (mut s, input) = SagaBuilder::<u32>::new("order", 1);
    let once = s.step("charge", gateway.step::<ByQuery, ByOperator>(), input);
    let twice = s.step("charge", gateway.step::<ByQuery, ByOperator>(), once);
    let errors = s.finish(twice).expect_err("which of them would `charge` be?").to_string();
    assert!(errors.contains("charge"), "{errors}");
}

#[test]
fn g31_and_g32_a_result_that_cannot_be_stored_is_a_success_and_its_reader_is_quarantined_unsent() {
    for (receipt, reason) in unstorable() {
        let (size, digest) = measured(&receipt);
        let mut shop = Shop::new(true, receipt.clone(), move || Ok(receipt.clone()));
        shop.assert_applied_without_value(size, digest.clone(), reason);
        shop.saga.assert_on_desk(Desk::Quarantine, "ship", "input");
        assert_eq!(shop.ship.on_call().calls(), 0, "nothing was sent: {reason}");
        assert_eq!(shop.saga.attempts("ship"), 0);
        let why = complaint(&shop.saga, "ship");
        assert!(why.contains("the result of `charge` was not recorded") && why.contains(reason), "{why}");

        // Neither time nor a new process nor a person's resumption makes it happen again.
        shop.world.run_for(hours(24));
        shop.world.crash();
        shop.world.run_until_settled();
        assert_eq!(shop.world.resume(&shop.saga, "ship"), Ok(Answer::Accepted));
        shop.world.run_until_settled();
        shop.assert_applied_without_value(size, digest, reason);
        shop.saga.assert_on_desk(Desk::Quarantine, "ship", "input");

        // And it can be undone: the compensation is told that the value is missing, and why.
        assert_eq!(shop.world.cancel(&shop.saga), Ok(Answer::Accepted));
        shop.world.run_until_settled();
        shop.saga.assert_compensated();
        assert_eq!(shop.saga.compensations(), ["charge"]);
        let told = shop.charge.told.lock().unwrap().clone();
        assert!(matches!(&told[..], [once] if once.contains(reason)), "{told:?} / {reason}");
        assert_eq!((shop.counts(), shop.ship.on_call().calls()), ((1, 1), 0));
    }
}

#[test]
fn g31_and_g32_a_result_that_cannot_be_stored_holds_nobody_up_who_does_not_need_it() {
    for (receipt, reason) in unstorable() {
        let (size, digest) = measured(&receipt);
        let shop = Shop::new(false, receipt.clone(), move || Ok(receipt.clone()));
        shop.assert_applied_without_value(size, digest, reason);
        shop.saga.assert_completed();
        assert_eq!(shop.ship.in_place(), [7]);
    }
}

#[test]
fn g31_and_g32_what_a_query_finds_and_cannot_be_stored_is_a_success_too() {
    for (receipt, reason) in unstorable() {
        let (size, digest) = measured(&receipt);
        let lost = || Err(StepError::unknown("timeout", "no answer"));
        let shop = Shop::new(false, receipt, lost);
        shop.assert_applied_without_value(size, digest, reason);
        shop.saga.assert_completed();
    }
}

#[test]
fn g31_and_g32_a_refusal_that_cannot_be_stored_is_a_refusal() {
    for (receipt, reason) in unstorable() {
        let (size, digest) = measured(&receipt);
        let shop = Shop::new(true, receipt.clone(), move || Err(StepError::Refused(receipt.clone())));
        shop.saga.assert_compensated();
        let view = shop.saga.view();
        let charge = &view.step("charge").expect("it is a step").forward;
        let Some(Recorded::Omitted(omitted)) = &charge.refusal else { panic!("{:?}", charge.refusal) };
        assert_eq!((omitted.size, &omitted.digest), (size as u64, &digest));
        assert!(omitted.reason.contains(reason), "{} / {reason}", omitted.reason);
        assert_eq!(shop.counts(), (1, 0));
    }
}

#[test]
fn g31_a_failure_with_hostile_words_is_recorded_as_what_it_is() {
    let words = || format!("a\0b {}\u{1f4a5}", "é".repeat(1 << 19));
    let failures: [fn(String) -> StepError<Receipt>; 2] = [
        |words| StepError::persistent(words.clone(), words),
        |words| StepError::unknown(words.clone(), words),
    ];
    for failure in failures {
        let mut shop = Shop::new(true, Receipt::of("1"), move || Err(failure(words())));
        shop.world.run_for(hours(1));
        let view = shop.saga.view();
        let charge = &view.step("charge").expect("it is a step").forward;
        let unknown = charge.stage == Stage::Succeeded;
        let failure = charge.failure.as_ref();
        let journalled = serde_json::to_string(view.journal()).expect("a journal is JSON");
        assert!(journalled.len() < 40_000 && !journalled.contains("\\u0000"), "{}", journalled.len());
        assert_eq!(view.set_aside, None);
        if unknown {
            shop.saga.assert_completed();
            assert_eq!((shop.counts(), shop.ledger.queries(request(&shop.saga, "charge"))), ((1, 1), 1));
        } else {
            shop.saga.assert_on_desk(Desk::Quarantine, "charge", "persistent");
            let failure = failure.expect("it is kept");
            assert!(failure.message.starts_with("a\u{fffd}b éé") && failure.message.len() <= 4_096);
            assert_eq!(shop.counts(), (1, 0));
        }
    }
}

#[test]
fn g32_a_trigger_of_two_megabytes_is_refused_once_and_nothing_waits_for_it() {
    let mut shop = Shop::new(false, Receipt::of("1"), || Ok(Receipt::of("1")));
    let trigger = Json::encode(&"x".repeat(2 << 20)).expect("a text is JSON");
    let bytes = trigger.text().len();
    let commits = shop.world.commits();
    let error = shop.world.start_json("order", "evt-2", trigger).expect_err("it is refused");
    let SagaStartError::Input(refused) = error else { panic!("{error}") };
    let bytes_max = Limits::DEFAULT.bytes_max;
    assert_eq!(refused, Refused::whole(Reason::TooLarge { bytes, bytes_max }));
    assert_eq!(shop.world.commits(), commits);
}

/// Each value fits, and what is made of both does not.
#[test]
fn g32_values_that_fit_one_by_one_and_not_together_stop_a_step_before_it_is_sent() {
    let mut world = World::new();
    let ledger = Ledger::new(&mut world);
    let sent = part(&ledger, "archive");
    let archive = amends_testkit::Participant::<String, u32, String>::new(&ledger, "archive", |_| 1);
    let (mut s, input) = SagaBuilder::<u32>::new("order", 1);
    let [one, other] = ["one", "other"].map(|name| {
        let page = "x".repeat(700 << 10);
        s.read_fn(name, input, move |_, _: u32| std::future::ready(Ok(page.clone())))
    });
    let both = (one, other).map(|(one, other): (String, String)| one + &other);
    let (done, s) = s.pivot("keep", archive.step::<ByQuery, ByOperator>(), both);
    let saga = s.finish(done).expect("the definition is sound");
    world.register(&saga);
    let saga = world.start(&saga, "key", 7);
    world.run_until_settled();
    saga.assert_on_desk(Desk::Quarantine, "keep", "input");
    let why = complaint(&saga, "keep");
    assert!(why.contains("$: 1433602 bytes are more than the 1048576 of one document"), "{why}");
    assert_eq!((archive.on_call().calls(), sent.on_call().calls(), saga.attempts("keep")), (0, 0, 0));
    assert_eq!(world.cancel(&saga), Ok(Answer::Accepted), "known not applied: the way back is open");
    saga.assert_compensated();
}
