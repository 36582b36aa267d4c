//! One lane before one dependency: fair between workflows and, within one, between tenants; of one tenant the earliest
//! deadline goes first.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use amends_core::{ActionId, SagaId, Timestamp};

/// What kind of call asks for a permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::worker) enum Kind {
    /// The first attempt of an action: it pays into the retry budget.
    First,
    /// An attempt that a person ordered: it neither pays in nor draws.
    Ordered,
    /// Any other attempt: it draws on the retry budget.
    Further,
    /// A query.
    Query,
}

pub(super) const KINDS: [Kind; 4] = [Kind::First, Kind::Ordered, Kind::Further, Kind::Query];

/// The order within a workflow and tenant: the earlier deadline, then who came first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Turn {
    pub(super) deadline: Timestamp,
    pub(super) ticket: u64,
}

/// Who waits.
pub(super) type Place = (SagaId, ActionId);

/// Those that wait in one lane for one dependency: workflows take turns, and of one workflow its tenants.
#[derive(Debug, Default)]
pub(super) struct Queue {
    workflows: BTreeMap<Arc<str>, Workflow>,
    /// The workflow that had the last turn.
    last: Option<Arc<str>>,
    waiting: [usize; KINDS.len()],
}

/// Whose place it is: of which workflow, and of which tenant if the saga has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Flow {
    pub(super) workflow: Arc<str>,
    pub(super) tenant: Option<Arc<str>>,
}

/// Those of one workflow.
#[derive(Debug, Default)]
struct Workflow {
    tenants: BTreeMap<Option<Arc<str>>, Tenant>,
    /// The tenant that had the last turn.
    last: Option<Option<Arc<str>>>,
}

/// Those of one tenant, by kind: what one kind waits for does not hold up the others.
#[derive(Debug, Default)]
struct Tenant([BTreeMap<Turn, Place>; KINDS.len()]);

impl Queue {
    pub(super) fn insert(&mut self, of: &Flow, kind: Kind, turn: Turn, place: Place) {
        let Flow { workflow, tenant } = of.clone();
        let tenant = self.workflows.entry(workflow).or_default().tenants.entry(tenant).or_default();
        tenant.0[kind as usize].insert(turn, place);
        self.waiting[kind as usize] += 1;
    }

    pub(super) fn remove(&mut self, of: &Flow, kind: Kind, turn: Turn) -> Option<Place> {
        let workflow = self.workflows.get_mut(&of.workflow)?;
        let tenant = workflow.tenants.get_mut(&of.tenant)?;
        let place = tenant.0[kind as usize].remove(&turn)?;
        self.waiting[kind as usize] -= 1;
        if tenant.0.iter().all(BTreeMap::is_empty) {
            workflow.tenants.remove(&of.tenant);
        }
        if workflow.tenants.is_empty() {
            self.workflows.remove(&of.workflow);
        }
        Some(place)
    }

    pub(super) fn has(&self, kind: Kind) -> bool {
        self.waiting[kind as usize] > 0
    }

    /// Does anybody wait of the kinds that may go?
    pub(super) fn has_any(&self, may_go: [bool; KINDS.len()]) -> bool {
        KINDS.into_iter().any(|kind| may_go[kind as usize] && self.has(kind))
    }

    /// Takes whoever is next of the kinds that may go.
    pub(super) fn pop(&mut self, may_go: [bool; KINDS.len()]) -> Option<(Kind, Place)> {
        let (workflow, (tenant, kind, turn)) = in_turn(&self.workflows, self.last.as_ref(), |workflow| {
            let (tenant, (kind, turn)) =
                in_turn(&workflow.tenants, workflow.last.as_ref(), |tenant| tenant.first(may_go))?;
            Some((tenant, kind, turn))
        })?;
        let of = Flow { workflow: workflow.clone(), tenant: tenant.clone() };
        let place = self.remove(&of, kind, turn)?;
        if let Some(workflow) = self.workflows.get_mut(&workflow) {
            workflow.last = Some(tenant);
        }
        self.last = Some(workflow);
        Some((kind, place))
    }
}

/// The first after the last one who has something, and what that is.
fn in_turn<K: Ord + Clone, V, T>(
    all: &BTreeMap<K, V>,
    last: Option<&K>,
    has: impl Fn(&V) -> Option<T>,
) -> Option<(K, T)> {
    let after = last.map_or(Bound::Unbounded, Bound::Excluded);
    let later = all.range((after, Bound::Unbounded));
    later.chain(all).find_map(|(key, value)| has(value).map(|found| (key.clone(), found)))
}

