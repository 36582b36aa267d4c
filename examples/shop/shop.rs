//! What works on the lines: the engine in one place, the participants in another.

use std::sync::Arc;
use std::time::Duration;

use amends::core::Json;
use amends::ports::{Clock, Fault, Store, SystemClock};
use amends::{Drained, Engine, Limits};
use amends_sea_orm::{PostgresStore, SqliteStore};
use amends_workflows::names::Sku;
use amends_workflows::policies::policies;
use anyhow::Context as _;

use crate::Unusable;
use crate::args::Args;
use crate::nats::Nats;
use crate::participants::{self, Participants};
use crate::place::Place;
use crate::schemas::AtWork;
use crate::workflows::Workflows;

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
    /// Where they keep what they have.
    pub effects: participants::Place,
    /// How many seconds a second of the shop takes.
    pub pace: f64,
    /// What brings it orders, and its participants commands, if that is NATS.
    pub nats: Option<Nats>,
}

/// How long running calls are awaited at the end.
const GRACE: Duration = Duration::from_secs(5);

/// How fast it works, and how patient it is with its like.
#[derive(Clone, Copy, Debug)]
pub struct Tempo {
    /// How many seconds a second of the shop takes.
    pub pace: f64,
    /// When a process that does not beat is taken for dead.
    pub lease: Duration,
    /// How many calls may be under way at once; none: as many as the engine allows by default.
    pub calls_max: Option<usize>,
}

impl Tempo {
    /// As the command line has it, where one process bounds the sagas under way, and so the calls.
    pub fn of(args: &Args) -> Self {
        Self { pace: args.pace, lease: Duration::from_secs_f64(args.lease), calls_max: None }
    }

    /// With so many calls under way at once.
    pub fn with_calls(self, most: usize) -> Self {
        Self { calls_max: Some(most), ..self }
    }
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
    pub async fn open(place: &Place, tempo: Tempo, mut nats: Option<Nats>) -> anyhow::Result<Self> {
        let store = match place {
            Place::Files(files) => {
                Opened::Sqlite(Arc::new(SqliteStore::open(&files.database).await.map_err(unopened)?))
            }
            Place::Schemas(schemas) => {
                let at_work = schemas.enter().await?;
                let store = PostgresStore::open(&schemas.engine_url()).await.map_err(unopened)?;
                Opened::Postgres(Arc::new(store), Box::new(at_work))
            }
        };
        let effects = place.effects();
        let participants = participants(&effects, tempo.pace, nats.as_ref()).await?;
        if let Some(nats) = nats.as_mut().filter(|nats| !nats.is_served_elsewhere()) {
            nats.serve(&participants).await?;
        }
        let ports = match &nats {
            Some(nats) => nats.ports(&participants.ports())?,
            None => participants.ports(),
        };
        let workflows = Workflows::on(&ports)?;
        let engine = match &store {
            Opened::Sqlite(store) => engine(store.clone(), &workflows, tempo, nats.as_ref()).await?,
            Opened::Postgres(store, _) => engine(store.clone(), &workflows, tempo, nats.as_ref()).await?,
        };
        if let Some(nats) = &mut nats {
            nats.begin(&engine, &workflows).await?;
        }
        Ok(Self { engine, store, participants, effects, pace: tempo.pace, nats })
    }

    /// Begins nothing more; what runs is awaited for a while.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn shut_down(&mut self) -> anyhow::Result<Drained> {
        if let Some(nats) = &mut self.nats {
            nats.end().await;
        }
        Ok(self.engine.shutdown(GRACE).await?)
    }

    /// Closes both places; the engine has been shut down before.
    ///
    /// # Errors
    /// When one cannot be closed.
    pub async fn close(self) -> anyhow::Result<()> {
        let Self { engine, store, participants, effects: _, pace: _, nats } = self;
        drop(engine);
        if let Some(nats) = nats {
            nats.close().await;
        }
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

/// Those who are called, those who are served here, or those who are elsewhere and have their bad days planned here.
async fn participants(
    effects: &participants::Place,
    pace: f64,
    nats: Option<&Nats>,
) -> anyhow::Result<Participants> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let opened = match nats {
        None => Participants::open(effects, pace, clock).await,
        Some(nats) if nats.is_served_elsewhere() => Participants::visit(effects, pace, clock).await,
        Some(_) => Participants::serve(effects, pace, clock).await,
    };
    let participants = opened.context("failed to open the database of the participants")?;
    if nats.is_none_or(|nats| !nats.is_served_elsewhere()) {
        stock(&participants).await?;
    }
    Ok(participants)
}

/// Fills the shelves, once.
///
/// # Errors
/// When the participants' database fails.
pub async fn stock(participants: &Participants) -> anyhow::Result<()> {
    let shelves: Vec<(Sku, u32)> = SHELVES.iter().map(|(sku, pieces)| (Sku::from(*sku), *pieces)).collect();
    participants.stock_up(&shelves).await.context("failed to stock the shelves")
}

async fn engine<S: Store>(
    store: Arc<S>,
    workflows: &Workflows,
    tempo: Tempo,
    nats: Option<&Nats>,
) -> anyhow::Result<Engine> {
    let patience = if nats.is_some() { Nats::patience(tempo.pace) } else { tempo.pace };
    let limits = Limits::default();
    let limits = Limits {
        claim_every: Duration::from_millis(500),
        lease: tempo.lease,
        max_running: tempo.calls_max.unwrap_or(limits.max_running),
        ..limits
    };
    let mut engine = Engine::builder(store)
        .node_name("shop")
        .limits(limits)
        .policies(policies(patience))
        .register(workflows.order.clone())
        .register(workflows.payment.clone())
        .register(workflows.refund.clone());
    if let Some(nats) = nats {
        engine = nats.publishing(engine)?;
    }
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
