//! Taking sagas up: claim, load, replay. A loop, not a start-up step; the same for a process that died, a
//! saga that slept, and one that a person asks about.
//!
//! It runs beside the worker, one request at a time, and hands over sagas that are ready to go on. One that
//! cannot be read (a hole in its journal, an undecodable row, a fact that no machine of its plan can have
//! written, a panic while folding it) is set aside visibly, and all others go on.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use amends_core::{Incarnation, JournalEvent, SagaId, SagaPlan, SagaState, Transition, replay};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use super::committer::Backoff;
use super::definitions::{Definitions, Registered};
use super::input::{LookedUp, News, Recovered};
use super::invoke::panic_text;
use super::lease::Lease;
use super::mail::MAIL_READ_MAX;
use super::rows::Shown;
use crate::ports::{
    Claim, Clock, DefinitionRef, Fault, JournalRow, Loaded, Mail, NodeStore, SagaMail, SagaRow, SagaStore,
};
use crate::visible::visible;

/// The most sagas in one page of a sweep.
const SWEPT_AT_ONCE: u32 = 1_000;

/// What the worker asks for.
pub(super) enum Errand {
    /// Take sagas that are due, at most so many, and read the mail of those that are ours.
    Claim { limit: u32 },
    /// Take this one, due or not; if it has ended, only for its `mail`.
    LookUp { saga: SagaId, mail: bool },
    /// Read the mail of this one, which is ours.
    ReadMail(SagaId),
    /// Set this one aside.
    SetAside { saga: SagaId, reason: String },
    /// List what this incarnation owns, a page after this one.
    Sweep { after: Option<SagaId> },
    /// Load these, which this incarnation owned when it listed them.
    Reclaim(Vec<SagaId>),
}

/// Everything that recovery works with.
pub(super) struct Recovery {
    pub(super) store: Arc<dyn SagaStore>,
    pub(super) nodes: Arc<dyn NodeStore>,
    pub(super) lease: Arc<Lease>,
    pub(super) mail: Arc<dyn SagaMail>,
    pub(super) incarnation: Incarnation,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) definitions: Arc<Definitions>,
    pub(super) references: Arc<[DefinitionRef]>,
    pub(super) news: UnboundedSender<News>,
}

impl Recovery {
    /// Runs errands until the worker is gone.
    pub(super) async fn run(self, mut errands: UnboundedReceiver<Errand>) {
        while let Some(errand) = errands.recv().await {
            let report = match self.errand(errand).await {
                Ok(report) => report,
                Err(fault) => Some(News::Dismissed(fault)),
            };
            if let Some(report) = report
                && self.news.send(report).is_err()
            {
                return;
            }
        }
    }

    async fn errand(&self, errand: Errand) -> Result<Option<News>, Fault> {
        match errand {
            Errand::Claim { limit } => self.claim(limit).await.map(Some),
            Errand::ReadMail(saga) => Ok(Some(News::Mail(self.unread(Some(saga)).await?))),
            Errand::LookUp { saga, mail } => match self.look_at(saga, mail).await? {
                Ok(found) => Ok(Some(News::LookedUp { saga, found })),
                Err(reason) => self.set_aside(saga, reason).await,
            },
            Errand::SetAside { saga, reason } => self.set_aside(saga, reason).await,
            Errand::Sweep { after } => self.sweep(after).await.map(Some),
            Errand::Reclaim(sagas) => self.reclaim(&sagas).await.map(Some),
        }
    }

    /// Asks the store until it answers, as long as this node may act. Each call is repeated alone, so that
    /// what a claim took is not forgotten when the loading after it fails.
    async fn insist<T, F>(&self, call: impl Fn() -> F + Send + Sync) -> Result<T, Fault>
    where
        F: Future<Output = Result<T, Fault>> + Send,
    {
        let mut backoff = Backoff::default();
        loop {
            self.lease.held().await?;
            match call().await {
                Err(Fault::Unavailable(reason)) => {
                    if !backoff.is_on() {
                        tracing::warn!(%reason, "the store does not answer; recovery waits for it");
                    }
                    backoff.wait(&*self.clock).await;
                }
                answer => return answer,
            }
        }
    }

