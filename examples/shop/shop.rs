//! What works on the lines: the engine in one place, the participants in another.

use std::sync::Arc;
use std::time::Duration;

use amends::core::Json;
use amends::ports::{Clock, Fault, Store, SystemClock};
use amends::{Engine, Limits};
use amends_sea_orm::{PostgresStore, SqliteStore};
use amends_workflows::names::Sku;
use amends_workflows::policies::policies;
use amends_workflows::{order_saga, payment_saga, refund_saga};
use anyhow::Context as _;

use crate::Unusable;
use crate::participants::{self, Participants};
use crate::place::Place;
use crate::schemas::AtWork;

/// What lies on the shelves when the shop opens for the first time.
const SHELVES: [(&str, u32); 12] = [
    ("tea-assam", 2_000),
    ("tea-sencha", 2_000),
    ("tea-oolong", 1_000),
    ("coffee-huehue", 1_500),
    ("coffee-yirga", 1_500),
    ("cup-blue", 800),
    ("cup-white", 800),
    ("kettle-steel", 300),
    ("grinder-hand", 200),
    ("scale-brew", 150),
    ("teapot-iron", 3),
    ("tin-limited", 0),
];

/// A shop that is open.
pub struct Shop {
    /// What sees sagas through.
    pub engine: Engine,
    store: Opened,
    /// Those whom it calls.
    pub participants: Participants,
}

/// The engine's store.
enum Opened {
    Sqlite(Arc<SqliteStore>),
    Postgres(Arc<PostgresStore>, Box<AtWork>),
}

impl Shop {
    /// Opens both places. Whatever was under way in them goes on at once.
    ///
    /// # Errors
    /// When one is in use or cannot be opened.
    pub async fn open(place: &Place, pace: f64) -> anyhow::Result<Self> {
        let (store, own) = match place {
            Place::Files(files) => {
                let store = SqliteStore::open(&files.database).await.map_err(unopened)?;
                let own = participants::Place::File(files.participants.clone());
                (Opened::Sqlite(Arc::new(store)), own)
            }
            Place::Schemas(schemas) => {
                let at_work = schemas.enter().await?;
                let store = PostgresStore::open(&schemas.engine_url()).await.map_err(unopened)?;
                (Opened::Postgres(Arc::new(store), Box::new(at_work)), schemas.participants())
            }
        };
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let participants = Participants::open(&own, pace, clock)
            .await
            .context("failed to open the database of the participants")?;
        let shelves: Vec<(Sku, u32)> =
            SHELVES.iter().map(|(sku, pieces)| (Sku::from(*sku), *pieces)).collect();
        participants.stock_up(&shelves).await.context("failed to stock the shelves")?;
        let engine = match &store {
            Opened::Sqlite(store) => engine(store.clone(), &participants, pace).await?,
            Opened::Postgres(store, _) => engine(store.clone(), &participants, pace).await?,
        };
        Ok(Self { engine, store, participants })
    }

    /// Closes both places; the engine has been shut down before.
    ///
    /// # Errors
    /// When one cannot be closed.
    pub async fn close(self) -> anyhow::Result<()> {
        let Self { engine, store, participants } = self;
        drop(engine);
        participants.close().await?;
        match store {
            Opened::Sqlite(store) => {
                if let Some(store) = Arc::into_inner(store) {
                    store.close().await?;
                }
            }
            Opened::Postgres(store, _at_work) => PostgresStore::clone(&store).close().await,
        }
        Ok(())
    }
}

async fn engine<S: Store>(store: Arc<S>, participants: &Participants, pace: f64) -> anyhow::Result<Engine> {
    let ports = participants.ports();
    let engine = Engine::builder(store)
        .node_name("shop")
        .limits(Limits { claim_every: Duration::from_millis(500), ..Limits::default() })
        .policies(policies(pace))
        .register(order_saga(&ports)?.saga)
        .register(payment_saga(&ports)?.saga)
        .register(refund_saga(&ports)?.saga);
    Ok(engine.start().await?)
}

/// Why a database cannot be had, with what to do about it.
pub fn unopened(fault: Fault) -> Unusable {
    let then = match &fault {
        Fault::InUse(_) => "wait until it has ended, or look at a saga meanwhile with --show SAGA",
        Fault::Corrupt(_) => "remove the file by hand, or give --database another path",
        _ => "give --database what can be read and written",
    };
    Unusable::new(fault.to_string(), then)
}

/// A refusal in a word or two, where it has one: people count refusals by reason, not by amount.
pub fn gist(refusal: &Json) -> Option<String> {
    let value: serde_json::Value = refusal.decode().ok()?;
    let object = match &value {
        serde_json::Value::String(text) => return Some(text.clone()),
        serde_json::Value::Object(object) => object,
        _ => return None,
    };
    let named = ["reason", "rule", "sku"].iter().find_map(|name| object.get(*name)?.as_str());
    let only = || object.iter().next().filter(|(_, inner)| object.len() == 1 && inner.is_object());
    named.map(str::to_owned).or_else(|| only().map(|(variant, _)| variant.clone()))
}
