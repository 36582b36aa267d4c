//! The least permissions of `OPERATING.md` for commands: an engine that sends them, and a service that takes them.

use std::sync::Arc;

use amends::core::Json;
use amends::memory::MemoryStore;
use amends::ports::{OutboxKind, Publisher, Store};
use amends::prelude::*;
use amends::{Engine, Outcome, Saga};
use amends_nats::{
    Call, Commands, Connection, Handler, NatsPublisher, NotNow, Participant, ParticipantSettings, Replies,
    Reply, ReplySettings, StreamSettings,
};
use amends_nats_testkit::Server;
use async_nats::jetstream::stream::RetentionPolicy;
use async_trait::async_trait;

use crate::permissions::{Permissions, login};
use crate::world::Order;

/// Of an engine that is called `test`.
fn of_engine() -> Permissions {
    Permissions::new(
        &[
            "amends.command.>",
            "amends.query.>",
            "$JS.API.CONSUMER.INFO.AMENDS_REPLIES.test",
            "$JS.API.CONSUMER.CREATE.AMENDS_REPLIES.test.amends.reply.test",
            "$JS.API.CONSUMER.MSG.NEXT.AMENDS_REPLIES.test",
            "$JS.ACK.AMENDS_REPLIES.test.>",
        ],
        &["_INBOX.>"],
    )
}

/// Of a service that is called `payments`. It may answer whoever asks it, and an acknowledgement is such an answer.
fn of_service() -> Permissions {
    Permissions::new(
        &[
            "amends.reply.*",
            "$JS.API.CONSUMER.INFO.AMENDS_COMMANDS.payments",
            "$JS.API.CONSUMER.CREATE.AMENDS_COMMANDS.payments.amends.command.payments.>",
            "$JS.API.CONSUMER.MSG.NEXT.AMENDS_COMMANDS.payments",
        ],
        &["_INBOX.>", "amends.query.payments.>"],
    )
}

const LOST_BY_ENGINE: [&str; 6] =
    ["command", "query", "CONSUMER.INFO", "CONSUMER.CREATE", "MSG.NEXT", "$JS.ACK"];
const LOST_BY_SERVICE: [&str; 5] = ["amends.reply", "CONSUMER.INFO", "CONSUMER.CREATE", "MSG.NEXT", "query"];

/// A server with a login for each, whole and with one less.
async fn server() -> Server {
    let mut users = vec!["{ user: admin, password: admin }".to_owned()];
    users.push(of_engine().user("engine"));
    users.push(of_service().user_that_answers("service"));
    for (number, part) in LOST_BY_ENGINE.iter().enumerate() {
        let whole = of_engine();
        // Both the consumer's subject and the commands' hold `command`, in their own case: the first is meant.
        let less = if *part == "command" { whole.without("amends.command") } else { whole.without(part) };
        users.push(less.user(&format!("engine-{number}")));
    }
    for (number, part) in LOST_BY_SERVICE.iter().enumerate() {
        let whole = of_service();
        users.push(whole.without(part).user_that_answers(&format!("service-{number}")));
    }
    let rules = format!("authorization {{ users: [ {} ] }}", users.join(", "));
    let server = Server::builder().configuration(&rules).start();
    let admin = login(&server, "admin").await;
    for (name, subjects) in [("AMENDS_COMMANDS", "amends.command.>"), ("AMENDS_REPLIES", "amends.reply.*")] {
        let retention = RetentionPolicy::WorkQueue;
        let settings = StreamSettings { retention, ..StreamSettings::new(name, [subjects]) };
        admin.declare_stream(&settings, true).await.unwrap();
    }
    server
}

struct Pays;

#[async_trait]
impl Handler for Pays {
    async fn command(&self, _: &Call) -> Result<Reply, NotNow> {
        Ok(Reply::Applied(Json::parse("7").unwrap()))
    }

    async fn close_out(&self, _: &Call, reply: Reply) -> Result<Reply, NotNow> {
        Ok(reply)
    }

