//! How an engine stands, in one word and its reasons.

use std::fmt;

use amends_core::SagaId;

use super::{Engine, OutboxTrouble, StopReason};
use crate::ports::{Damaged, Fault, OutboxKind, SagaFilter};
use crate::visible::visible;

/// The most sagas that [`Trouble::SetAside`] names.
const NAMED_MAX: u32 = 100;

/// How an engine stands: for a health endpoint, and for whoever is called at night.
///
/// Its text is one line, safe to print. What waits for a person on a desk is no trouble of the engine: [`Engine::desk`]
/// lists it. Sagas whose definition no node has are told by [`Engine::orphans`], which takes longer.
#[derive(Clone, Debug)]
pub enum Health {
    /// Everything moves.
    Well,
    /// It runs, and something does not move: at least one trouble. To start it again mends none of them.
    Degraded(Vec<Trouble>),
    /// It runs no more.
    Stopped(StopReason),
}

/// What does not move while an engine runs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trouble {
    /// The store does not answer. Everything waits until it does, and nothing else is known.
    Store(Fault),
    /// For half a lease no heartbeat of this node has reached the store: it commits and sends nothing until one does.
    NoHeartbeat,
    /// Sagas that cannot be read, or whose next transition no store takes. A person looks after them, all others go on.
    SetAside {
        /// Which and why, the oldest first; at most 100.
        sagas: Vec<(SagaId, String)>,
        /// There may be more than these.
        more: bool,
    },
    /// Messages of one kind are not published at present, by this node.
    Unpublished(OutboxTrouble),
    /// Messages that the broker refused, each for itself: [`Engine::outbox`] lists them.
    Refused {
        /// Their kind.
        kind: OutboxKind,
        /// How many.
        messages: u64,
    },
}

impl Health {
    /// `well`, `degraded` or `stopped`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Well => "well",
            Self::Degraded(_) => "degraded",
            Self::Stopped(_) => "stopped",
        }
    }
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())?;
        match self {
            Self::Well => Ok(()),
            Self::Stopped(reason) => write!(f, ": {}", visible(&reason.to_string())),
            Self::Degraded(troubles) => {
                for (n, trouble) in troubles.iter().enumerate() {
                    write!(f, "{} {trouble}", if n == 0 { ":" } else { ";" })?;
                }
                Ok(())
            }
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(fault) => f.write_str(&visible(&fault.to_string())),
            Self::NoHeartbeat => f.write_str("no heartbeat has reached the store for half a lease"),
            Self::SetAside { sagas, more } => {
                let (least, are) = if *more { ("at least ", "are") } else { ("", are(sagas.len() as u64)) };
                write!(f, "{least}{} set aside", counted(sagas.len() as u64, "saga", are))?;
                match sagas.first() {
                    Some((saga, reason)) => write!(f, ", first {saga}: {}", visible(reason)),
                    None => Ok(()),
                }
            }
            Self::Unpublished(OutboxTrouble { kind, error, .. }) => {
                write!(f, "{}s are not published: {}", kind.word(), visible(error))
            }
            Self::Refused { kind, messages } => {
                write!(f, "{} refused", counted(*messages, kind.word(), are(*messages)))
            }
        }
    }
}

fn are(count: u64) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

fn counted(count: u64, what: &str, are: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {what}{s} {are}")
}

impl Engine {
    /// How it stands now. Costs two small reads of the store; while the store is silent it takes as long as a read may.
    pub async fn health(&self) -> Health {
        if let Some(reason) = self.stopped() {
            return Health::Stopped(reason.clone());
        }
        let mut troubles = Vec::new();
        if !self.0.lease.holds() {
            troubles.push(Trouble::NoHeartbeat);
        }
        if let Err(fault) = self.look(&mut troubles).await {
            troubles.push(Trouble::Store(fault));
        }
        match (self.stopped(), troubles.is_empty()) {
            (Some(reason), _) => Health::Stopped(reason.clone()),
            (None, true) => Health::Well,
            (None, false) => Health::Degraded(troubles),
        }
    }

    async fn look(&self, troubles: &mut Vec<Trouble>) -> Result<(), Fault> {
        let aside = SagaFilter { set_aside: true, limit: NAMED_MAX, ..SagaFilter::default() };
        let page = self.query().list(&aside).await?;
        let read = page.rows.iter().map(|row| (row.id, row.set_aside.clone().unwrap_or_default()));
        let damaged = page.damaged.iter().map(|Damaged { saga, reason }| (*saga, reason.clone()));
        let mut sagas: Vec<_> = read.chain(damaged).collect();
        if !sagas.is_empty() {
            sagas.sort_unstable();
            troubles.push(Trouble::SetAside { sagas, more: page.next.is_some() });
        }
        let outbox = self.outbox().await?;
        troubles.extend(outbox.troubles.into_iter().map(Trouble::Unpublished));
        let refused = outbox.counts.iter().filter(|count| count.refused > 0);
        troubles.extend(refused.map(|count| Trouble::Refused { kind: count.kind, messages: count.refused }));
        Ok(())
    }
}
