//! The shop on NATS: orders come as events, and the participants are written to.
//!
//! One prefix of subjects is one shop, with its streams:
//!
//! | stream | subjects | what |
//! |---|---|---|
//! | `SHOP_INCOMING` | `shop.incoming.order`, `.payment`, `.refund` | events; a trigger of each workflow starts the sagas |
//! | `SHOP_COMMANDS` | `shop.command.<service>.<operation>` | what the participants are told |
//! | `SHOP_REPLIES` | `shop.reply.shop` | what they answer |
//!
//! Read `ports` (how workflows write to participants), `served` and `answers` (how those take it), `incoming` (how lines
//! become events) and `left` (when nothing is on its way any more).

mod answers;
mod incoming;
mod left;
mod ports;
mod served;

use std::sync::Arc;
use std::time::Duration;

use amends::ports::{Clock as _, OutboxKind, SystemClock};
use amends::{Engine, EngineBuilder};
use amends_nats::{
    Commands, Connection, NatsPublisher, NatsSettings, Participant, ParticipantSettings, Replies,
    ReplySettings, StreamSettings, Trigger, Triggers, streams,
};
use amends_workflows::ports::Participants as Ports;
use anyhow::Context as _;

pub use incoming::{Incoming, Taken};

use crate::Unusable;
use crate::args::{Args, Served};
use crate::participants::Participants;
use crate::workflows::Workflows;

/// The engine's name on the wire: all processes of one shop share it.
const ENGINE: &str = "shop";

/// How long the participants' process is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often it is looked whether they are there.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How long what is in hand is awaited at the end.
const GRACE: Duration = Duration::from_secs(5);

/// Messages take their time, and a process takes some to be started again: nobody here is less patient than a shop of
/// this pace.
const PACE_MIN: f64 = 0.1;

/// A shop's connection to NATS.
pub struct Nats {
    connection: Connection,
    url: String,
    prefix: String,
    served: Served,
    pace: f64,
    /// Those that are served by this process.
    participants: Vec<Participant>,
    running: Option<Running>,
}

/// What brings messages to the engine.
struct Running {
    triggers: Triggers,
    replies: Replies,
}

impl Nats {
    /// Connects, if NATS is asked for.
    ///
    /// # Errors
    /// When the server cannot be reached or used.
    pub async fn asked_for(args: &Args) -> Result<Option<Self>, Unusable> {
        let Some(url) = &args.nats else { return Ok(None) };
        let settings = NatsSettings::new(url).name("shop");
        let connection = Connection::open(settings).await.map_err(|error| {
            Unusable::new(
                error.to_string(),
                "start a nats-server of 2.11 or later with JetStream (nats-server -js), or give --nats its address",
            )
        })?;
        Ok(Some(Self {
            connection,
            url: url.clone(),
            prefix: args.prefix.clone(),
            served: args.participants,
            pace: args.pace,
            participants: Vec::new(),
            running: None,
        }))
    }

    /// The pace of the engine's patience.
    pub fn patience(pace: f64) -> f64 {
        pace.max(PACE_MIN)
    }

    /// Whether the participants are another process.
    pub fn is_served_elsewhere(&self) -> bool {
        self.served == Served::Elsewhere
    }

    /// Removes everything that is on its way, for a shop that begins again.
    ///
    /// # Errors
    /// When the server does not do it.
    pub async fn forget(&self) -> anyhow::Result<()> {
        let there = self.connection.jetstream();
        for stream in self.streams()? {
            if there.get_stream(&stream.name).await.is_ok() {
                there.delete_stream(&stream.name).await.context("failed to remove a stream")?;
            }
        }
        Ok(())
    }

    fn streams(&self) -> anyhow::Result<Vec<StreamSettings>> {
        let mut all = streams(&self.prefix)?.to_vec();
        all.push(StreamSettings::new(self.incoming_stream(), [format!("{}.incoming.>", self.prefix)]));
        Ok(all)
    }

    fn incoming_stream(&self) -> String {
        format!("{}_INCOMING", self.prefix.to_ascii_uppercase())
    }

