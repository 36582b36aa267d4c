//! The engine as a NATS micro service, asked with a stock client.

use std::collections::BTreeSet;
use std::time::Duration;

use amends_nats::{EngineService, ServiceSettings};
use async_nats::{Request, RequestErrorKind};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::world::{self, World};

/// The answer, or the code and words of the error.
async fn ask(
    client: &async_nats::Client,
    verb: &str,
    request: impl ToString,
) -> Result<Value, (String, String)> {
    let answer = world::ask(client, &format!("amends.{verb}"), &request.to_string()).await.unwrap();
    let headers = answer.headers.unwrap_or_default();
    let header = |name: &str| headers.get(name).map(|value| value.as_str().to_owned());
    match (header("Nats-Service-Error-Code"), header("Nats-Service-Error")) {
        (Some(code), Some(words)) => Err((code, words)),
        _ => Ok(serde_json::from_slice(&answer.payload).unwrap()),
    }
}

#[tokio::test]
async fn a_saga_is_started_seen_and_cancelled_by_requests() {
    let world = World::new().await;
    let service = EngineService::start(&world.connection, &world.engine, ServiceSettings::default());
    let service = service.await.unwrap();
    let client = async_nats::connect(world.server.url()).await.unwrap();
    world.ledger.gate.forget_permits(Semaphore::MAX_PERMITS);

    let start = json!({"workflow": "order", "key": "o-1", "input": {"order": "o-1", "amount": 7}});
    let started = ask(&client, "start", &start).await.unwrap();
    assert_eq!(ask(&client, "start", &start).await.unwrap(), started, "the same start is the same saga");
    let saga = &started["saga"];
    let other = json!({"workflow": "order", "key": "o-1", "input": {"order": "o-1", "amount": 8}});
    assert_eq!(ask(&client, "start", other).await.unwrap_err().0, "409");

    let seen = ask(&client, "inspect", json!({"workflow": "order", "key": "o-1"})).await.unwrap();
    assert_eq!((&seen["saga"], &seen["phase"]), (saga, &json!("running")));
    assert_eq!(seen["steps"][0]["forward"]["stage"], "RUNNING");
    assert!(seen["timeline"].as_str().unwrap().contains("book"), "{seen}");

    // The pivot is under way: it cannot be told yet. The same operation gives the same answer.
    let cancel =
        json!({"saga": saga, "actor": "ann", "reason": "the customer called", "operation": "ticket-1"});
    assert_eq!(ask(&client, "cancel", &cancel).await.unwrap(), json!({"answer": "pending"}));
    world.ledger.gate.add_permits(1);
    world.ended("o-1").await;
    assert_eq!(ask(&client, "cancel", &cancel).await.unwrap(), json!({"answer": "too-late"}));

    let verbs = ask(&client, "verbs", json!({"saga": saga})).await.unwrap();
    assert!(verbs["verbs"].as_array().is_some_and(|all| all.iter().any(|offer| offer["verb"] == "Resume")));
    service.stop().await;
}

#[tokio::test]
async fn what_cannot_be_done_is_answered_with_a_code_and_the_reason() {
    let world = World::new().await;
    let service = EngineService::start(&world.connection, &world.engine, ServiceSettings::default());
    let _service = service.await.unwrap();
    let client = async_nats::connect(world.server.url()).await.unwrap();
    world
        .engine
        .start(&world.saga, "o-1", crate::world::Order { order: "o-1".to_owned(), amount: 1 })
        .await
        .unwrap();
    world.ended("o-1").await;
    let of = json!({"workflow": "order", "key": "o-1"});
    let by = json!({"workflow": "order", "key": "o-1", "actor": "a", "reason": "r", "operation": "op-1"});
    let with = |more: &str, value: Value| {
        let mut with = by.clone();
        with[more] = value;
        with.to_string()
    };
    let nobody = "018f0000-0000-7000-8000-000000000000";
    for (verb, request, code, words) in [
        ("start", "{".to_owned(), "400", "EOF"),
        ("start", r#"{"workflow":"order","key":"k","input":1,"input":2}"#.to_owned(), "400", "duplicate key"),
        ("start", r#"{"workflow":"order","key":"k"}"#.to_owned(), "400", "missing field `input`"),
        ("start", r#"{"workflow":"none","key":"k","input":1}"#.to_owned(), "404", "no workflow `none`"),
        ("inspect", "{}".to_owned(), "400", "`saga` is missing"),
        ("inspect", json!({"saga": nobody}).to_string(), "404", "there is none with the id"),
        ("inspect", json!({"workflow": "order", "key": "x"}).to_string(), "404", "no saga `x` of order"),
        ("cancel", of.to_string(), "400", "`operation` is missing"),
        ("resume", by.to_string(), "400", "`action` is missing"),
        ("resume", with("action", json!("book")), "400", "`book` is not step/forward"),
        ("resume", with("action", json!("book/forward")), "409", "failed to"),
        ("accept", with("action", json!("book/forward")), "400", "`evidence` is missing"),
        ("let-go", by.to_string(), "400", "`message` is missing"),
        ("let-go", with("message", json!("event/1/2")), "400", "is no message of the outbox"),
        (
            "let-go",
            with("message", json!(format!("event/{nobody}/1.0"))),
            "409",
            "does not wait to be published",
        ),
        ("pause", with("when", json!("now")), "400", "unknown field `when`"),
    ] {
        let (found, told) = ask(&client, verb, &request).await.unwrap_err();
        assert_eq!((found.as_str(), told.contains(words)), (code, true), "{verb} {request}: {told}");
    }
}

#[tokio::test]
async fn stock_tools_discover_the_service_and_its_endpoints() {
    let world = World::new().await;
    let service = EngineService::start(&world.connection, &world.engine, ServiceSettings::default());
    let service = service.await.unwrap();
    let client = async_nats::connect(world.server.url()).await.unwrap();
    let answer = world::ask(&client, "$SRV.INFO.amends", "").await.unwrap();
    let info: Value = serde_json::from_slice(&answer.payload).unwrap();
    assert_eq!((&info["name"], &info["type"]), (&json!("amends"), &json!("io.nats.micro.v1.info_response")));
    let endpoints: BTreeSet<&str> = info["endpoints"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|endpoint| endpoint["subject"].as_str())
        .collect();
    assert!(endpoints.contains("amends.start") && endpoints.contains("amends.retry-now"), "{endpoints:?}");
    assert_eq!(endpoints.len(), 18);

    // Once it has stopped, nobody answers for it.
    service.stop().await;
    let nobody = async {
        loop {
            let asked = Request::new().payload("{}".into()).timeout(Some(Duration::from_millis(200)));
            match client.send_request("amends.inspect", asked).await.map_err(|error| error.kind()) {
                Err(RequestErrorKind::NoResponders) => return,
                // The server had not heard yet that the subscription is gone.
                Err(RequestErrorKind::TimedOut) => {}
                other => panic!("{other:?}"),
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(10), nobody).await.unwrap();
}
