//! The least permissions of `OPERATING.md`: with all of them it works, with one less it fails and says which.

use std::sync::Arc;

use amends::memory::MemoryStore;
use amends::ports::IntakeFilter;
use amends_nats::{
    Connection, EngineService, Login, NatsSettings, Readiness, ServiceSettings, StreamSettings, Trigger,
    Triggers,
};
use amends_nats_testkit::Server;

use crate::command_permissions::until_refused;
use crate::world::{Ledger, STREAM, ask, engine, event, order_saga, publish, quick, settings, until_ended};

/// What a login may publish and subscribe to.
pub(crate) struct Permissions {
    publish: Vec<String>,
    subscribe: Vec<String>,
}

impl Permissions {
    pub(crate) fn new(publish: &[&str], subscribe: &[&str]) -> Self {
        let owned = |subjects: &[&str]| subjects.iter().map(|&subject| subject.to_owned()).collect();
        Self { publish: owned(publish), subscribe: owned(subscribe) }
    }

    /// Of a node that runs the trigger with this consumer, and creates it.
    fn of_trigger(consumer: &str) -> Self {
        let own = |text: &str| text.replace("<stream>", STREAM).replace("<consumer>", consumer);
        let publish = [
            "$JS.API.CONSUMER.INFO.<stream>.<consumer>",
            "$JS.API.CONSUMER.CREATE.<stream>.<consumer>.orders.placed",
            "$JS.API.CONSUMER.MSG.NEXT.<stream>.<consumer>",
            "$JS.ACK.<stream>.<consumer>.>",
        ];
        let subscribe = ["_INBOX.>", "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.<stream>.<consumer>"];
        Self { publish: publish.map(own).into(), subscribe: subscribe.map(own).into() }
    }

    /// Without those that hold this.
    pub(crate) fn without(mut self, part: &str) -> Self {
        let before = self.publish.len() + self.subscribe.len();
        self.publish.retain(|subject| !subject.contains(part));
        self.subscribe.retain(|subject| !subject.contains(part));
        assert_eq!(self.publish.len() + self.subscribe.len() + 1, before, "`{part}` is one of them");
        self
    }

    pub(crate) fn user(&self, name: &str) -> String {
        self.user_who(name, "")
    }

    /// May answer whoever asks it, besides.
    pub(crate) fn user_that_answers(&self, name: &str) -> String {
        self.user_who(name, ", allow_responses: true")
    }

    fn user_who(&self, name: &str, may: &str) -> String {
        // To the server an empty list is no list, and forbids nothing.
        let of = |subjects: &[String]| match subjects {
            [] => "{ deny: \">\" }".to_owned(),
            some => format!("{some:?}"),
        };
        let (publish, subscribe) = (of(&self.publish), of(&self.subscribe));
        format!(
            "{{ user: {name}, password: {name}, permissions: {{ publish: {publish}, subscribe: {subscribe}{may} }} }}"
        )
    }
}

const LOST: [&str; 5] = ["CONSUMER.INFO", "CONSUMER.CREATE", "MSG.NEXT", "$JS.ACK", "_INBOX"];
const ADVISORY: &str = "MAX_DELIVERIES";

/// A server on which everybody has a login, with a consumer of the same name.
fn server() -> Server {
    let mut users = vec!["{ user: admin, password: admin }".to_owned()];
    users.push(Permissions::of_trigger("whole").user("whole"));
    for (number, part) in LOST.iter().chain([&ADVISORY]).enumerate() {
        let name = format!("less-{number}");
        users.push(Permissions::of_trigger(&name).without(part).user(&name));
    }
    Server::builder().configuration(&format!("authorization {{ users: [ {} ] }}", users.join(", "))).start()
}

pub(crate) async fn login(server: &Server, name: &str) -> Connection {
    let login = Login::Password { user: name.to_owned(), password: name.to_owned() };
    let patience = std::time::Duration::from_millis(500);
    let settings = NatsSettings { login, request_timeout: patience, ..settings(server) };
    Connection::open(settings).await.unwrap()
}

