//! Controls: what people set for everybody, once for each order.

#![expect(missing_docs, reason = "the name of a behaviour is its sentence")]

use amends::ports::{
    CONTROL_BYTES_MAX, CONTROLS_MAX, ControlOrder, ControlRow, ControlStore, Ordered, PurgeStore as _,
    StoredOrder,
};
use amends_core::Timestamp;
use tokio::task::JoinSet;

use super::StoreFactory;
use super::rows::T0;

/// The order `id`, which sets `key`.
fn set(id: &str, key: &str, value: &str) -> ControlOrder {
    ControlOrder {
        operation_id: id.to_owned(),
        key: key.into(),
        value: Some(value.to_owned()),
        actor: "ann".to_owned(),
        reason: format!("because of {id}"),
        at: T0,
    }
}

/// The order `id`, which lifts `key`.
fn lift(id: &str, key: &str) -> ControlOrder {
    ControlOrder { value: None, ..set(id, key, "") }
}

async fn done(store: &impl ControlStore, order: &ControlOrder, changed: bool) {
    assert_eq!(store.order(order).await.expect("it orders"), Ordered::Done { changed }, "{order:?}");
}

async fn known(store: &impl ControlStore, order: &ControlOrder, first: &ControlOrder, changed: bool) {
    let stored = StoredOrder { order: first.clone(), changed };
    assert_eq!(store.order(order).await.expect("it orders"), Ordered::Known(Box::new(stored)));
}

async fn controls(store: &impl ControlStore) -> Vec<ControlRow> {
    store.controls().await.expect("it lists")
}

fn row(order: &ControlOrder) -> ControlRow {
    order.row().expect("it sets")
}

pub async fn a_control_is_in_force_until_it_is_lifted(factory: impl StoreFactory) {
    let store = factory.open().await;
    assert_eq!(controls(&store).await, []);
    let (hold, limit) = (set("1", "hold/order", "on"), set("2", "limit/bank", "5"));
    done(&store, &limit, true).await;
    done(&store, &hold, true).await;
    assert_eq!(controls(&store).await, [row(&hold), row(&limit)], "in the order of keys");
    let tighter = ControlOrder { at: Timestamp(T0.0 + 1), ..set("3", "limit/bank", "0") };
    done(&store, &tighter, true).await;
    assert_eq!(controls(&store).await, [row(&hold), row(&tighter)]);
    done(&store, &lift("4", "hold/order"), true).await;
    assert_eq!(controls(&store).await, [row(&tighter)]);
}

pub async fn what_is_so_already_stays_as_it_is(factory: impl StoreFactory) {
    let store = factory.open().await;
    let first = set("1", "hold/order", "on");
    done(&store, &first, true).await;
    done(&store, &set("2", "hold/order", "on"), false).await;
    assert_eq!(controls(&store).await, [row(&first)], "who set it first is named");
    done(&store, &lift("3", "pause/order"), false).await;
    assert_eq!(controls(&store).await, [row(&first)]);
}

pub async fn an_order_that_comes_again_finds_its_answer_and_changes_nothing(factory: impl StoreFactory) {
    let store = factory.open().await;
    let (hold, again) = (set("1", "hold/order", "on"), set("2", "hold/order", "on"));
    done(&store, &hold, true).await;
    done(&store, &again, false).await;
    done(&store, &lift("3", "hold/order"), true).await;
    let later = ControlOrder { at: Timestamp(T0.0 + 9), ..hold.clone() };
    known(&store, &later, &hold, true).await;
    known(&store, &again, &again, false).await;
    known(&store, &set("3", "limit/bank", "1"), &lift("3", "hold/order"), true).await;
    assert_eq!(controls(&store).await, [], "what was lifted stays lifted");
    let stored = StoredOrder { order: hold, changed: true };
    assert_eq!(store.ordered("1").await.expect("it reads"), Some(stored));
    assert_eq!(store.ordered("9").await.expect("it reads"), None);
}

pub async fn racing_orders_of_one_id_count_once(factory: impl StoreFactory) {
    let store = factory.open().await;
    let mut racing = JoinSet::new();
    for n in 0..8 {
        let (store, order) = (store.clone(), set("1", "limit/bank", &n.to_string()));
        racing.spawn(async move { store.order(&order).await.expect("it orders") });
    }
    let answers = racing.join_all().await;
    let done = answers.iter().filter(|answer| matches!(answer, Ordered::Done { changed: true })).count();
    let known = answers.iter().filter(|answer| matches!(answer, Ordered::Known(_))).count();
    assert_eq!((done, known), (1, 7), "{answers:?}");
    let stored = store.ordered("1").await.expect("it reads").expect("it was ordered");
    assert_eq!(controls(&store).await, [row(&stored.order)]);
}