    /// Declares the streams. What is there and differs is reported in the log, and stays.
    ///
    /// # Errors
    /// When one cannot be used.
    pub async fn declare(&self) -> anyhow::Result<()> {
        for stream in self.streams()? {
            self.connection.declare_stream(&stream, true).await?;
        }
        Ok(())
    }

    /// Serves the participants from this process.
    ///
    /// # Errors
    /// When their consumers cannot be declared.
    pub async fn serve(&mut self, participants: &Participants) -> anyhow::Result<()> {
        for service in ports::SERVICES {
            let settings = ParticipantSettings {
                prefix: self.prefix.clone(),
                ack_wait: left::ack_wait(self.pace),
                ..ParticipantSettings::new(service)
            };
            let handler = served::Service::new(service, participants.all(), participants.clone());
            let participant = Participant::start(self.connection.clone(), settings, handler).await?;
            self.participants.push(participant);
        }
        Ok(())
    }

    /// Waits until all participants answer.
    ///
    /// # Errors
    /// When one does not, for ten seconds.
    pub async fn find_participants(&self, database: &str) -> Result<(), Unusable> {
        let clock = SystemClock::new();
        let until = clock.now() + PATIENCE;
        for service in ports::SERVICES {
            // Whoever is there answers, if only that this is no query.
            let subject = format!("{}.query.{service}.hello", self.prefix);
            while self.connection.client().request(subject.clone(), "".into()).await.is_err() {
                if clock.now() >= until {
                    let what = format!("nobody serves {service} as {} on {}", self.prefix, self.url);
                    let then = format!(
                        "start the participants with --nats {} --database {} --serve-participants, or leave out \
                         --participants elsewhere",
                        self.url,
                        crate::place::shown(database),
                    );
                    return Err(Unusable::new(what, then));
                }
                clock.sleep_until(clock.now() + LOOK_EVERY).await;
            }
        }
        Ok(())
    }

    /// The participants as workflows see them that write to them.
    ///
    /// # Errors
    /// When the prefix is no word of a subject.
    pub fn ports(&self, called: &Ports) -> anyhow::Result<Ports> {
        let commands = Commands::new(self.connection.clone(), &self.prefix, ENGINE)?;
        Ok(ports::written_to(&commands, called, left::window(self.pace)))
    }

    /// Has the engine's commands leave.
    ///
    /// # Errors
    /// When the prefix is no word of a subject.
    pub fn publishing(&self, engine: EngineBuilder) -> anyhow::Result<EngineBuilder> {
        let publisher = NatsPublisher::new(self.connection.clone(), &self.prefix)?;
        Ok(engine.publisher_of(OutboxKind::Command, Arc::new(publisher)))
    }

    /// Begins to take replies, and to start sagas.
    ///
    /// # Errors
    /// When a stream or a consumer cannot be used.
    pub async fn begin(&mut self, engine: &Engine, workflows: &Workflows) -> anyhow::Result<()> {
        let prefix = self.prefix.clone();
        let settings = ReplySettings { prefix, ack_wait: left::WORK, ..ReplySettings::new(ENGINE) };
        let replies = Replies::take(engine.clone(), self.connection.clone(), settings).await?;
        let (stream, prefix) = (self.incoming_stream(), &self.prefix);
        let on = |workflow: &str| Trigger::on(&stream, format!("{prefix}.incoming.{workflow}"));
        let triggers = Triggers::on(&self.connection, engine)
            .with(incoming::orders(on("order"), &workflows.order))
            .with(incoming::payments(on("payment"), &workflows.payment))
            .with(incoming::refunds(on("refund"), &workflows.refund));
        self.running = Some(Running { triggers: triggers.start().await?, replies });
        Ok(())
    }

    /// The way of lines into the shop.
    pub fn incoming(&self, source: &str) -> Incoming {
        Incoming::new(self.connection.clone(), &self.prefix, source)
    }

    /// Brings nothing more to the engine; it is to be shut down after this.
    pub async fn end(&mut self) {
        if let Some(Running { triggers, replies }) = self.running.take() {
            triggers.stop(GRACE).await;
            replies.stop().await;
        }
    }

    /// Ends what serves, when what it works on is done.
    pub async fn close(self) {
        for participant in self.participants {
            participant.stop().await;
        }
    }
}
