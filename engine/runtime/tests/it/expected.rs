//! What a compensation expects to find, and dry runs: nothing that legitimately happened since is overwritten.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use amends::core::agenda::Desk;
use amends::core::event::JournalEvent;
use amends::core::{ActionId, Json, SagaId};
use amends::engine::DryRunError;
use amends::memory::MemoryStore;
use amends::prelude::*;
use amends::{Engine, Settled, StartOptions};
use expect_test::expect;

use crate::workflow::{builder, next_engine, pass};

/// A shelf: every change gives it a new version. Its reservation can be undone only where nothing moved since.
#[derive(Clone, Default)]
struct Shelf {
    version: Arc<AtomicU64>,
    undos: Arc<AtomicU64>,
}

impl Shelf {
    fn version(&self) -> u64 {
        self.version.load(Ordering::SeqCst)
    }

    fn moves(&self) -> u64 {
        self.version.fetch_add(1, Ordering::SeqCst) + 1
    }
}

impl Step for Shelf {
    type Input = u64;
    type Output = u64;
    type Refusal = Never;
    type Settle = ByRepeating;

    async fn run(&self, _: &StepContext, _: u64) -> Result<u64, StepError<Never>> {
        Ok(self.moves())
    }
}

impl Compensate for Shelf {
    type UndoSettle = ByRepeating;

    fn expected(&self, forward: &Forward<u64>) -> Option<Precondition> {
        match forward {
            Forward::Completed(666) => panic!("nobody expects that"),
            Forward::Completed(version) => Some(Precondition::of(version)),
            Forward::Unrecorded(_) | Forward::Partial(_) | Forward::InDoubt => None,
        }
    }

    async fn compensate(&self, cx: &StepContext, _: u64, _: Forward<u64>) -> Result<Undo, CompensationError> {
        if self.undos.fetch_add(1, Ordering::SeqCst) == 0 {
            return Err(CompensationError::transient("busy", "later"));
        }
        cx.check_expected(&self.version())?;
        self.moves();
        Ok(Undo::Undone)
    }

    async fn dry_run(&self, cx: &StepContext, pieces: u64, _: Forward<u64>) -> Result<Preview, QueryError> {
        match pieces {
            1 => panic!("the shelf fell down"),
            2 => std::future::pending().await,
            _ => {}
        }
        let expected: u64 = cx.expected().map_or(Ok(0), Precondition::decode)?;
        let preview = Preview::new(format!("put {pieces} pieces back, at version {expected}"));
        Ok(preview.affects("shelf/7").found(&self.version()))
    }
}

/// Refuses what is more than nine.
struct Ship;

impl Step for Ship {
    type Input = u64;
    type Output = u64;
    type Refusal = String;
    type Settle = ByRepeating;

    async fn run(&self, cx: &StepContext, input: u64) -> Result<u64, StepError<String>> {
        if cx.business_key() == "refused" {
            return Err(StepError::Refused("no".to_owned()));
        }
        Ok(input)
    }
}

impl Compensate for Ship {
    type UndoSettle = ByRepeating;

    async fn compensate(&self, _: &StepContext, _: u64, _: Forward<u64>) -> Result<Undo, CompensationError> {
        Ok(Undo::Undone)
    }
}

/// `reserve → ship`. What the shelf expects reaches the engine through settings, too.
fn definition(shelf: &Shelf) -> amends::Definition {
    let policy = RetryPolicy { base: seconds(60), cap: seconds(60), ..RetryPolicy::default() };
    let (mut s, pieces) = SagaBuilder::<u64>::new("w", 1);
    let reserved = s.step("reserve", shelf.clone().compensation("minute"), pieces);
    let shipped = s.step("ship", Ship, reserved);
    s.finish(shipped).unwrap().resolve(&Policies::new().retry("minute", policy)).unwrap()
}

async fn start(engine: &Engine, key: &str, pieces: u64) -> amends::SagaHandle {
    let input = Json::encode(&pieces).unwrap();
    engine.start_json("w", key, input, StartOptions::default()).await.unwrap()
}

/// Puts a saga's shelf where the test wants it, and kills the process after the first undoing.
async fn undone_once_and_killed(shelf: &Shelf, store: &Arc<MemoryStore>) -> SagaId {
    let first = builder(store, &definition(shelf)).start().await.unwrap();
    let saga = start(&first, "refused", 3).await;
    while shelf.undos.load(Ordering::SeqCst) == 0 {
        pass(Duration::from_millis(1)).await;
    }
    first.abort().await;
    saga.id()
}

#[tokio::test(start_paused = true)]
async fn what_a_compensation_expects_is_recorded_with_its_first_start_and_survives_a_crash() {
    let (shelf, store) = (Shelf::default(), Arc::new(MemoryStore::new()));
    let id = undone_once_and_killed(&shelf, &store).await;
    let second = next_engine(&store, &definition(&shelf)).await;
    let saga = second.find("w", "refused").await.unwrap().unwrap();
    assert!(matches!(saga.settled().await.unwrap(), Settled::Ended(_)));
    assert_eq!((saga.id(), shelf.undos.load(Ordering::SeqCst), shelf.version()), (id, 2, 2));
    let expected: Vec<Option<String>> = saga
        .view()
        .await
        .unwrap()
        .journal()
        .iter()
        .flat_map(|row| &row.events)
        .filter_map(|event| match event {
            JournalEvent::Started { action, expected, .. } if !action.is_forward() => {
                Some(expected.as_ref().map(|state| state.text().to_owned()))
            }
            _ => None,
        })
        .collect();
    assert_eq!(expected, [Some("1".to_owned()), None]);
}