pub async fn racing_orders_of_one_key_leave_one_in_force(factory: impl StoreFactory) {
    let store = factory.open().await;
    let mut racing = JoinSet::new();
    for n in 0..8 {
        let (store, order) = (store.clone(), set(&n.to_string(), "hold/order", "on"));
        racing.spawn(async move { store.order(&order).await.expect("it orders") });
    }
    let answers = racing.join_all().await;
    let changed = answers.iter().filter(|answer| matches!(answer, Ordered::Done { changed: true })).count();
    assert_eq!(changed, 1, "{answers:?}");
    assert_eq!(controls(&store).await.len(), 1);
}

pub async fn no_more_controls_are_in_force_than_may_be(factory: impl StoreFactory) {
    let store = factory.open().await;
    let name = |n: u32| format!("limit/{n:04}");
    for n in 0..CONTROLS_MAX {
        done(&store, &set(&n.to_string(), &name(n), "1"), true).await;
    }
    let one_more = set("more", "limit/more", "1");
    let full = Ordered::Full { in_force: CONTROLS_MAX };
    assert_eq!(store.order(&one_more).await.expect("it answers"), full);
    assert_eq!(store.ordered("more").await.expect("it reads"), None, "nothing was ordered");
    done(&store, &set("other", &name(7), "2"), true).await;
    done(&store, &lift("less", &name(7)), true).await;
    done(&store, &one_more, true).await;
}

pub async fn a_control_that_no_store_takes_is_refused(factory: impl StoreFactory) {
    let store = factory.open().await;
    let long = "x".repeat(CONTROL_BYTES_MAX + 1);
    let sound = set("1", "hold/order", "on");
    let bad = [
        ControlOrder { key: "a\0b".into(), ..sound.clone() },
        ControlOrder { reason: "a\0b".to_owned(), ..sound.clone() },
        ControlOrder { actor: "a\0b".to_owned(), ..sound.clone() },
        ControlOrder { operation_id: "a\0b".to_owned(), ..sound.clone() },
        ControlOrder { value: Some(long.clone()), ..sound.clone() },
        ControlOrder { key: long.into(), ..sound.clone() },
    ];
    for order in bad {
        let answer = store.order(&order).await.expect("it answers");
        assert!(matches!(answer, Ordered::Unstorable { .. }), "{answer:?}");
    }
    assert_eq!(controls(&store).await, []);
    done(&store, &sound, true).await;
}

pub async fn old_orders_are_purged_but_for_what_is_in_force(factory: impl StoreFactory) {
    let store = factory.open().await;
    let at = |order: ControlOrder, later: i64| ControlOrder { at: Timestamp(T0.0 + later), ..order };
    let (hold, limit) = (at(set("1", "hold/order", "on"), 0), at(set("2", "limit/bank", "1"), 1));
    let (lifted, again) = (at(lift("3", "limit/bank"), 2), at(set("4", "hold/order", "on"), 3));
    let young = at(set("5", "limit/bank", "2"), 9);
    for (order, changed) in [(&hold, true), (&limit, true), (&lifted, true), (&again, false), (&young, true)]
    {
        done(&store, order, changed).await;
    }
    let purge = |before, limit| store.purge_orders(Timestamp(T0.0 + before), limit);
    assert_eq!(purge(1, 10).await.expect("it purges"), 0, "what is in force keeps its order");
    assert_eq!(purge(9, 2).await.expect("it purges"), 2, "in chunks");
    assert_eq!(purge(9, 10).await.expect("it purges"), 1);
    assert_eq!(purge(9, 10).await.expect("it purges"), 0);
    for (id, stays) in [("1", true), ("2", false), ("3", false), ("4", false), ("5", true)] {
        assert_eq!(store.ordered(id).await.expect("it reads").is_some(), stays, "{id}");
    }
    assert_eq!(controls(&store).await, [row(&hold), row(&young)]);
    known(&store, &hold, &hold, true).await;
    done(&store, &at(lift("6", "hold/order"), 9), true).await;
    assert_eq!(purge(9, 10).await.expect("it purges"), 1, "and goes once that is lifted");
}

pub async fn controls_and_their_orders_outlive_the_process(factory: impl StoreFactory) {
    let store = factory.open().await;
    let hold = set("1", "hold/order", "on");
    done(&store, &hold, true).await;
    let store = factory.reopen(store).await;
    assert_eq!(controls(&store).await, [row(&hold)]);
    known(&store, &hold, &hold, true).await;
}