    /// Each saga, or the reason why it cannot be loaded; those that do not exist are left out. A store reads
    /// many rows in one call, which fails as a whole when one of them is damaged: then each is loaded alone.
    async fn load(&self, sagas: &[SagaId]) -> Result<Vec<(SagaId, Result<Loaded, String>)>, Fault> {
        match self.insist(|| self.store.load(sagas)).await {
            Err(Fault::Corrupt(_)) => {}
            loaded => return Ok(loaded?.into_iter().map(|loaded| (loaded.row.id, Ok(loaded))).collect()),
        }
        let mut each = Vec::with_capacity(sagas.len());
        for saga in sagas {
            let loaded = self.load_one(*saga).await?.transpose();
            each.extend(loaded.map(|loaded| (*saga, loaded)));
        }
        Ok(each)
    }

    /// The inner error is the reason why it cannot be loaded.
    async fn load_one(&self, saga: SagaId) -> Result<Result<Option<Loaded>, String>, Fault> {
        let only = [saga];
        match self.insist(|| self.store.load(&only)).await {
            Err(Fault::Corrupt(reason)) => Ok(Err(reason)),
            loaded => Ok(Ok(loaded?.pop())),
        }
    }

    async fn take(&self, limit: u32, only: Option<SagaId>) -> Result<Vec<SagaId>, Fault> {
        let (claim, asked) = (self.question(limit, only), AtomicU32::new(0));
        let taken = self.insist(|| {
            asked.fetch_add(1, Ordering::Relaxed);
            self.store.claim(&claim)
        });
        let taken = taken.await?;
        if asked.into_inner() > 1 {
            // An answer that was lost may have taken sagas: they are ours, and nobody here knows of them.
            let _ = self.news.send(News::SweepDue);
        }
        Ok(taken)
    }

    /// Unread mail of sagas that are ours. What cannot be read is left unread, and said.
    async fn unread(&self, only: Option<SagaId>) -> Result<Vec<Mail>, Fault> {
        match self.insist(|| self.mail.unread(self.incarnation, only, MAIL_READ_MAX)).await {
            Err(Fault::Corrupt(reason)) => {
                tracing::error!(reason = %visible(&reason), "mail cannot be read");
                Ok(Vec::new())
            }
            unread => unread,
        }
    }

    /// Sets a saga aside, which is news. One that somebody else holds just now is no news: it stays ours and out of
    /// memory, so the next sweep finds it, and it comes to the same end.
    async fn set_aside(&self, saga: SagaId, reason: String) -> Result<Option<News>, Fault> {
        let now = self.clock.now();
        if self.insist(|| self.store.set_aside(self.incarnation, saga, &reason, now)).await? {
            return Ok(Some(News::SetAside { saga, reason }));
        }
        tracing::warn!(
            %saga,
            reason = %visible(&reason),
            "the saga is to be set aside, and somebody else holds its row; it is tried again within minutes"
        );
        Ok(None)
    }

    async fn claim(&self, limit: u32) -> Result<News, Fault> {
        let ids = if limit == 0 { Vec::new() } else { self.take(limit, None).await? };
        let more = limit > 0 && ids.len() >= limit as usize;
        let sagas = self.recover_all(&ids, |_| true).await?;
        Ok(News::Claimed { sagas, mail: self.unread(None).await?, more })
    }

    async fn sweep(&self, after: Option<SagaId>) -> Result<News, Fault> {
        let sagas = self.insist(|| self.nodes.mine(self.incarnation, after, SWEPT_AT_ONCE)).await?;
        let next = sagas.last().copied().filter(|_| sagas.len() >= SWEPT_AT_ONCE as usize);
        Ok(News::Owned { sagas, next })
    }

    /// What was given up meanwhile is left alone.
    async fn reclaim(&self, sagas: &[SagaId]) -> Result<News, Fault> {
        let mine = |row: &SagaRow| row.owner == Some(self.incarnation);
        Ok(News::Reclaimed { sagas: self.recover_all(sagas, mine).await? })
    }