    async fn query(&self, _: &Call) -> Result<Reply, NotNow> {
        Ok(Reply::Absent)
    }
}

/// An engine whose only step is a command. Its store goes with it.
async fn engine(connection: &Connection) -> (Engine, Saga<Order, u64>, Replies) {
    let publisher = Arc::new(NatsPublisher::new(connection.clone(), "amends").unwrap());
    let (engine, saga) = engine_on(Arc::new(MemoryStore::new()), connection, publisher).await;
    let replies =
        Replies::take(engine.clone(), connection.clone(), ReplySettings::new("test")).await.unwrap();
    (engine, saga, replies)
}

/// The same without anybody who takes its replies.
pub(crate) async fn engine_on<S: Store>(
    store: Arc<S>,
    connection: &Connection,
    publisher: Arc<dyn Publisher>,
) -> (Engine, Saga<Order, u64>) {
    let commands = Commands::new(connection.clone(), "amends", "test").unwrap();
    let (s, order) = SagaBuilder::<Order>::new("order", 1);
    let pay = commands.step::<Order, u64, String>("payments", "charge").unwrap();
    let (paid, s) = s.pivot("pay", pay, order);
    let saga = s.finish(paid).unwrap();
    let engine = Engine::builder(store).register(saga.clone());
    let engine = engine.publisher_of(OutboxKind::Command, publisher).start().await.unwrap();
    (engine, saga)
}

/// Removes a consumer, if it is there.
async fn forget(admin: &Connection, stream: &str, consumer: &str) {
    let of = admin.jetstream().get_stream(stream).await.unwrap();
    drop(of.delete_consumer(consumer).await);
}

pub(crate) async fn until_refused(connection: &Connection, part: &str) {
    let named = |refusal: &String| refusal.contains("Permissions Violation") && refusal.contains(part);
    while !connection.refusals().iter().any(named) {
        tokio::task::yield_now().await;
    }
}

fn order(id: &str) -> Order {
    Order { order: id.to_owned(), amount: 7 }
}

#[tokio::test]
async fn commands_work_with_the_least_permissions_and_the_missing_one_is_told() {
    let server = server().await;
    let (sends, takes) = (login(&server, "engine").await, login(&server, "service").await);
    let service =
        Participant::start(takes.clone(), ParticipantSettings::new("payments"), Pays).await.unwrap();
    let (whole, saga, replies) = engine(&sends).await;
    let paid = whole.start(&saga, "o-1", order("o-1")).await.unwrap().outcome().await.unwrap();
    assert_eq!(paid, Outcome::Completed(7));
    // A query that says nothing is answered, too: both sides may do that.
    assert!(sends.client().request("amends.query.payments.charge", "{}".into()).await.is_ok());
    assert_eq!((sends.refusals(), takes.refusals()), (Vec::new(), Vec::new()));

    // From here on nobody else takes replies, nor commands further down. Whoever may not create a consumer finds none.
    replies.stop().await;
    let admin = login(&server, "admin").await;
    for (number, part) in LOST_BY_ENGINE.iter().enumerate() {
        forget(&admin, "AMENDS_REPLIES", "test").await;
        let connection = login(&server, &format!("engine-{number}")).await;
        let (engine, saga, replies) = engine(&connection).await;
        engine.start(&saga, "o-2", order("o-2")).await.unwrap();
        let asked = connection.client().request("amends.query.payments.charge", "{}".into());
        assert_eq!(asked.await.is_ok(), *part != "query", "without {part}");
        until_refused(&connection, part).await;
        engine.abort().await;
        drop(replies);
    }

    service.stop().await;
    for (number, part) in LOST_BY_SERVICE.iter().enumerate() {
        forget(&admin, "AMENDS_COMMANDS", "payments").await;
        let connection = login(&server, &format!("service-{number}")).await;
        let settings = ParticipantSettings::new("payments");
        let begun = Participant::start(connection.clone(), settings, Pays).await;
        whole.start(&saga, format!("o-3-{number}"), order("o-3")).await.unwrap();
        until_refused(&connection, part).await;
        drop(begun);
    }
}
