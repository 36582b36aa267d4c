//! What people set for a whole workflow, a dependency or a node, at any moment and through any node.

use amends::Engine;
use amends::engine::OperateError;
use amends::operator::{Answer, By};
use tokio::task::JoinHandle;

use super::bearing;
use super::nodes::Nodes;
use super::shapes::WORKFLOWS;

/// What is ordered, or lifted again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Order {
    /// No saga of this workflow is started.
    Hold(usize),
    /// No attempt of this workflow starts.
    Pause(usize),
    /// So many calls of this dependency at once.
    Limit(usize, u32),
    /// The node of this place ends.
    Drain(usize),
}

impl Order {
    /// Everything that can be lifted.
    pub(super) fn liftable() -> impl Iterator<Item = Self> {
        let workflows = (0..WORKFLOWS.len()).flat_map(|nth| [Self::Hold(nth), Self::Pause(nth)]);
        workflows.chain((0..bearing::NAMES.len()).map(|nth| Self::Limit(nth, 0)))
    }

    async fn give(self, engine: Engine, on: bool, by: By, node: String) -> Result<Answer, OperateError> {
        let operator = engine.operator();
        match (self, on) {
            (Self::Hold(nth), true) => operator.workflow(WORKFLOWS[nth]).hold_starts(by).await,
            (Self::Hold(nth), false) => operator.workflow(WORKFLOWS[nth]).release(by).await,
            (Self::Pause(nth), true) => operator.workflow(WORKFLOWS[nth]).pause(by).await,
            (Self::Pause(nth), false) => operator.workflow(WORKFLOWS[nth]).unpause(by).await,
            (Self::Limit(nth, calls_max), true) => {
                operator.dependency(bearing::NAMES[nth]).limit(calls_max, by).await
            }
            (Self::Limit(nth, _), false) => operator.dependency(bearing::NAMES[nth]).unlimit(by).await,
            (Self::Drain(_), _) => operator.node(node).drain(by).await,
        }
    }
}

/// Gives an order through the node of this place, or the next that lives. The answer: is it in force?
pub(super) fn give(
    nodes: &Nodes,
    order: Order,
    on: bool,
    place: usize,
    nth: u64,
) -> Option<JoinHandle<bool>> {
    let node = match order {
        Order::Drain(place) => nodes.incarnation(place)?.to_string(),
        _ => String::new(),
    };
    let by = By::new("dan", "they have one", format!("dan-{nth}"));
    nodes.ask(place, move |engine| async move { order.give(engine, on, by, node).await.is_ok() })
}

/// A pause of a workflow that was ordered, and not answered yet.
pub(super) struct Pausing {
    pub(super) workflow: usize,
    pub(super) answer: JoinHandle<bool>,
}
