//! The participants on a file of their own, with a clock that stands until it is moved.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use amends::core::{RequestId, SagaId, Timestamp};
use amends::ports::Clock;
use amends_workflows::names::{CustomerId, OrderId};
use amends_workflows::ports::{
    Authorization, Authorize, Call, Capture, CaptureFunds, Dispatch, Inventory, Ledger, Notice,
    Notifications, Payments, Receipts, Reservation, Reserve, Sales, Shipping, StockLine,
};
use amends_workflows::{Currency, Money};
use async_trait::async_trait;
use sea_orm::{ConnectionTrait, Database, DbBackend, Statement};
use tempfile::TempDir;
use tokio::sync::watch;
use uuid::Uuid;

use crate::participants::{End, Ended, Finding, Kind, Participants, Place, PlannedFault};

/// Stands until it is moved.
pub(crate) struct StandingClock(watch::Sender<Timestamp>);

impl StandingClock {
    pub(crate) fn advance(&self, by: Duration) {
        self.0.send_modify(|now| *now = *now + by);
    }

    /// Returns once somebody waits on it.
    pub(crate) async fn somebody_waits(&self) {
        while self.0.receiver_count() == 0 {
            tokio::task::yield_now().await;
        }
    }
}

#[async_trait]
impl Clock for StandingClock {
    fn now(&self) -> Timestamp {
        *self.0.borrow()
    }

    async fn sleep_until(&self, at: Timestamp) {
        let mut now = self.0.subscribe();
        now.wait_for(|now| *now >= at).await.unwrap();
    }
}

/// The participants, one by one.
#[derive(Clone)]
pub(crate) struct Ports {
    pub(crate) inventory: Arc<dyn Inventory>,
    pub(crate) payments: Arc<dyn Payments>,
    pub(crate) ledger: Arc<dyn Ledger>,
    pub(crate) shipping: Arc<dyn Shipping>,
    pub(crate) sales: Arc<dyn Sales>,
    pub(crate) notifications: Arc<dyn Notifications>,
    pub(crate) receipts: Arc<dyn Receipts>,
}

impl Ports {
    fn of(all: &Participants) -> Self {
        let all = all.all();
        Self {
            inventory: all.clone(),
            payments: all.clone(),
            ledger: all.clone(),
            shipping: all.clone(),
            sales: all.clone(),
            notifications: all.clone(),
            receipts: all,
        }
    }
}

pub(crate) struct Shop {
    folder: TempDir,
    pub(crate) clock: Arc<StandingClock>,
    pub(crate) all: Participants,
    pub(crate) ports: Ports,
    ended: Mutex<Vec<Ended>>,
}

pub(crate) const KEY: &str = "order-1";

pub(crate) fn eur(minor: i64) -> Money {
    Money::from_minor(minor, Currency::Eur)
}

/// The attempt of the request `id`, for [`KEY`].
pub(crate) fn call(id: u128, attempt: u32) -> Call {
    call_for(KEY, id, attempt)
}

pub(crate) fn call_for(key: &str, id: u128, attempt: u32) -> Call {
    // As the engine's ids do, these differ in their first digits.
    let request_id = RequestId(Uuid::from_u128(id << 96 | id));
    Call {
        request_id,
        forward_request_id: request_id,
        attempt,
        fence_through: None,
        saga: SagaId(Uuid::nil()),
        business_key: key.into(),
        time_left: Duration::from_secs(10),
    }
}

/// The compensation under `id` of the request `forward`.
pub(crate) fn back(id: u128, forward: u128) -> Call {
    Call { forward_request_id: call(forward, 1).request_id, ..call(id, 1) }
}

pub(crate) fn fencing(call: Call) -> Call {
    Call { fence_through: Some(call.attempt), ..call }
}

pub(crate) fn lamps(quantity: u32) -> Reserve {
    Reserve { order: KEY.into(), lines: vec![StockLine { sku: "lamp".into(), quantity }] }
}

pub(crate) fn hold(minor: i64) -> Authorize {
    Authorize { reference: KEY.into(), card: "tok-1".into(), amount: eur(minor), risk_score: None }
}

