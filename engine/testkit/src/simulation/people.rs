//! What people and participants say of their own accord, through any node, at any moment: verbs, cancels, replies.
//!
//! Most of it is refused, because the saga is elsewhere by then. Whether the answers fit what then happens, the
//! observer tells from the journal.

use amends::engine::OperateError;
use amends::operator::{By, CompensationDemand, OperatedSaga, PersonFinding};
use amends::{Engine, SagaView};
use amends_core::event::{Answer, Failure, FailureKind, Recorded};
use amends_core::machine::Attempted;
use amends_core::{ActionId, Json, Rejected, SagaId};
use tokio::task::JoinHandle;
use uuid::Uuid;

use super::checkers::Decided;
use super::nodes::Nodes;
use super::schedule;

fn by(who: &str, nth: u64) -> By {
    By::new(who, "they have one", format!("{who}-{nth}"))
}

async fn find(engine: &Engine, saga: u32) -> Option<SagaId> {
    let (workflow, key) = schedule::name(saga);
    Some(engine.find(workflow, &key).await.ok()??.id())
}

/// Asks one saga something, if it exists.
fn ask<F>(nodes: &Nodes, saga: u32, place: usize, something: impl FnOnce(OperatedSaga) -> F + Send + 'static)
where
    F: Future<Output = ()> + Send + 'static,
{
    nodes.ask(place, |engine| async move {
        if let Some(saga) = find(&engine, saga).await {
            something(engine.operator().saga(saga)).await;
        }
    });
}

/// Somebody cancels a saga.
pub(super) fn cancel(nodes: &Nodes, saga: u32, place: usize, nth: u64) {
    ask(nodes, saga, place, move |saga| async move { drop(saga.cancel(by("ann", nth)).await) });
}

/// Somebody pauses it.
pub(super) fn pause(nodes: &Nodes, saga: u32, place: usize, nth: u64) {
    ask(nodes, saga, place, move |saga| async move { drop(saga.pause(by("ann", nth)).await) });
}

/// Somebody lets it go on.
pub(super) fn unpause(nodes: &Nodes, saga: u32, place: usize, nth: u64) {
    ask(nodes, saga, place, move |saga| async move { drop(saga.unpause(by("ann", nth)).await) });
}

/// Somebody takes an item of the desks up and decides it, in one way or another.
pub(super) fn decide(nodes: &Nodes, draw: u32, place: usize, nth: u64) {
    nodes.ask(place, move |engine| async move {
        let Ok(desk) = engine.desk().await else { return };
        let Some((saga, item)) = desk.get(draw as usize % desk.len().max(1)) else { return };
        let operated = engine.operator().saga(*saga);
        let Ok(inspected) = operated.inspect().await else { return };
        match item.item.parse::<ActionId>() {
            Ok(action) => drop(verb(&operated, &inspected.view, action, draw >> 16, by("ann", nth)).await),
            Err(_) => drop(operated.risky().approve_close(inspected.view.id, by("bob", nth)).await),
        }
    });
}

/// What somebody asked, and the answer once it is there; none: it was never answered.
pub(super) type Question = JoinHandle<Option<Decided>>;

/// Ann and Cat take the same item up at once, on two nodes, and each decides it in her way; Ann asks on both.
pub(super) fn race(
    nodes: &Nodes,
    (saga, item): (SagaId, &str),
    draw: u32,
    place: usize,
    nth: u64,
) -> Vec<Question> {
    let Ok(action) = item.parse::<ActionId>() else { return Vec::new() };
    // Without the last verb: it names a time that is another one for whoever asks later.
    let (ann, cat) = ((draw >> 8) % 15, (draw >> 16) % 15);
    let asked = [("ann", ann, 0), ("cat", cat, 1), ("ann", ann, 1)].map(|(who, draw, further)| {
        let (action, operation) = (action.clone(), by(who, nth));
        nodes.ask(place + further, move |engine| async move {
            let operated = engine.operator().saga(saga);
            let view = engine.inspect(saga).await.ok()?;
            let operation_id = operation.operation_id.clone();
            let answer = match verb(&operated, &view, action, draw, operation).await {
                Ok(answer) => Some(answer),
                Err(OperateError::Refused(Rejected::State(_))) => None,
                Err(_) => return None,
            };
            Some(Decided { saga, operation: operation_id, answer })
        })
    });
    asked.into_iter().flatten().collect()
}

/// More replies to one request, each for another attempt, than may wait unread.
pub(super) fn flood(nodes: &Nodes, saga: u32, draw: u32, place: usize) {
    for attempt in 1..=FLOOD {
        nodes.ask(place, move |engine| async move {
            let Some(id) = find(&engine, saga).await else { return };
            let Ok(view) = engine.inspect(id).await else { return };
            let step = &view.steps[draw as usize % view.steps.len()];
            let request = ActionId::forward(step.name.clone()).request_id(id);
            let answer = Attempted::Transient(failure(FailureKind::Transient));
            drop(engine.reply(id, request, Some(attempt), answer, "a flood").await);
        });
    }
}

/// The replies of one flood.
const FLOOD: u32 = 30;

/// One of the verbs, whether or not the saga is one for it.
async fn verb(
    saga: &OperatedSaga,
    view: &SagaView,
    action: ActionId,
    draw: u32,
    ann: By,
) -> Result<Answer, OperateError> {
    let nth = &ann.operation_id;
    let value = Some(output(&action));
    let evidence = "they saw it";
    match draw % 16 {
        0..=3 => saga.resume(action, ann).await,
        4 | 5 => saga.accept(action, value, evidence, ann).await,
        6 => saga.accept(action, None, evidence, ann).await,
        7 => saga.found(action, PersonFinding::NotApplied, evidence, ann).await,
        8 => saga.retry_now(action, ann).await,
        9 => saga.send_again(action, ann).await,
        10 => saga.reject(action, ann).await,
        11 => saga.waive(action, ann).await,
        12 => saga.approve(action, By { actor: "bob".to_owned(), ..ann }).await,
        13 => saga.risky().compensate_in_doubt(action, ann).await,
        14 => {
            let step = view.steps[draw as usize / 16 % view.steps.len()].name.to_string();
            let id = Uuid::new_v5(&Uuid::NAMESPACE_OID, nth.0.as_bytes());
            saga.compensate(CompensationDemand::new(step, id, "goodwill"), ann).await
        }
        _ => saga.keep(action, view.state().at + std::time::Duration::from_secs(20), ann).await,
    }
}

/// A participant answers by itself: what it did or never did, for this attempt or another, for the first time or
/// again.
pub(super) fn reply(nodes: &Nodes, saga: u32, draw: u32, place: usize) {
    nodes.ask(place, move |engine| async move {
        let Some(id) = find(&engine, saga).await else { return };
        let Ok(view) = engine.inspect(id).await else { return };
        let step = &view.steps[(draw >> 16) as usize % view.steps.len()];
        let action = match draw % 4 {
            0 => ActionId::compensation(step.name.clone()),
            _ => ActionId::forward(step.name.clone()),
        };
        let attempt = Some(draw / 4 % 4).filter(|attempt| *attempt > 0);
        let value = Recorded::Value(output(&action));
        let answer = match draw / 16 % 8 {
            0..=3 => Attempted::Succeeded(value),
            4 => Attempted::Refused(Recorded::Value(Json::encode("no").expect("text is JSON"))),
            5 => Attempted::Transient(failure(FailureKind::Transient)),
            6 => Attempted::Unknown(failure(FailureKind::Unknown)),
            _ => Attempted::Partial(None),
        };
        for _ in 0..=draw / 128 % 2 {
            let request = action.request_id(id);
            drop(engine.reply(id, request, attempt, answer.clone(), "by another way").await);
        }
    });
}

/// What decodes as the output of every action here.
fn output(action: &ActionId) -> Json {
    let output = if action.is_forward() { Json::encode(&7_u32) } else { Json::encode("Undone") };
    output.expect("numbers and texts are JSON")
}

fn failure(kind: FailureKind) -> Failure {
    Failure {
        kind,
        code: "late".to_owned(),
        message: String::new(),
        rule: "reply".to_owned(),
        classifier: "testkit/1".to_owned(),
        hint: None,
    }
}
