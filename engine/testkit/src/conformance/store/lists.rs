//! Lists for people: each filter, pages, and alike entries counted.

#![expect(missing_docs, reason = "the name of a behaviour is its sentence")]

use std::sync::Arc;

use amends::ports::{
    Commit, DeskFilter, DeskPage, DeskQuery, SagaFilter, SagaQuery, SagaStore as _, WorkItemRow,
};
use amends_core::{SagaId, Timestamp};

use super::StoreFactory;
use super::rows::{ME, T0, accept, change, ended, item, join, labels, put, read, saga, start, step};

/// Saga `n`, started so many microseconds after the beginning, of this tenant.
fn started(n: u32, after: i64, tenant: Option<&str>) -> Commit {
    let mut commit = start(n);
    let new = commit.start.as_mut().expect("it is a start");
    (new.started_at, new.tenant) = (Timestamp(T0.0 + after), tenant.map(Arc::from));
    commit
}

fn all() -> SagaFilter {
    SagaFilter { limit: 100, ..SagaFilter::default() }
}

async fn listed(store: &impl SagaQuery, filter: &SagaFilter) -> Vec<SagaId> {
    let page = store.list(filter).await.expect("it lists");
    assert_eq!((page.damaged.len(), page.next), (0, None), "{filter:?}");
    page.rows.iter().map(|row| row.id).collect()
}

pub async fn a_saga_keeps_its_tenant_and_its_labels(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &[started(1, 0, Some("shop-7")), started(2, 0, None)]).await;
    let (one, two) = (read(&store, 1).await.row, read(&store, 2).await.row);
    assert_eq!((one.tenant.as_deref(), one.labels), (Some("shop-7"), labels(1)));
    assert_eq!((two.tenant, two.labels), (None, Vec::new()));
    assert!(!labels(1).is_empty());
}

pub async fn sagas_are_found_by_tenant_and_age(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    let sagas = (0..12).map(|n| started(n, i64::from(n) * 10, [None, Some("a"), Some("b")][n as usize % 3]));
    accept(&store, &sagas.collect::<Vec<_>>()).await;
    let of_a = SagaFilter { tenant: Some("a".to_owned()), ..all() };
    assert_eq!(listed(&store, &of_a).await, [1, 4, 7, 10].map(saga));
    let (from, before) = (Some(Timestamp(T0.0 + 40)), Some(Timestamp(T0.0 + 70)));
    let between = SagaFilter { started_from: from, started_before: before, ..all() };
    assert_eq!(listed(&store, &between).await, [4, 5, 6].map(saga), "from then on, and before then");
    let both = SagaFilter { tenant: Some("a".to_owned()), workflow: Some("order".to_owned()), ..between };
    assert_eq!(listed(&store, &both).await, [saga(4)]);
    let nobodys = SagaFilter { tenant: Some("c".to_owned()), ..all() };
    assert_eq!(listed(&store, &nobodys).await, []);
}

pub async fn sagas_are_found_by_phase_open_and_ended(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &[1, 2, 3, 4].map(start)).await;
    let changes = [(2, change("compensating")), (3, ended("completed")), (4, ended("compensated"))];
    accept(&store, &changes.map(|(n, change)| Commit { change: Some(change), ..step(n, 2) })).await;
    for (n, phase) in [(1, "running"), (2, "compensating"), (3, "completed"), (4, "compensated")] {
        let filter = SagaFilter { phase: Some(phase.to_owned()), ..all() };
        assert_eq!(listed(&store, &filter).await, [saga(n)], "{phase}");
    }
}

pub async fn sagas_that_need_attention_are_found_by_step_and_reason(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    let entry = |n, step: &str, reason: &str| {
        let name = format!("{step}/forward");
        let row = WorkItemRow { step: step.to_owned(), reason: reason.to_owned(), ..item(&name, 0) };
        Commit { items: vec![put(row)], ..start(n) }
    };
    let batch = [
        entry(1, "pay", "persistent"),
        entry(2, "ship", "persistent"),
        entry(3, "pay", "mismatch"),
        start(4),
    ];
    accept(&store, &batch).await;
    accept(&store, &[start(5)]).await;
    store.set_aside(ME, saga(5), "unreadable", T0).await.expect("it sets aside");
    let (pay, persistent) = (Some("pay".to_owned()), Some("persistent".to_owned()));
    let attention = SagaFilter { needing_attention: true, ..all() };
    assert_eq!(listed(&store, &attention).await, [1, 2, 3, 5].map(saga));
    let aside = SagaFilter { set_aside: true, ..all() };
    assert_eq!(listed(&store, &aside).await, [saga(5)]);
    let reason = SagaFilter { reason: persistent.clone(), ..all() };
    assert_eq!(listed(&store, &reason).await, [1, 2].map(saga));
    let step = SagaFilter { step: pay.clone(), ..all() };
    assert_eq!(listed(&store, &step).await, [1, 3].map(saga));
    let both = SagaFilter { step: pay, reason: persistent, needing_attention: true, ..all() };
    assert_eq!(listed(&store, &both).await, [saga(1)], "one entry says both");
}

pub async fn a_full_page_says_where_the_next_one_begins(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &[1, 2, 3].map(start)).await;
    let two = SagaFilter { limit: 2, ..all() };
    let first = store.list(&two).await.expect("it lists");
    assert_eq!((first.len(), first.next), (2, Some(saga(2))));
    let rest = store.list(&SagaFilter { after: first.next, ..two }).await.expect("it lists");
    assert_eq!((rest.len(), rest.next), (1, None));
    let none = store.list(&SagaFilter { limit: 0, ..all() }).await.expect("it lists");
    assert_eq!((none.len(), none.next), (0, None));
}