#[tokio::test(start_paused = true)]
async fn what_moved_meanwhile_is_left_alone_and_goes_to_the_approval_desk_with_both_states() {
    let (shelf, store) = (Shelf::default(), Arc::new(MemoryStore::new()));
    undone_once_and_killed(&shelf, &store).await;
    shelf.moves();
    let second = next_engine(&store, &definition(&shelf)).await;
    let saga = second.find("w", "refused").await.unwrap().unwrap();
    let Settled::OnDesk(items) = saga.settled().await.unwrap() else { panic!("a person has to look at it") };
    let [item] = &items[..] else { panic!("one item: {items:?}") };
    assert_eq!(
        (item.desk, item.name().as_str(), item.because.code()),
        (Desk::Approval, "reserve/compensation", "stale")
    );
    let view = saga.view().await.unwrap();
    let undo = view.step("reserve").unwrap().compensation.as_ref().unwrap();
    let texts = [&undo.expected, &undo.found_instead]
        .map(|state| state.as_ref().map(|state| state.text().to_owned()));
    assert_eq!(texts, [Some("1".to_owned()), Some("2".to_owned())]);
    assert_eq!(shelf.version(), 2, "nothing was overwritten");
    expect![[r#"
        +0.000s w 1 started for refused
        +0.000s reserve started (attempt 1)
        +0.000s reserve succeeded
        +0.000s ship started (attempt 1)
        +0.000s ship refused "no"
        +0.000s turned back (refused: ship)
        +0.000s compensation of reserve started (attempt 1)
        +0.000s compensation of reserve failed (attempt 1, transient busy): retry in 0.474s
        +3600.000s taken over by another process
        +3600.000s compensation of reserve started (attempt 2)
        +3600.000s compensation of reserve stale (attempt 2): expected 1, found 2
    "#]]
    .assert_eq(&view.timeline());
}

#[tokio::test(start_paused = true)]
async fn an_expectation_that_panics_quarantines_and_nothing_is_sent() {
    let (shelf, store) = (Shelf::default(), Arc::new(MemoryStore::new()));
    shelf.version.store(665, Ordering::SeqCst);
    let engine = builder(&store, &definition(&shelf)).start().await.unwrap();
    let saga = start(&engine, "refused", 3).await;
    let Settled::OnDesk(items) = saga.settled().await.unwrap() else { panic!("a person has to look at it") };
    assert_eq!((items[0].desk, items[0].because.code(), items[0].attempts), (Desk::Quarantine, "input", 0));
    assert!(items[0].failure.as_ref().unwrap().message.contains("nobody expects that"));
    assert_eq!(shelf.undos.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_shows_what_would_be_done_and_does_nothing() {
    let (shelf, store) = (Shelf::default(), Arc::new(MemoryStore::new()));
    let engine = builder(&store, &definition(&shelf)).start().await.unwrap();
    let saga = start(&engine, "k", 3).await;
    saga.outcome().await.unwrap();
    shelf.moves();
    let rows = saga.view().await.unwrap().journal().len();
    let manual: ActionId = "reserve/manual:00000000-0000-0000-0000-000000000005".parse().unwrap();
    let preview = engine.dry_run(saga.id(), &manual).await.unwrap();
    expect![[r#"{"proposed":"put 3 pieces back, at version 1","affected":["shelf/7"],"found":2}"#]]
        .assert_eq(preview.evidence().text());
    assert_eq!(preview.present_state().map(Json::text), Some("2"));
    assert_eq!((shelf.version(), shelf.undos.load(Ordering::SeqCst)), (2, 0));
    assert_eq!(saga.view().await.unwrap().journal().len(), rows, "nothing of it is recorded");
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_that_cannot_be_had_says_why() {
    let (shelf, store) = (Shelf::default(), Arc::new(MemoryStore::new()));
    let engine = builder(&store, &definition(&shelf)).start().await.unwrap();
    let mut told = Vec::new();
    for (key, pieces, action) in [
        ("panics", 1, "reserve/compensation"),
        ("hangs", 2, "reserve/compensation"),
        ("none", 3, "ship/compensation"),
        ("forward", 3, "reserve/forward"),
        ("foreign", 3, "pack/compensation"),
        ("refused", 3, "ship/compensation"),
    ] {
        let saga = start(&engine, key, pieces).await;
        saga.settled().await.unwrap();
        told.push(engine.dry_run(saga.id(), &action.parse().unwrap()).await.unwrap_err().to_string());
    }
    expect![[r#"
        failed to dry-run the compensation: the shelf fell down (panic)
        failed to dry-run the compensation: no answer within 10s (timeout)
        failed to dry-run the compensation: the step declares no dry run (no-dry-run)
        failed to find a compensation `reserve/forward` in the workflow
        failed to find a compensation `pack/compensation` in the workflow
        failed to dry-run `ship/compensation`: its step has no effect to undo"#]]
    .assert_eq(&told.join("\n"));
    let unknown = engine.dry_run(SagaId(uuid::Uuid::from_u128(1)), &ActionId::compensation("reserve")).await;
    assert!(matches!(unknown, Err(DryRunError::View(_))));
}