impl Shop {
    /// Ten lamps on the shelf, and all waits half as long as planned.
    pub(crate) async fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(StandingClock(watch::Sender::new(Timestamp(0))));
        let place = Place::File(folder.path().join("p"));
        let all = Participants::open(&place, 0.5, clock.clone()).await.unwrap();
        all.stock_up(&[("lamp".into(), 10)]).await.unwrap();
        let ports = Ports::of(&all);
        Self { folder, clock, all, ports, ended: Mutex::default() }
    }

    /// The same file in another process, as far as it can tell.
    pub(crate) async fn again(self) -> Self {
        self.all.close().await.unwrap();
        let place = Place::File(self.folder.path().join("p"));
        let all = Participants::open(&place, 0.5, self.clock.clone()).await.unwrap();
        let ports = Ports::of(&all);
        Self { all, ports, ..self }
    }

    pub(crate) async fn plan(&self, call: &str, attempts: (u32, u32), kind: Kind, millis: u64) {
        let fault = PlannedFault::new(call, attempts, kind, millis).unwrap();
        self.all.plan(KEY, &[fault]).await.unwrap();
    }

    pub(crate) async fn number(&self, sql: &str) -> i64 {
        let db = self.connect().await;
        let row = db.query_one_raw(Statement::from_string(DbBackend::Sqlite, sql)).await.unwrap().unwrap();
        let number = row.try_get_by_index(0).unwrap();
        db.close().await.unwrap();
        number
    }

    /// Behind the participants' backs.
    pub(crate) async fn tamper(&self, sql: &str) {
        let db = self.connect().await;
        db.execute_unprepared("PRAGMA ignore_check_constraints = ON").await.unwrap();
        db.execute_unprepared(sql).await.unwrap();
        db.close().await.unwrap();
    }

    async fn connect(&self) -> sea_orm::DatabaseConnection {
        let mut options =
            sea_orm::ConnectOptions::new(format!("sqlite://{}/p?mode=rw", self.folder.path().display()));
        options.max_connections(1).sqlx_logging(false);
        Database::connect(options).await.unwrap()
    }

    pub(crate) fn end(&self, workflow: &str, key: &str, end: End, amount: Money) {
        let ended = Ended { workflow: workflow.into(), key: key.into(), end, amount };
        let mut all = self.ended.lock().unwrap();
        all.retain(|earlier| earlier.key != key);
        all.push(ended);
    }

    pub(crate) async fn audit(&self) -> Vec<Finding> {
        let ended = self.ended.lock().unwrap().clone();
        self.all.audit(&ended).await.unwrap()
    }

    /// Fails with what is wrong.
    pub(crate) async fn assert_balances(&self) {
        let wrong: Vec<Finding> = self.audit().await.into_iter().filter(|finding| !finding.ok).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    pub(crate) async fn reserve(&self, id: u128, quantity: u32) -> Reservation {
        self.ports.inventory.reserve(&call(id, 1), &lamps(quantity)).await.unwrap()
    }

    pub(crate) async fn authorize(&self, id: u128, minor: i64) -> Authorization {
        self.ports.payments.authorize(&call(id, 1), &hold(minor)).await.unwrap()
    }

    pub(crate) async fn capture(&self, id: u128, held: Authorization) -> Capture {
        let ask = CaptureFunds { authorization: held.id, amount: held.amount };
        self.ports.payments.capture(&call(id, 1), &ask).await.unwrap()
    }

    /// An order from beginning to end: 2 lamps for 30 euros.
    pub(crate) async fn sell(&self) -> Capture {
        let goods = self.reserve(1, 2).await;
        let held = self.authorize(2, 3_000).await;
        let taken = self.capture(3, held).await;
        let order = OrderId::from(KEY);
        let ask = Dispatch { order, reservation: goods.id, address: "1 Main Street".into() };
        self.ports.shipping.ship(&call(4, 1), &ask).await.unwrap();
        let notice = Notice { to: CustomerId::from("ada"), text: "it comes".into() };
        self.ports.notifications.notify(&call(5, 1), &notice).await.unwrap();
        self.end("order", KEY, End::Completed, eur(3_000));
        taken
    }
}