#[tokio::test]
async fn a_trigger_works_with_the_least_permissions_and_names_the_one_that_is_missing() {
    let server = server();
    let admin = login(&server, "admin").await;
    admin.declare_stream(&StreamSettings::new(STREAM, ["orders.>"]), true).await.unwrap();
    publish(&admin, &[], event("o-1", 1).into()).await;
    publish(&admin, &[], "{".into()).await;
    let ledger = Ledger::new();
    let saga = order_saga(&ledger);
    let engine = engine(Arc::new(MemoryStore::new()), &saga).await;
    let trigger = |name: &str| {
        Trigger::on(STREAM, "orders.placed")
            .workflow(&saga)
            .consumer(name)
            .limits(quick())
            .consumer_settings(|consumer| consumer.deliveries_max = Some(5))
    };

    let whole = login(&server, "whole").await;
    let triggers = Triggers::on(&whole, &engine).with(trigger("whole")).start().await.unwrap();
    let counters = until_ended(&triggers, 2).await;
    assert_eq!((counters.sagas, counters.intake, counters.unconfirmed), (1, 1, 0));
    assert_eq!(triggers.readiness().problems(), Vec::<String>::new());

    for (number, part) in LOST.iter().enumerate() {
        let name = format!("less-{number}");
        let connection = login(&server, &name).await;
        let started = Triggers::on(&connection, &engine).with(trigger(&name)).start().await;
        let told = match started {
            Err(error) => error.to_string(),
            Ok(triggers) => {
                let unwell = |readiness: &Readiness| {
                    readiness.problems().iter().any(|problem| problem.starts_with("the trigger"))
                };
                let problems = triggers.until(unwell).await.problems();
                problems.into_iter().find(|problem| problem.starts_with("the trigger")).unwrap()
            }
        };
        assert!(told.contains("Permissions Violation") && told.contains(part), "without {part}: {told}");
    }

    // Without the advisory it works, and what is missing is told.
    let name = format!("less-{}", LOST.len());
    let connection = login(&server, &name).await;
    let triggers = Triggers::on(&connection, &engine).with(trigger(&name)).start().await.unwrap();
    until_ended(&triggers, 2).await;
    let problems = triggers.readiness().problems();
    assert!(problems.iter().any(|problem| problem.contains(ADVISORY)), "{problems:?}");
}

