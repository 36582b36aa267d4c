//! What the table cannot show: concurrent calls, failing bodies inside a larger transaction, purging.

use std::sync::Arc;
use std::time::Duration;

use amends_barrier::{
    Answer, Call, Error, Fence, Finding, Outcome, Undo, close_out, compensate, digest, forward,
    in_transaction, purge_older_than, query,
};
use sea_orm::{ConnectionTrait, TransactionTrait};
use tokio::sync::Notify;

use crate::service::{Does, FORWARD, Failure, Forwarded, Service, UNDO, call, effect, other_input};

fn success(line: &str) -> Outcome<String, String> {
    Outcome::Success(line.to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_concurrent_calls_take_effect_once() {
    let service = Service::start().await;
    let (first, second) = (service.another_connection().await, service.another_connection().await);
    let (inside, arrived) = (Arc::new(Notify::new()), Arc::new(Notify::new()));

    // The first call is in the middle of its body when the second one reaches the database.
    let running = tokio::spawn({
        let (inside, arrived) = (inside.clone(), arrived.clone());
        async move {
            in_transaction(&first, async |txn| {
                forward(txn, call(FORWARD, 1), || async {
                    let outcome = effect(txn, call(FORWARD, 1), Does::Succeed).await;
                    inside.notify_one();
                    arrived.notified().await;
                    outcome
                })
                .await
            })
            .await
        }
    });
    inside.notified().await;
    let repeated = tokio::spawn(async move {
        arrived.notify_one();
        in_transaction(&second, async |txn| {
            forward(txn, call(FORWARD, 2), || effect(txn, call(FORWARD, 2), Does::Succeed)).await
        })
        .await
    });

    assert_eq!(running.await.unwrap().unwrap(), Answer::Kept(success("attempt 1")));
    assert_eq!(repeated.await.unwrap().unwrap(), Answer::Kept(success("attempt 1")));
    assert_eq!(service.count("ledger").await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fencing_query_waits_for_the_running_call() {
    let service = Service::start().await;
    let (first, second) = (service.another_connection().await, service.another_connection().await);
    let (inside, arrived) = (Arc::new(Notify::new()), Arc::new(Notify::new()));

    let running = tokio::spawn({
        let (inside, arrived) = (inside.clone(), arrived.clone());
        async move {
            in_transaction(&first, async |txn| {
                forward(txn, call(FORWARD, 1), || async {
                    inside.notify_one();
                    arrived.notified().await;
                    effect(txn, call(FORWARD, 1), Does::Succeed).await
                })
                .await
            })
            .await
        }
    });
    inside.notified().await;
    let found = tokio::spawn(async move {
        arrived.notify_one();
        in_transaction(&second, async |txn| query(txn, FORWARD, Some(1)).await).await
    });

    assert_eq!(running.await.unwrap().unwrap(), Answer::Kept(success("attempt 1")));
    assert_eq!(found.await.unwrap().unwrap(), Finding::Kept(success("attempt 1")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hand_that_failed_says_what_the_other_one_is_about_to_keep() {
    let service = Service::start().await;
    let (first, second) = (service.another_connection().await, service.another_connection().await);
    let (inside, arrived) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    // Delivered once, it fails.
    let failed = service.forward(call(FORWARD, 1), Does::Fail).await;
    assert!(matches!(failed, Err(Failure::NotNow)));
    // Delivered again, it is in the middle of its body when the first hand is about to answer.
    let running = tokio::spawn({
        let (inside, arrived) = (inside.clone(), arrived.clone());
        async move {
            in_transaction(&first, async |txn| {
                forward(txn, call(FORWARD, 1), || async {
                    let outcome = effect(txn, call(FORWARD, 1), Does::Succeed).await;
                    inside.notify_one();
                    arrived.notified().await;
                    outcome
                })
                .await
            })
            .await
        }
    });
    inside.notified().await;
    let closing = tokio::spawn(async move {
        arrived.notify_one();
        in_transaction(&second, async |txn| {
            close_out::<String, String>(txn, call(FORWARD, 1).into(), "busy").await
        })
        .await
    });
    assert_eq!(running.await.unwrap().unwrap(), Answer::Kept(success("attempt 1")));
    assert_eq!(closing.await.unwrap().unwrap(), Answer::Kept(success("attempt 1")));
    assert_eq!(service.count("ledger").await, 1);
}

#[tokio::test]
async fn an_attempt_whose_closing_out_does_not_commit_is_open() {
    let service = Service::start().await;
    let txn = service.db.begin().await.unwrap();
    let closed = close_out::<String, String>(&txn, call(FORWARD, 1).into(), "busy").await.unwrap();
    assert_eq!(closed, Answer::ClosedOut("busy".to_owned()));
    txn.rollback().await.unwrap();
    let answer = service.forward(call(FORWARD, 1), Does::Succeed).await.unwrap();
    assert_eq!(answer, Answer::Kept(success("attempt 1")));
}

#[tokio::test]
async fn a_query_that_does_not_fence_waits_for_nobody() {
    let service = Service::start().await;
    let asking = service.another_connection().await;
    let running = service.db.begin().await.unwrap();
    let answer = forward(&running, call(FORWARD, 1), || effect(&running, call(FORWARD, 1), Does::Succeed));
    answer.await.unwrap();

    // A plain transaction reads what is committed while the other one holds the database.
    let reading = asking.begin().await.unwrap();
    assert_eq!(query::<String, String>(&reading, FORWARD, None).await.unwrap(), Finding::Absent);
    reading.rollback().await.unwrap();
    running.commit().await.unwrap();
}

#[tokio::test]
async fn a_unit_of_work_holds_the_database_before_it_reads() {
    let service = Service::start().await;
    let other = service.another_connection().await;
    other.execute_unprepared("PRAGMA busy_timeout = 0").await.unwrap();
    let write = "INSERT INTO ledger VALUES (x'00', 'from elsewhere')";
    in_transaction(&service.db, async |txn| {
        // Nothing is written yet; a writer let in here would make the first write below fail.
        assert_eq!(query::<String, String>(txn, FORWARD, None).await?, Finding::Absent);
        assert!(other.execute_unprepared(write).await.is_err());
        forward(txn, call(FORWARD, 1), || effect(txn, call(FORWARD, 1), Does::Succeed)).await
    })
    .await
    .unwrap();
    other.execute_unprepared(write).await.unwrap();
}

#[tokio::test]
async fn a_failing_body_leaves_nothing_even_in_a_transaction_that_commits() {
    let service = Service::start().await;
    let txn = service.db.begin().await.unwrap();
    txn.execute_unprepared("INSERT INTO ledger VALUES (x'00', 'the caller''s own')").await.unwrap();
    let failed = forward(&txn, call(FORWARD, 1), || effect(&txn, call(FORWARD, 1), Does::Fail)).await;
    assert!(matches!(failed, Err(Failure::NotNow)));
    txn.commit().await.unwrap();

    assert_eq!(service.count("ledger WHERE line = 'the caller''s own'").await, 1);
    assert_eq!(service.count("ledger").await, 1);
    assert_eq!(service.count("barrier").await, 0);
}

#[tokio::test]
async fn a_failing_compensation_leaves_the_forward_row_as_it_was() {
    let service = Service::start().await;
    service.forward(call(FORWARD, 1), Does::Succeed).await.unwrap();
    let txn = service.db.begin().await.unwrap();
    let failed = compensate(&txn, call(UNDO, 1), FORWARD, || async {
        effect(&txn, call(UNDO, 1), Does::Fail).await.map(|_| Undo::Undone)
    });
    assert!(matches!(failed.await, Err(Failure::NotNow)));
    txn.commit().await.unwrap();

    assert_eq!(service.count("barrier").await, 1);
    assert_eq!(service.count("barrier WHERE fenced_for_ever").await, 0);
    assert_eq!(service.count("ledger").await, 1);
}

#[tokio::test]
async fn a_cancelled_call_leaves_nothing_and_can_come_again() {
    let service = Service::start().await;
    let inside = Notify::new();
    let hanging = in_transaction(&service.db, async |txn| {
        forward::<String, String, Failure, _, _>(txn, call(FORWARD, 1), || async {
            effect(txn, call(FORWARD, 1), Does::Succeed).await?;
            inside.notify_one();
            std::future::pending().await
        })
        .await
    });
    tokio::select! {
        _ = hanging => unreachable!("the body hangs"),
        () = inside.notified() => {}
    }

    let again = service.forward(call(FORWARD, 2), Does::Succeed).await.unwrap();
    assert_eq!(again, Answer::Kept(success("attempt 2")));
    assert_eq!(service.count("ledger").await, 1);
}

#[tokio::test]
async fn a_call_that_is_answered_without_effect_leaves_no_row() {
    let service = Service::start().await;
    service.compensate(call(UNDO, 1), FORWARD, Does::Succeed).await.unwrap();
    assert_eq!(service.count("barrier").await, 2);
    // The same compensation, said to undo another call.
    let other_call = uuid::Uuid::from_u128(3);
    let answer = service.compensate(call(UNDO, 1), other_call, Does::Succeed).await.unwrap();
    assert_eq!(answer, Answer::Mismatch);
    assert_eq!(service.count("barrier").await, 2);
}

#[tokio::test]
async fn a_request_id_of_the_other_direction_is_never_answered_as_this_one() {
    let service = Service::start().await;
    service.forward(call(FORWARD, 1), Does::Succeed).await.unwrap();
    service.compensate(call(UNDO, 1), FORWARD, Does::Succeed).await.unwrap();

    assert_eq!(service.forward(call(UNDO, 1), Does::Succeed).await.unwrap(), Answer::Mismatch);
    let found = service.query(UNDO, None).await;
    assert!(matches!(found, Err(Error::Unreadable { request_id: UNDO, .. })), "{found:?}");
}

#[tokio::test]
async fn a_compensation_can_ask_what_it_undoes() {
    let service = Service::start().await;
    service.forward(call(FORWARD, 1), Does::Partly).await.unwrap();
    let undone = in_transaction(&service.db, async |txn| {
        compensate(txn, call(UNDO, 1), FORWARD, || async {
            let kept = query::<String, String>(txn, FORWARD, None).await?;
            assert_eq!(kept, Finding::Kept(Outcome::Partial(Some("attempt 1".to_owned()))));
            Ok::<_, Error>(Undo::Undone)
        })
        .await
    })
    .await;
    assert_eq!(undone.unwrap(), Answer::Kept(Undo::Undone));
}

#[tokio::test]
async fn purging_forgets_old_rows_and_only_those() {
    let service = Service::start().await;
    service.forward(call(FORWARD, 1), Does::Succeed).await.unwrap();
    service.query(UNDO, Some(1)).await.unwrap();
    assert_eq!(purge_older_than(&service.db, Duration::from_secs(3600)).await.unwrap(), 0);

    // Two hours pass for the forward call's row.
    let aged = "UPDATE barrier SET updated_at = updated_at - 7200000 WHERE outcome = 'success'";
    service.db.execute_unprepared(aged).await.unwrap();
    assert_eq!(purge_older_than(&service.db, Duration::from_secs(3600)).await.unwrap(), 1);
    assert_eq!(service.query(FORWARD, None).await.unwrap(), Finding::Absent);
    assert_eq!(
        service.query_compensation(UNDO, Some(1)).await.unwrap(),
        Finding::Fenced(Fence::Through(1)),
        "the younger row stands"
    );
}

#[tokio::test]
async fn the_row_times_are_milliseconds_of_the_databases_clock() {
    let service = Service::start().await;
    service.forward(call(FORWARD, 1), Does::Succeed).await.unwrap();
    let off = "SELECT abs(created_at / 1000 - unixepoch()) AS n FROM barrier";
    assert!(service.number(off).await < 60);
}

#[test]
fn a_digest_does_not_depend_on_key_order_but_on_every_value() {
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    let kept = digest(&json(r#"{"a": {"c": 1, "d": "x"}, "b": 2}"#)).unwrap();
    assert_eq!(digest(&json(r#"{"b":2,"a":{"d":"x","c":1}}"#)).unwrap(), kept);
    assert_ne!(digest(&json(r#"{"b":2,"a":{"d":"x","c":"1"}}"#)).unwrap(), kept);
    assert_ne!(digest(&json(r#"{"b":2,"a":{"d":"x","c":1.0}}"#)).unwrap(), kept);
}

#[tokio::test]
async fn a_value_without_a_json_form_takes_no_effect() {
    let service = Service::start().await;
    type Odd = std::collections::BTreeMap<(u8, u8), u8>;
    let answer = in_transaction(&service.db, async |txn| {
        forward::<Odd, (), Failure, _, _>(txn, call(FORWARD, 1), || async {
            effect(txn, call(FORWARD, 1), Does::Succeed).await?;
            Ok(Outcome::Success(Odd::from([((1, 2), 3)])))
        })
        .await
    })
    .await;
    assert!(matches!(answer, Err(Failure::Barrier(Error::Unwritable(_)))), "{answer:?}");
    assert_eq!(service.count("ledger").await, 0);
}

/// An adapter hands its calls to boxed futures that move between threads.
#[tokio::test]
async fn a_unit_of_work_is_send() {
    fn boxed<'a>(
        service: &'a Service,
        call: Call,
    ) -> std::pin::Pin<Box<dyn Future<Output = Forwarded> + Send + 'a>> {
        Box::pin(service.forward(call, Does::Succeed))
    }
    let service = Service::start().await;
    boxed(&service, call(FORWARD, 1)).await.unwrap();
    let answer = boxed(&service, other_input(call(FORWARD, 1))).await.unwrap();
    assert_eq!(answer, Answer::Mismatch);
}
