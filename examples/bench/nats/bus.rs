//! The server between engine and participant, and the participant's process.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use amends_nats::{Connection, NatsSettings, StreamSettings, streams};
use amends_nats_testkit::Server;
use anyhow::{Context as _, bail};
use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::DeleteStreamErrorKind;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use super::participant::Keeps;
use super::workload::{PREFIX, STREAM, SUBJECT};
use crate::process;

/// A nats-server: one of our own, or one that is there.
pub enum Bus {
    Own(Server),
    There(String),
}

impl Bus {
    pub fn open(url: Option<String>) -> Self {
        url.map_or_else(|| Self::Own(Server::start()), Self::There)
    }

    pub fn url(&self) -> String {
        match self {
            Self::Own(server) => server.url(),
            Self::There(url) => url.clone(),
        }
    }

    /// CPU time of the server, if it is one of our own.
    pub fn cpu(&self) -> Option<Duration> {
        match self {
            Self::Own(server) => process::cpu_of(&server.process()?.to_string()),
            Self::There(_) => None,
        }
    }

    /// A connection with fresh streams, as an installation has them.
    pub async fn connect(&self) -> anyhow::Result<Connection> {
        let connection = Connection::open(NatsSettings::new(self.url())).await?;
        for settings in every_stream()? {
            remove(&connection, &settings.name).await?;
            connection.declare_stream(&settings, true).await?;
        }
        Ok(connection)
    }

    /// Leaves nothing behind on somebody else's server.
    pub async fn clean_up(self) -> anyhow::Result<()> {
        let connection = Connection::open(NatsSettings::new(self.url())).await?;
        for settings in every_stream()? {
            remove(&connection, &settings.name).await?;
        }
        Ok(())
    }
}

fn every_stream() -> anyhow::Result<Vec<StreamSettings>> {
    let mut all = streams(PREFIX)?.to_vec();
    all.push(StreamSettings::new(STREAM, [SUBJECT]));
    Ok(all)
}

async fn remove(connection: &Connection, stream: &str) -> anyhow::Result<()> {
    match connection.jetstream().delete_stream(stream).await {
        Ok(_) => Ok(()),
        Err(error) => match error.kind() {
            DeleteStreamErrorKind::JetStream(of) if of.error_code() == ErrorCode::STREAM_NOT_FOUND => Ok(()),
            _ => bail!("failed to remove the stream {stream}: {error}"),
        },
    }
}

/// The participant's process. It ends with this value.
pub struct Taking(Child);

impl Taking {
    pub async fn start(url: &str, keeps: Keeps, folder: &Path) -> anyhow::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["--nats", url, "--take-part", keeps.name(), "--dir"]).arg(folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().context("start the participant")?;
        let output = child.stdout.take().context("the participant has an output")?;
        let ready = BufReader::new(output).lines().next_line().await?;
        if ready.as_deref() != Some("ready") {
            bail!("the participant did not begin: {:?}", child.wait().await);
        }
        Ok(Self(child))
    }

    pub fn cpu(&self) -> Option<Duration> {
        process::cpu_of(&self.0.id()?.to_string())
    }

    /// Has it end in order.
    pub async fn stop(mut self) -> anyhow::Result<()> {
        drop(self.0.stdin.take());
        let ended = self.0.wait().await?;
        if !ended.success() {
            bail!("the participant failed: {ended}");
        }
        Ok(())
    }
}
