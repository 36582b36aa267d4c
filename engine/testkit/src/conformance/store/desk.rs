//! The desk: what waits for a person changes in the commit that changes the reason.

#![expect(missing_docs, reason = "the name of a behaviour is its sentence")]

use amends::ports::{
    Commit, CompensationChange, CompensationRow, DeskEntry, DeskFilter, DeskQuery as _, ItemChange,
    SagaQuery as _, WORK_ITEM_TEXT_BYTES_MAX, WorkItemRow,
};
use amends_core::Timestamp;

use super::StoreFactory;
use super::rows::{T0, accept, item, join, particulars, put, request, requested, saga, start, step};

pub async fn items_come_change_and_go_with_their_commits(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &[start(1), start(2)]).await;
    let (first, second) = (item("reserve/forward", 10), item("", 20));
    let items = vec![put(first.clone()), put(second.clone())];
    accept(&store, &[Commit { items, ..step(1, 2) }]).await;
    let desk = store.desk(10).await.expect("it reads the desk");
    assert_eq!(desk, [(saga(1), first.clone()), (saga(1), second.clone())]);

    let changed = WorkItemRow {
        desk: "reconciliation",
        effect: "possible",
        attempts: 5,
        error_kind: None,
        error_code: Some("executor-died".to_owned()),
        error_rule: Some("rule-3".to_owned()),
        classifier: Some("2".to_owned()),
        ..first
    };
    let items = vec![put(changed.clone()), ItemChange::Remove(String::new())];
    accept(&store, &[Commit { items, ..step(1, 3) }]).await;
    assert_eq!(store.desk(10).await.expect("it reads the desk"), [(saga(1), changed)]);

    let items = vec![ItemChange::Remove("reserve/forward".to_owned()), ItemChange::Remove("none".to_owned())];
    accept(&store, &[Commit { items, ..step(1, 4) }]).await;
    assert_eq!(store.desk(10).await.expect("it reads the desk"), []);
}

pub async fn the_desk_lists_the_oldest_first(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    let since = [30, 10, 20, 10];
    let starts =
        (0..).zip(since).map(|(n, since)| Commit { items: vec![put(item("a/forward", since))], ..start(n) });
    accept(&store, &starts.collect::<Vec<_>>()).await;
    let order = |desk: Vec<_>| desk.into_iter().map(|(saga, _)| saga).collect::<Vec<_>>();
    assert_eq!(order(store.desk(10).await.expect("it reads the desk")), [1, 3, 2, 0].map(saga));
    assert_eq!(order(store.desk(3).await.expect("it reads the desk")), [1, 3, 2].map(saga));
}

/// Text that nothing makes shorter: an index has a longest row.
fn noise(bytes: usize) -> String {
    let mut random = 0x9e37_79b9_u32;
    let mut next = || {
        random = random.wrapping_mul(0x0001_9660).wrapping_add(0x3c6e_f35f);
        char::from(b'!' + u8::try_from((random >> 24) % 90).expect("it is small"))
    };
    (0..bytes).map(|_| next()).collect()
}

pub async fn an_entry_with_the_longest_texts_is_kept_and_found(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    let (name, text) = (noise(100), noise(WORK_ITEM_TEXT_BYTES_MAX));
    let longest = WorkItemRow {
        workflow: name.as_str().into(),
        step: name.clone(),
        fingerprint: format!("{name}/{name}/{text}/{text}"),
        error_code: Some(text.clone()),
        error_rule: Some(text.clone()),
        classifier: Some(text),
        ..item(&format!("{name}/forward"), 10)
    };
    accept(&store, &[Commit { items: vec![put(longest.clone())], ..start(1) }]).await;
    let alike = DeskFilter { fingerprint: Some(longest.fingerprint.clone()), ..DeskFilter::default() };
    let page = store.desk_page(&alike).await.expect("it lists");
    assert_eq!(page.entries, [DeskEntry { saga: saga(1), item: longest }]);
}

pub async fn compensation_records_begin_are_approved_and_end(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    accept(&store, &(0..20).map(start).collect::<Vec<_>>()).await;
    let begin = |n| Commit { compensations: vec![requested(n)], ..step(n, 2) };
    accept(&store, &(0..20).map(begin).collect::<Vec<_>>()).await;
    let ended_at = Timestamp(T0.0 + 99);
    let result = r#"{"undone":true}"#.to_owned();
    let ended = CompensationChange::Ended { id: request(7), ended_at, result: result.clone() };
    let approved = CompensationChange::Approved { id: request(7), approved_by: "bob".to_owned() };
    accept(&store, &[Commit { compensations: vec![approved, ended], ..step(7, 3) }]).await;

    let expected = |n: u32| CompensationRow {
        id: request(n),
        step: "reserve".to_owned(),
        business_key: format!("order-{n}").into(),
        reason_code: "refused".to_owned(),
        requested_by: "engine".to_owned(),
        approved_by: n.is_multiple_of(2).then(|| "policy".to_owned()),
        particulars: particulars(n),
        created_at: Timestamp(T0.0 + i64::from(n)),
        ended_at: None,
        result: None,
    };
    assert_eq!(store.compensations(saga(6)).await.expect("it reads"), [expected(6)]);
    assert_eq!(expected(5).approved_by, None);
    let approved_by = Some("bob".to_owned());
    let ended =
        CompensationRow { ended_at: Some(ended_at), result: Some(result), approved_by, ..expected(7) };
    assert_eq!(store.compensations(saga(7)).await.expect("it reads"), [ended]);
    assert_eq!(store.counts().await.expect("it counts").compensations, 20);
}

pub async fn a_compensation_record_may_begin_and_end_in_one_commit(factory: impl StoreFactory) {
    let store = factory.open().await;
    join(&store).await;
    let ended = |n| CompensationChange::Ended { id: request(n), ended_at: T0, result: "null".to_owned() };
    let approved = |n| CompensationChange::Approved { id: request(n), approved_by: "bob".to_owned() };
    let all = |n| vec![requested(n), approved(n), ended(n)];
    accept(&store, &[start(1), Commit { compensations: all(2), ..start(2) }]).await;
    accept(&store, &[Commit { compensations: all(1), ..step(1, 2) }]).await;
    for n in [1, 2] {
        let records = store.compensations(saga(n)).await.expect("it reads");
        let [record] = &records[..] else { panic!("{records:?}") };
        assert_eq!((record.ended_at, record.result.as_deref()), (Some(T0), Some("null")));
        assert_eq!(record.approved_by.as_deref(), Some("bob"));
    }
}
