//! What an engine records of receipts that a database would refuse or cut.

use std::sync::Arc;

use amends::ports::{RandomIds, Store};
use amends::prelude::*;
use amends::{Engine, Outcome, SagaHandle, SagaView};
use amends_core::event::{Answer, Recorded};
use amends_core::machine::Operation;
use amends_core::{ActionId, Json, OperationId};
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize)]
struct Document(Json);

impl Payload for Document {
    const SCHEMA: &'static str = "document/1";
}

/// What the charge gives back, by the saga's input.
pub(crate) fn receipts() -> Vec<String> {
    vec![
        r#""a\u0000b""#.to_owned(),
        r#"{"name":"\udfff"}"#.to_owned(),
        r#"{"amount":200,"amoun\u0074":20000}"#.to_owned(),
        "[1e999]".to_owned(),
        "[".repeat(2_000) + &"]".repeat(2_000),
        format!("\"{}\"", "x".repeat(3 << 20)),
    ]
}

struct Charge;

impl Step for Charge {
    type Input = u32;
    type Output = Document;
    type Refusal = Never;
    type Settle = ByRepeating;

    async fn run(&self, _: &StepContext, nth: u32) -> Result<Document, StepError<Never>> {
        Ok(Document(Json::parse(&receipts()[nth as usize]).expect("a lenient reader takes it")))
    }
}

impl Compensate for Charge {
    type UndoSettle = ByRepeating;

    async fn compensate(
        &self,
        _: &StepContext,
        _: u32,
        forward: Forward<Document>,
    ) -> Result<Undo, CompensationError> {
        match forward {
            // Words that are as bad as the value, and a failure that has to be recorded all the same.
            Forward::Unrecorded(_) => {
                Err(CompensationError::persistent("a\0b", "no\0 receipt ".repeat(1 << 17)))
            }
            _ => Ok(Undo::Undone),
        }
    }
}

struct Ship;

impl Step for Ship {
    type Input = u32;
    type Output = u32;
    type Refusal = Never;
    type Settle = ByRepeating;

    async fn run(&self, _: &StepContext, nth: u32) -> Result<u32, StepError<Never>> {
        panic!("the receipt of {nth} was not kept, so nothing can be shipped by it")
    }
}

/// Waits until the action waits for a person.
async fn on_desk(saga: &SagaHandle<u32>, action: &ActionId) -> SagaView {
    loop {
        let view = saga.view().await.expect("it can be read");
        if view.desk.iter().any(|item| item.action.as_ref() == Some(action)) {
            return view;
        }
        tokio::task::yield_now().await;
    }
}

/// What becomes of each receipt: the charge as recorded, and the saga's story without its times.
pub(crate) async fn told<S: Store>(store: S) -> Vec<String> {
    let (mut s, input) = SagaBuilder::<u32>::new("order", 1);
    let charged = s.step("charge", Charge, input);
    let (shipped, s) = s.pivot("ship", Ship, charged.map(|_: Document| 1));
    let saga = s.finish(shipped).expect("the definition is sound");
    let definition = saga.resolve(&Policies::new()).expect("the numbers are possible");
    let ids = Arc::new(RandomIds::seeded(1));
    let engine = Engine::builder(Arc::new(store)).register(definition).ids(ids).start().await;
    let engine = engine.expect("the engine starts");
    let mut told = Vec::new();
    for nth in 0..receipts().len() {
        let key = format!("order-{nth}");
        let handle = engine.start(&saga, &key, nth as u32).await.expect("it starts");
        let operation = |id: &str| Operation {
            id: OperationId::new(format!("{id}-{nth}")),
            actor: "ann".to_owned(),
            reason: "there is no receipt".to_owned(),
        };
        let view = on_desk(&handle, &ActionId::forward("ship")).await;
        let Some(Recorded::Omitted(omitted)) = &view.step("charge").expect("a step").forward.output else {
            panic!("{}", view.timeline())
        };
        told.push(format!("{omitted:?}"));
        assert_eq!(handle.cancel(operation("cancel")).await.expect("it can turn back"), Answer::Accepted);
        let undo = ActionId::compensation("charge");
        on_desk(&handle, &undo).await;
        let undone = Some(Json::parse("\"Undone\"").expect("JSON"));
        handle.accept(undo, undone, "by hand", operation("accept")).await.expect("it is on the desk");
        let outcome = handle.outcome().await.expect("it ends");
        assert!(matches!(outcome, Outcome::Compensated { .. }), "{outcome:?}");
        let story = handle.view().await.expect("it can be read").timeline();
        told.extend(story.lines().map(|line| line.split_once(' ').expect("a time and a fact").1.to_owned()));
    }
    engine.shutdown(std::time::Duration::from_secs(5)).await.expect("nothing is under way");
    told
}