    /// Loads sagas and replays their journals; what cannot be read is set aside.
    async fn recover_all(
        &self,
        ids: &[SagaId],
        wanted: impl Fn(&SagaRow) -> bool + Send,
    ) -> Result<Vec<Recovered>, Fault> {
        let mut loaded = if ids.is_empty() { Vec::new() } else { self.load(ids).await? };
        loaded.retain(|(_, loaded)| loaded.as_ref().map_or(true, |loaded| wanted(&loaded.row)));
        loaded.sort_by_key(|(saga, _)| *saga);
        let mut sagas = Vec::with_capacity(loaded.len());
        for (saga, loaded) in loaded {
            match loaded.and_then(|loaded| self.recover(loaded)) {
                Ok(recovered) => sagas.push(recovered),
                Err(reason) => {
                    tracing::error!(%saga, reason = %visible(&reason), "the saga cannot be read and is set aside");
                    if let Some(news) = self.set_aside(saga, reason).await? {
                        let _ = self.news.send(news);
                    }
                }
            }
        }
        Ok(sagas)
    }

    fn question(&self, limit: u32, only: Option<SagaId>) -> Claim {
        Claim {
            incarnation: self.incarnation,
            now: self.clock.now(),
            limit,
            definitions: self.references.clone(),
            only,
        }
    }

    /// The inner error is the reason why the saga cannot be read, or was set aside before.
    async fn look_at(&self, saga: SagaId, mail: bool) -> Result<Result<LookedUp, String>, Fault> {
        let mut loaded = match self.load_one(saga).await? {
            Ok(Some(loaded)) => loaded,
            Ok(None) => return Ok(Ok(LookedUp::NotHere)),
            Err(reason) => return Ok(Err(reason)),
        };
        if let Some(reason) = loaded.row.set_aside {
            return Ok(Err(reason));
        }
        if loaded.row.phase == "purged" {
            return Ok(Ok(LookedUp::NotHere));
        }
        let mine = |loaded: &Loaded| loaded.row.owner == Some(self.incarnation);
        let over = loaded.row.ended_at.is_some() && !mail;
        if !over && !mine(&loaded) {
            self.take(1, Some(saga)).await?;
            match self.load_one(saga).await? {
                Ok(Some(again)) if mine(&again) => loaded = again,
                Ok(_) => return Ok(Ok(LookedUp::NotHere)),
                Err(reason) => return Ok(Err(reason)),
            }
        }
        if self.definitions.find(&loaded.row.definition).is_none() {
            return Ok(Ok(LookedUp::NotHere));
        }
        let mine = mine(&loaded);
        let recovered = match self.recover(loaded) {
            Ok(recovered) => recovered,
            Err(reason) => return Ok(Err(reason)),
        };
        if mine {
            let mail = self.unread(Some(saga)).await?;
            return Ok(Ok(LookedUp::Mine(Box::new(recovered), mail)));
        }
        Ok(Ok(LookedUp::Ended(Box::new(recovered.state))))
    }

    fn recover(&self, loaded: Loaded) -> Result<Recovered, String> {
        let definition = self
            .definitions
            .find(&loaded.row.definition)
            .ok_or_else(|| "no definition of its shape is registered".to_owned())?
            .clone();
        catch_unwind(AssertUnwindSafe(|| recover(definition, &loaded.journal)))
            .map_err(|panic| format!("reading its journal panicked: {}", panic_text(&*panic)))?
    }
}

fn recover(definition: Arc<Registered>, journal: &[JournalRow]) -> Result<Recovered, String> {
    let (state, transitions) = fold(&definition.plan, journal)?;
    let seq = transitions.last().map_or(0, |transition| transition.seq);
    let events = transitions.iter().flat_map(|transition| &transition.events);
    let shown = Shown::after(&definition.plan, &state, events);
    Ok(Recovered { definition, state, seq, shown })
}

/// Reads rows and folds them. The error is a reason for people.
pub(crate) fn fold(plan: &SagaPlan, journal: &[JournalRow]) -> Result<(SagaState, Vec<Transition>), String> {
    let transitions = journal.iter().map(read).collect::<Result<Vec<Transition>, String>>()?;
    let state = replay(plan, &transitions).map_err(|corrupt| corrupt.to_string())?;
    Ok((state, transitions))
}

fn read(row: &JournalRow) -> Result<Transition, String> {
    let events: Vec<JournalEvent> = serde_json::from_str(&row.events)
        .map_err(|error| format!("read the journal at sequence {}: {error}", row.seq))?;
    Ok(Transition { seq: row.seq, at: row.at, actor: row.actor.to_string(), id: row.transition, events })
}