impl Tenant {
    fn first(&self, may_go: [bool; KINDS.len()]) -> Option<(Kind, Turn)> {
        let going = KINDS.into_iter().filter(|kind| may_go[*kind as usize]);
        let heads = going.filter_map(|kind| self.0[kind as usize].keys().next().map(|turn| (kind, *turn)));
        heads.min_by_key(|(_, turn)| *turn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [bool; 4] = [true; 4];

    fn saga(n: u64) -> SagaId {
        SagaId(uuid::Uuid::from_u128(u128::from(n)))
    }

    /// The flow of `workflow`, or of `workflow/tenant`.
    fn flow(name: &str) -> Flow {
        let (workflow, tenant) = name.split_once('/').map_or((name, None), |(name, of)| (name, Some(of)));
        Flow { workflow: workflow.into(), tenant: tenant.map(Arc::from) }
    }

    /// Puts `n` in, named by its ticket.
    fn wait(queue: &mut Queue, of: &str, kind: Kind, deadline: i64, ticket: u64) {
        let turn = Turn { deadline: Timestamp(deadline), ticket };
        queue.insert(&flow(of), kind, turn, (saga(ticket), ActionId::forward("a")));
    }

    fn order(queue: &mut Queue, may_go: [bool; 4]) -> Vec<u128> {
        std::iter::from_fn(|| queue.pop(may_go)).map(|(_, (saga, _))| saga.0.as_u128()).collect()
    }

    #[test]
    fn the_earliest_deadline_goes_first_and_then_who_came_first() {
        let mut queue = Queue::default();
        for (ticket, deadline) in [(1, 30), (2, 10), (3, 20), (4, 10)] {
            wait(&mut queue, "w", Kind::Further, deadline, ticket);
        }
        assert_eq!(order(&mut queue, ALL), [2, 4, 3, 1]);
    }

    #[test]
    fn a_workflow_with_many_does_not_hold_up_one_with_few() {
        let mut queue = Queue::default();
        (1..=6).for_each(|ticket| wait(&mut queue, "noisy", Kind::First, 1, ticket));
        (7..=8).for_each(|ticket| wait(&mut queue, "quiet", Kind::First, 9, ticket));
        assert_eq!(order(&mut queue, ALL), [1, 7, 2, 8, 3, 4, 5, 6]);
    }

    #[test]
    fn a_tenant_with_many_does_not_hold_up_one_with_few_nor_another_workflow() {
        let mut queue = Queue::default();
        (1..=4).for_each(|ticket| wait(&mut queue, "v/noisy", Kind::First, 1, ticket));
        wait(&mut queue, "v/quiet", Kind::First, 9, 5);
        wait(&mut queue, "v", Kind::First, 9, 6);
        (7..=8).for_each(|ticket| wait(&mut queue, "w/noisy", Kind::First, 9, ticket));
        assert_eq!(
            order(&mut queue, ALL),
            [6, 7, 1, 8, 5, 2, 3, 4],
            "a workflow has one turn, whoever its tenants are"
        );
    }

    #[test]
    fn a_kind_that_may_not_go_holds_up_nobody_else() {
        let mut queue = Queue::default();
        wait(&mut queue, "w", Kind::Further, 1, 1);
        wait(&mut queue, "w", Kind::Ordered, 2, 2);
        let no_budget = KINDS.map(|kind| kind != Kind::Further);
        assert!(queue.has_any(no_budget));
        assert_eq!(order(&mut queue, no_budget), [2]);
        assert!(!queue.has_any(no_budget) && queue.has(Kind::Further));
        assert_eq!(order(&mut queue, ALL), [1]);
    }

    #[test]
    fn who_gives_up_leaves_nothing_behind() {
        let mut queue = Queue::default();
        wait(&mut queue, "w", Kind::Query, 1, 1);
        let turn = Turn { deadline: Timestamp(1), ticket: 1 };
        assert!(queue.remove(&flow("w"), Kind::Query, turn).is_some());
        assert!(queue.remove(&flow("w"), Kind::Query, turn).is_none());
        assert!(queue.workflows.is_empty() && !queue.has(Kind::Query));
    }
}