/// What is given up by the broker is read again, by whoever may.
#[tokio::test]
async fn what_the_broker_gave_up_is_kept_without_its_content_where_nobody_may_read_it() {
    let own = |consumer: &str| {
        let mut permissions = Permissions::of_trigger(consumer);
        permissions.publish.push(format!("$JS.API.STREAM.MSG.GET.{STREAM}"));
        permissions
    };
    let users = [
        "{ user: admin, password: admin }".to_owned(),
        own("reads").user("reads"),
        own("blind").without("MSG.GET").user("blind"),
    ];
    let rules = format!("authorization {{ users: [ {} ] }}", users.join(", "));
    let server = Server::builder().configuration(&rules).start();
    let admin = login(&server, "admin").await;
    admin.declare_stream(&StreamSettings::new(STREAM, ["orders.>"]), true).await.unwrap();
    let payload = event("o-1", 1);
    let sequence = publish(&admin, &[], payload.clone().into()).await;
    let saga = order_saga(&Ledger::new());
    for (name, content) in [("reads", payload.as_str()), ("blind", "")] {
        let connection = login(&server, name).await;
        let engine = engine(Arc::new(MemoryStore::new()), &saga).await;
        let trigger = Trigger::on(STREAM, "orders.placed").workflow(&saga).consumer(name).limits(quick());
        let trigger = trigger.consumer_settings(|consumer| consumer.deliveries_max = Some(5));
        let triggers = Triggers::on(&connection, &engine).with(trigger).start().await.unwrap();
        until_ended(&triggers, 1).await;
        // In the server's words; that it listens by now is told by what comes.
        let subject = format!("$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.{STREAM}.{name}");
        let advisory = format!(r#"{{"id":"{name}","stream_seq":{sequence},"deliveries":5}}"#);
        let filter = IntakeFilter { limit: 100, ..IntakeFilter::default() };
        let kept = loop {
            admin.client().publish(subject.clone(), advisory.clone().into()).await.unwrap();
            let mut kept = engine.operator().intake().list(&filter).await.unwrap();
            if let Some(row) = kept.pop() {
                break row;
            }
            tokio::task::yield_now().await;
        };
        assert_eq!(String::from_utf8_lossy(&kept.raw.kept), content, "{name}: {}", kept.reason.words);
        let refused = connection.refusals().iter().any(|refusal| refusal.contains("STREAM.MSG.GET"));
        assert_eq!(refused, name == "blind", "{:?}", connection.refusals());
    }
}

#[tokio::test]
async fn a_stream_is_declared_with_the_least_permissions_and_the_missing_one_is_named() {
    let whole = || {
        let info = format!("$JS.API.STREAM.INFO.{STREAM}");
        let create = format!("$JS.API.STREAM.CREATE.{STREAM}");
        Permissions::new(&[&info, &create], &["_INBOX.>"])
    };
    let lost = ["STREAM.INFO", "STREAM.CREATE", "_INBOX"];
    let mut users = vec![whole().user("whole")];
    for (number, part) in lost.iter().enumerate() {
        users.push(whole().without(part).user(&format!("less-{number}")));
    }
    let rules = format!("authorization {{ users: [ {} ] }}", users.join(", "));
    let server = Server::builder().configuration(&rules).start();
    let settings = StreamSettings::new(STREAM, ["orders.>"]);
    for (number, part) in lost.iter().enumerate() {
        let connection = login(&server, &format!("less-{number}")).await;
        let told = connection.declare_stream(&settings, true).await.unwrap_err().to_string();
        assert!(told.contains("Permissions Violation") && told.contains(part), "without {part}: {told}");
    }
    let connection = login(&server, "whole").await;
    assert_eq!(connection.declare_stream(&settings, true).await, Ok(Vec::new()));
    assert_eq!(connection.refusals(), Vec::<String>::new());
}

#[tokio::test]
async fn whoever_publishes_events_may_publish_to_their_subjects_and_hear_the_answer() {
    let lost = ["orders", "_INBOX"];
    let whole = || Permissions::new(&["orders.placed"], &["_INBOX.>"]);
    let mut users = vec!["{ user: admin, password: admin }".to_owned(), whole().user("whole")];
    for (number, part) in lost.iter().enumerate() {
        users.push(whole().without(part).user(&format!("less-{number}")));
    }
    let rules = format!("authorization {{ users: [ {} ] }}", users.join(", "));
    let server = Server::builder().configuration(&rules).start();
    let admin = login(&server, "admin").await;
    admin.declare_stream(&StreamSettings::new(STREAM, ["orders.>"]), true).await.unwrap();
    assert_eq!(publish(&login(&server, "whole").await, &[], event("o-1", 1).into()).await, 1);
    for (number, part) in lost.iter().enumerate() {
        let connection = login(&server, &format!("less-{number}")).await;
        let sent = connection.jetstream().publish("orders.placed", event("o-2", 1).into()).await.unwrap();
        assert!(sent.await.is_err(), "without {part}");
        until_refused(&connection, part).await;
    }
}

#[tokio::test]
async fn whoever_asks_the_service_may_publish_its_subjects_and_hear_the_answer() {
    let lost = ["amends", "_INBOX"];
    let whole = || Permissions::new(&["amends.*"], &["_INBOX.>"]);
    let mut users = vec!["{ user: admin, password: admin }".to_owned(), whole().user("whole")];
    for (number, part) in lost.iter().enumerate() {
        users.push(whole().without(part).user(&format!("less-{number}")));
    }
    let rules = format!("authorization {{ users: [ {} ] }}", users.join(", "));
    let server = Server::builder().configuration(&rules).start();
    let admin = login(&server, "admin").await;
    let saga = order_saga(&Ledger::new());
    let engine = engine(Arc::new(MemoryStore::new()), &saga).await;
    let _service = EngineService::start(&admin, &engine, ServiceSettings::default()).await.unwrap();
    let asked_by = async |name: &str| {
        let connection = login(&server, name).await;
        let start = r#"{"workflow":"order","key":"o-1","input":{"order":"o-1","amount":1}}"#;
        (ask(connection.client(), "amends.start", start).await, connection)
    };
    let (answer, connection) = asked_by("whole").await;
    assert!(std::str::from_utf8(&answer.unwrap().payload).unwrap().contains("\"saga\""));
    assert_eq!(connection.refusals(), Vec::<String>::new());
    for (number, part) in lost.iter().enumerate() {
        let (answer, connection) = asked_by(&format!("less-{number}")).await;
        assert!(answer.is_err(), "without {part}");
        until_refused(&connection, part).await;
    }
}

/// Of a node that offers the engine as a service: it publishes nothing but answers.
fn service_user(name: &str, subscribe: &[&str]) -> String {
    format!(
        "{{ user: {name}, password: {name}, permissions: {{ publish: {{ deny: [\">\"] }}, subscribe: {subscribe:?}, allow_responses: true }} }}"
    )
}

#[tokio::test]
async fn a_service_works_with_the_least_permissions_and_the_missing_one_is_told() {
    let users = [
        "{ user: admin, password: admin }".to_owned(),
        service_user("whole", &["$SRV.>", "amends.*"]),
        service_user("hidden", &["amends.*"]),
        service_user("deaf", &["$SRV.>"]),
    ];
    let rules = format!("authorization {{ users: [ {} ] }}", users.join(", "));
    let server = Server::builder().configuration(&rules).start();
    let admin = login(&server, "admin").await;
    let saga = order_saga(&Ledger::new());
    let engine = engine(Arc::new(MemoryStore::new()), &saga).await;

    let whole = login(&server, "whole").await;
    let service = EngineService::start(&whole, &engine, ServiceSettings::default()).await.unwrap();
    let start = r#"{"workflow":"order","key":"o-1","input":{"order":"o-1","amount":1}}"#;
    let answer = ask(admin.client(), "amends.start", start).await.unwrap();
    assert!(std::str::from_utf8(&answer.payload).unwrap().contains("\"saga\""), "{answer:?}");
    assert!(admin.client().request("$SRV.PING.amends", "".into()).await.is_ok());
    assert_eq!(whole.refusals(), Vec::<String>::new());
    service.stop().await;

    for (name, missing) in [("hidden", "$SRV.PING"), ("deaf", "amends.start")] {
        let connection = login(&server, name).await;
        let _service = EngineService::start(&connection, &engine, ServiceSettings::default()).await.unwrap();
        let told = format!("Permissions Violation for Subscription to \"{missing}\"");
        while !connection.refusals().iter().any(|refusal| refusal.contains(&told)) {
            tokio::task::yield_now().await;
        }
    }
}