/// Ten entries: of two workflows, steps, desks and reasons.
async fn ten_entries(store: &impl amends::ports::Store) {
    let entry = |n: u32| {
        let odd = n % 2 == 1;
        let row = WorkItemRow {
            workflow: if n < 6 { "order".into() } else { "refund".into() },
            step: if odd { "pay".to_owned() } else { "ship".to_owned() },
            desk: if n.is_multiple_of(5) { "approval" } else { "quarantine" },
            reason: if n < 3 { "stale".to_owned() } else { "persistent".to_owned() },
            fingerprint: format!("kind-{}", n % 3),
            ..item("a/forward", i64::from(n / 2))
        };
        Commit { items: vec![put(row)], ..started(n, 0, odd.then_some("odd")) }
    };
    accept(store, &(0..10).map(entry).collect::<Vec<_>>()).await;
}

fn sagas(page: &DeskPage) -> Vec<SagaId> {
    page.entries.iter().map(|entry| entry.saga).collect()
}

pub async fn desk_entries_are_found_by_each_filter(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    ten_entries(&store).await;
    let text = |text: &str| Some(text.to_owned());
    let filter = DeskFilter::default;
    let cases = [
        (filter(), vec![0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
        (DeskFilter { desk: text("approval"), ..filter() }, vec![0, 5]),
        (DeskFilter { workflow: text("refund"), ..filter() }, vec![6, 7, 8, 9]),
        (DeskFilter { step: text("pay"), ..filter() }, vec![1, 3, 5, 7, 9]),
        (DeskFilter { reason: text("stale"), ..filter() }, vec![0, 1, 2]),
        (DeskFilter { fingerprint: text("kind-1"), ..filter() }, vec![1, 4, 7]),
        (DeskFilter { tenant: text("odd"), ..filter() }, vec![1, 3, 5, 7, 9]),
        (DeskFilter { since_from: Some(Timestamp(T0.0 + 3)), ..filter() }, vec![6, 7, 8, 9]),
        (DeskFilter { since_before: Some(Timestamp(T0.0 + 1)), ..filter() }, vec![0, 1]),
        (
            DeskFilter { desk: text("quarantine"), step: text("pay"), tenant: text("odd"), ..filter() },
            vec![1, 3, 7, 9],
        ),
        (DeskFilter { desk: text("discrepancy"), ..filter() }, vec![]),
    ];
    for (filter, expected) in cases {
        let page = store.desk_page(&filter).await.expect("it lists");
        assert_eq!(sagas(&page), expected.into_iter().map(saga).collect::<Vec<_>>(), "{filter:?}");
        assert_eq!((page.damaged.len(), page.next), (0, None));
    }
}

pub async fn desk_entries_come_in_pages_the_oldest_first(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    ten_entries(&store).await;
    let second = WorkItemRow { since: T0, ..item("b/forward", 0) };
    accept(&store, &[Commit { items: vec![put(second)], ..step(0, 2) }]).await;
    let mut filter = DeskFilter { limit: 3, ..DeskFilter::default() };
    let mut pages = Vec::new();
    loop {
        let page = store.desk_page(&filter).await.expect("it lists");
        pages.push(sagas(&page));
        filter.after = page.next;
        if filter.after.is_none() {
            break;
        }
    }
    let expected = [vec![0, 0, 1], vec![2, 3, 4], vec![5, 6, 7], vec![8, 9]];
    assert_eq!(pages, expected.map(|page| page.into_iter().map(saga).collect::<Vec<_>>()));
}

pub async fn alike_entries_are_counted_the_largest_group_first(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    ten_entries(&store).await;
    let groups = async |filter: &DeskFilter| {
        let groups = store.desk_groups(filter).await.expect("it counts");
        let told = groups.into_iter().map(|group| {
            (group.desk, group.fingerprint, group.workflow, group.step, group.entries, group.oldest.0 - T0.0)
        });
        told.collect::<Vec<_>>()
    };
    let quarantine = DeskFilter { desk: Some("quarantine".to_owned()), ..DeskFilter::default() };
    let of = |fingerprint: &str, workflow: &str, step: &str, entries, oldest| {
        let [fingerprint, workflow, step] = [fingerprint, workflow, step].map(str::to_owned);
        ("quarantine".to_owned(), fingerprint, workflow, step, entries, oldest)
    };
    let expected = [
        of("kind-0", "order", "pay", 1, 1),
        of("kind-0", "refund", "pay", 1, 4),
        of("kind-0", "refund", "ship", 1, 3),
        of("kind-1", "order", "pay", 1, 0),
        of("kind-1", "order", "ship", 1, 2),
        of("kind-1", "refund", "pay", 1, 3),
        of("kind-2", "order", "ship", 1, 1),
        of("kind-2", "refund", "ship", 1, 4),
    ];
    assert_eq!(groups(&quarantine).await, expected);
    let more = (20..23).map(|n| {
        let row = WorkItemRow { fingerprint: "many".to_owned(), ..item("a/forward", i64::from(n)) };
        Commit { items: vec![put(row)], ..start(n) }
    });
    accept(&store, &more.collect::<Vec<_>>()).await;
    assert_eq!(groups(&quarantine).await[0], of("many", "order", "reserve", 3, 20));
    assert_eq!(groups(&DeskFilter { limit: 2, ..quarantine.clone() }).await.len(), 2);
    let many = DeskFilter { fingerprint: Some("many".to_owned()), ..quarantine };
    assert_eq!(groups(&many).await.len(), 1);
}
