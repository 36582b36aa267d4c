//! Stores and participants that are broken on purpose, each caught by the checker of the invariant that it breaks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use amends::engine::LaneShares;
use amends::memory::MemoryStore;
use amends::ports::{
    Access, Claim, Commit, CompensationRow, ControlOrder, ControlRow, ControlStore, DeskFilter, DeskGroup,
    DeskPage, DeskQuery, Fault, Forward, Introduced, ItemChange, LetGo, Loaded, Mail, NodeProfile,
    NodeRegistry, NodeRow, NodeStore, OpenSagas, Ordered, OutboxKind, OutboxMessage, OutboxPlace,
    OutboxStanding, OutboxStore, Peer, Posted, PurgeStore, SagaFilter, SagaMail, SagaPage, SagaQuery,
    SagaRow, SagaStore, Sharing, Store, StoreCounts, StoredMail, StoredOrder, Verdict, WorkItemRow,
    kept_outcome,
};
use amends_core::{Incarnation, SagaId, Timestamp};
use amends_testkit::simulation::{Bearing, Failure, Setup, Simulation, Trouble};
use async_trait::async_trait;

use super::LATER;

/// What is broken about a store.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Broken {
    /// It hands sagas out that are owned, and says yes to a second transition at a sequence that is taken.
    TwoAtOneSequence,
    /// It takes what a dismissed incarnation writes.
    NoFence,
    /// It forgets every desk entry that comes.
    ForgetsItems,
    /// It takes a second saga for a key that is taken.
    TwoOfOneKey,
    /// It forgets when a saga that was given up is due.
    ForgetsTimes,
    /// It gives nobody anything to claim.
    ClaimsNothing,
    /// It dates rows back, by an hour, from the third on.
    DatesBack,
    /// It gives nobody the mail of sagas that have not ended to read.
    HidesMail,
    /// It tells nobody what people have set for all.
    HidesControls,
    /// It keeps another answer than was given to a person.
    ChangesAnswers,
    /// It purges what has ended at once.
    PurgesAtOnce,
    /// It purges what waits for a person.
    PurgesWhatWaits,
    /// It forgets the keys of what it has purged at once.
    ForgetsKeys,
    /// It keeps why a saga that it has purged ended, and not how.
    KeepsNoPhase,
}

struct BrokenStore {
    inner: MemoryStore,
    broken: Broken,
    /// Has it done wrong?
    did: Arc<AtomicBool>,
}

impl BrokenStore {
    fn wrong<T>(&self, answer: T) -> T {
        self.did.store(true, Ordering::Relaxed);
        answer
    }

    fn change(&self, mut commit: Commit) -> Commit {
        match self.broken {
            Broken::ForgetsItems if commit.items.iter().any(|item| matches!(item, ItemChange::Put(_))) => {
                commit.items.retain(|item| !matches!(item, ItemChange::Put(_)));
                self.wrong(commit)
            }
            Broken::TwoOfOneKey => {
                if let Some(start) = &mut commit.start {
                    start.key = format!("{}#{}", start.key, commit.saga).into();
                }
                commit
            }
            Broken::ForgetsTimes => {
                let release = commit.change.as_mut().and_then(|change| change.release.as_mut());
                let forgotten = release.and_then(|release| release.wake_at.take());
                if forgotten.is_some() { self.wrong(commit) } else { commit }
            }
            Broken::ChangesAnswers => {
                for mail in commit.mail.iter_mut().filter(|mail| mail.answer == "\"accepted\"") {
                    mail.answer = self.wrong("\"already\"".to_owned());
                }
                commit
            }
            Broken::DatesBack if commit.journal.seq > 2 => {
                commit.journal.at = Timestamp(commit.journal.at.0 - 3_600_000_000);
                self.wrong(commit)
            }
            _ => commit,
        }
    }

    /// A row as it is told.
    fn tell(&self, mut row: SagaRow) -> SagaRow {
        let is_purged = row.phase == "purged";
        match self.broken {
            Broken::KeepsNoPhase if is_purged => {
                let outcome = row.outcome.take().unwrap_or_default();
                row.outcome = outcome.split_once(": ").map(|(_, reason)| reason.to_owned());
                self.wrong(row)
            }
            Broken::PurgesWhatWaits
                if row.ended_at.is_none() && row.owner.is_none() && row.wake_at.is_none() =>
            {
                row.outcome = Some(kept_outcome(&row.phase, row.outcome.as_deref()));
                row.phase = "purged".to_owned();
                self.wrong(row)
            }
            _ => row,
        }
    }
}

#[async_trait]
impl SagaStore for BrokenStore {
    async fn join(&self, incarnation: Incarnation, node: &str, now: Timestamp) -> Result<(), Fault> {
        self.inner.join(incarnation, node, now).await
    }

    fn writers(&self) -> usize {
        self.inner.writers()
    }

    async fn commit(&self, incarnation: Incarnation, batch: &[Commit]) -> Result<Vec<Verdict>, Fault> {
        let batch: Vec<Commit> = batch.iter().cloned().map(|commit| self.change(commit)).collect();
        let verdicts = match self.inner.commit(incarnation, &batch).await {
            Err(Fault::Fenced) if self.broken == Broken::NoFence => {
                return Ok(self.wrong(vec![Verdict::Accepted; batch.len()]));
            }
            verdicts => verdicts?,
        };
        let taken = |verdict| match verdict {
            Verdict::Occupied { .. } if self.broken == Broken::TwoAtOneSequence => {
                self.wrong(Verdict::Accepted)
            }
            verdict => verdict,
        };
        Ok(verdicts.into_iter().map(taken).collect())
    }

    async fn claim(&self, claim: &Claim) -> Result<Vec<SagaId>, Fault> {
        if self.broken == Broken::ClaimsNothing {
            return Ok(self.wrong(Vec::new()));
        }
        let mut taken = self.inner.claim(claim).await?;
        if self.broken == Broken::TwoAtOneSequence {
            let all = self.inner.list(&SagaFilter { limit: 1_000, ..SagaFilter::default() }).await?;
            let owned = |row: &&SagaRow| row.owner.is_some_and(|owner| owner != claim.incarnation);
            taken.extend(all.iter().filter(owned).map(|row| row.id).take(1));
        }
        Ok(taken)
    }

    async fn load(&self, sagas: &[SagaId]) -> Result<Vec<Loaded>, Fault> {
        self.inner.load(sagas).await
    }

    async fn set_aside(
        &self,
        incarnation: Incarnation,
        saga: SagaId,
        reason: &str,
        now: Timestamp,
    ) -> Result<bool, Fault> {
        self.inner.set_aside(incarnation, saga, reason, now).await
    }

    async fn leave(&self, incarnation: Incarnation, now: Timestamp) -> Result<(), Fault> {
        self.inner.leave(incarnation, now).await
    }
}

/// Of the ports that it does not change, nothing is written out.
#[async_trait]
impl Forward for BrokenStore {
    fn behind(&self) -> &dyn Store {
        &self.inner
    }

    async fn on_the_way(&self, call: &'static str, _access: Access) -> Result<(), Fault> {
        let gone = match (self.broken, call) {
            (Broken::PurgesAtOnce, "purge") => {
                self.inner.purge(Timestamp::MAX, Timestamp::MAX, u32::MAX).await?
            }
            // The next that it is asked for.
            (Broken::ForgetsKeys, "purge_intake") => self.inner.forget(Timestamp::MAX, u32::MAX).await?,
            _ => 0,
        };
        self.did.fetch_or(gone > 0, Ordering::Relaxed);
        Ok(())
    }
}

#[async_trait]
impl NodeStore for BrokenStore {
    fn sharing(&self) -> Sharing {
        self.inner.sharing()
    }

    async fn beat(&self, incarnation: Incarnation, within: Duration) -> Result<u64, Fault> {
        match self.inner.beat(incarnation, within).await {
            Err(Fault::Fenced) if self.broken == Broken::NoFence => Ok(0),
            beat => beat,
        }
    }

    async fn peers(&self) -> Result<Vec<Peer>, Fault> {
        self.inner.peers().await
    }

    async fn dismiss(&self, incarnation: Incarnation, seen: u64, now: Timestamp) -> Result<bool, Fault> {
        self.inner.dismiss(incarnation, seen, now).await
    }

    async fn release_orphans(&self, now: Timestamp, limit: u32) -> Result<u32, Fault> {
        self.inner.release_orphans(now, limit).await
    }

    async fn mend_clock(&self, now: Timestamp, tolerance: Duration, limit: u32) -> Result<u32, Fault> {
        self.inner.mend_clock(now, tolerance, limit).await
    }

    async fn mine(
        &self,
        incarnation: Incarnation,
        after: Option<SagaId>,
        limit: u32,
    ) -> Result<Vec<SagaId>, Fault> {
        self.inner.mine(incarnation, after, limit).await
    }
}

#[async_trait]
impl NodeRegistry for BrokenStore {
    async fn introduce(&self, incarnation: Incarnation, profile: &NodeProfile) -> Result<Introduced, Fault> {
        self.inner.introduce(incarnation, profile).await
    }

    async fn joined(&self, incarnation: Incarnation) -> Result<bool, Fault> {
        self.inner.joined(incarnation).await
    }

    async fn live_nodes(&self) -> Result<Vec<NodeRow>, Fault> {
        self.inner.live_nodes().await
    }

    async fn open_sagas(&self) -> Result<Vec<OpenSagas>, Fault> {
        self.inner.open_sagas().await
    }
}

#[async_trait]
impl SagaQuery for BrokenStore {
    async fn find(&self, workflow: &str, key: &str) -> Result<Option<SagaRow>, Fault> {
        self.inner.find(workflow, key).await
    }

    async fn read(&self, saga: SagaId) -> Result<Option<Loaded>, Fault> {
        self.inner.read(saga).await
    }

    async fn list(&self, filter: &SagaFilter) -> Result<SagaPage, Fault> {
        let page = self.inner.list(filter).await?;
        Ok(SagaPage { rows: page.rows.into_iter().map(|row| self.tell(row)).collect(), ..page })
    }

    async fn desk(&self, limit: u32) -> Result<Vec<(SagaId, WorkItemRow)>, Fault> {
        self.inner.desk(limit).await
    }

    async fn compensations(&self, saga: SagaId) -> Result<Vec<CompensationRow>, Fault> {
        self.inner.compensations(saga).await
    }

    async fn counts(&self) -> Result<StoreCounts, Fault> {
        self.inner.counts().await
    }
}

#[async_trait]
impl DeskQuery for BrokenStore {
    async fn desk_page(&self, filter: &DeskFilter) -> Result<DeskPage, Fault> {
        self.inner.desk_page(filter).await
    }

    async fn desk_groups(&self, filter: &DeskFilter) -> Result<Vec<DeskGroup>, Fault> {
        self.inner.desk_groups(filter).await
    }
}

#[async_trait]
impl SagaMail for BrokenStore {
    async fn post(&self, mail: &Mail, open_max: u32) -> Result<Posted, Fault> {
        self.inner.post(mail, open_max).await
    }

    async fn unread(
        &self,
        incarnation: Incarnation,
        only: Option<SagaId>,
        limit: u32,
    ) -> Result<Vec<Mail>, Fault> {
        let mut unread = self.inner.unread(incarnation, only, limit).await?;
        if self.broken == Broken::HidesMail {
            let open = self.inner.list(&SagaFilter { limit: 1_000, ..SagaFilter::default() }).await?;
            let open = |saga| open.iter().any(|row| row.id == saga && row.ended_at.is_none());
            let hidden = unread.extract_if(.., |mail| open(mail.saga)).count();
            self.did.fetch_or(hidden > 0, Ordering::Relaxed);
        }
        Ok(unread)
    }

    async fn mail(&self, saga: SagaId, key: &str) -> Result<Option<StoredMail>, Fault> {
        self.inner.mail(saga, key).await
    }

    async fn mail_of(&self, saga: SagaId, limit: u32) -> Result<Vec<StoredMail>, Fault> {
        self.inner.mail_of(saga, limit).await
    }
}

#[async_trait]
impl OutboxStore for BrokenStore {
    async fn claim_lanes(&self, incarnation: Incarnation) -> Result<Vec<u16>, Fault> {
        self.inner.claim_lanes(incarnation).await
    }

    async fn unpublished(
        &self,
        incarnation: Incarnation,
        kind: OutboxKind,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<OutboxMessage>, Fault> {
        self.inner.unpublished(incarnation, kind, now, limit).await
    }

    async fn remove_published(
        &self,
        incarnation: Incarnation,
        published: &[OutboxPlace],
    ) -> Result<u32, Fault> {
        self.inner.remove_published(incarnation, published).await
    }

    async fn note_refusal(
        &self,
        incarnation: Incarnation,
        refused: OutboxPlace,
        reason: &str,
        next_at: Timestamp,
    ) -> Result<(), Fault> {
        self.inner.note_refusal(incarnation, refused, reason, next_at).await
    }

    async fn let_go(&self, message: OutboxPlace, order: &ControlOrder) -> Result<LetGo, Fault> {
        self.inner.let_go(message, order).await
    }

    async fn outbox(&self, limit: u32) -> Result<OutboxStanding, Fault> {
        self.inner.outbox(limit).await
    }
}

#[async_trait]
impl ControlStore for BrokenStore {
    async fn order(&self, order: &ControlOrder) -> Result<Ordered, Fault> {
        self.inner.order(order).await
    }

    async fn ordered(&self, operation_id: &str) -> Result<Option<StoredOrder>, Fault> {
        self.inner.ordered(operation_id).await
    }

    async fn controls(&self) -> Result<Vec<ControlRow>, Fault> {
        let controls = self.inner.controls().await?;
        if self.broken == Broken::HidesControls && !controls.is_empty() {
            return Ok(self.wrong(Vec::new()));
        }
        Ok(controls)
    }
}

/// Plays seeds until one fails, which must not take many.
#[track_caller]
fn first_failure<T>(run: impl Fn(Setup) -> Result<T, Box<Failure>>) -> Box<Failure> {
    // Older than messages and purging, and without.
    let setup = |seed| Setup { minutes: 5, without: LATER.into(), ..Setup::seeded(seed) };
    let failure = (1..=40).find_map(|seed| run(setup(seed)).err());
    failure.expect("what is broken is caught within forty seeds")
}

/// Plays seeds in which sagas are purged, no messages come, and times can be compared, until one fails.
#[track_caller]
fn first_failure_of_purging<T>(run: impl Fn(Setup) -> Result<T, Box<Failure>>) -> Box<Failure> {
    let without = || [Trouble::Events, Trouble::Commands, Trouble::ClockSkew].into();
    let setups =
        (1..=40).map(|seed| Setup { minutes: 3, sagas: 16, without: without(), ..Setup::seeded(seed) });
    let mut purging = setups.filter(|setup| setup.troubles().contains(&Trouble::Purge));
    purging.find_map(|setup| run(setup).err()).expect("what is broken is caught within forty seeds")
}

/// A store that is broken so is caught by the checker of this invariant that says these words, once it has done wrong.
#[track_caller]
fn is_caught(broken: Broken, by: &str, words: &str) {
    let did = Arc::new(AtomicBool::new(broken == Broken::TwoOfOneKey));
    let run = |setup| {
        let store = BrokenStore { inner: MemoryStore::shared(), broken, did: did.clone() };
        Simulation::new(setup).on_store(Arc::new(store)).run()
    };
    let failure = match broken {
        Broken::PurgesAtOnce | Broken::PurgesWhatWaits | Broken::ForgetsKeys | Broken::KeepsNoPhase => {
            first_failure_of_purging(run)
        }
        _ => first_failure(run),
    };
    assert!(did.load(Ordering::Relaxed), "it did no wrong: {failure}");
    assert_eq!(failure.violation.invariant, by, "{failure}");
    assert!(failure.violation.reason.contains(words), "{failure}");
}

#[test]
fn a_store_that_dates_rows_back_is_caught() {
    is_caught(Broken::DatesBack, "I6", "is not what it was");
}

#[test]
fn a_store_that_tells_people_something_else_than_was_decided_is_caught() {
    is_caught(Broken::ChangesAnswers, "I6", "was told");
}

#[test]
fn a_store_that_hides_what_is_paused_is_caught() {
    is_caught(Broken::HidesControls, "I5", "is paused since");
}

#[test]
fn a_store_that_forgets_when_sagas_are_due_is_caught() {
    is_caught(Broken::ForgetsTimes, "I7", "nothing will move it");
}

#[test]
fn a_store_that_takes_two_transitions_at_one_sequence_is_caught() {
    is_caught(Broken::TwoAtOneSequence, "I8", "two transitions were taken");
}

#[test]
fn a_store_that_does_not_fence_is_caught() {
    is_caught(Broken::NoFence, "I8", "two transitions were taken");
}

#[test]
fn nodes_that_let_retries_go_first_are_caught() {
    let reason = crowded(|kept| kept.lanes = LaneShares { first: 1, retry: 1_000, ..kept.lanes });
    assert!(reason.contains("while first attempts waited"), "{reason}");
}

#[test]
fn nodes_that_keep_to_no_retry_budget_are_caught() {
    let reason = crowded(|kept| kept.dependencies.values_mut().for_each(|limits| limits.retry_budget = None));
    assert!(reason.contains("the budget allows"), "{reason}");
}

/// What is wrong with nodes that keep to this, where many sagas wait for dependencies that can bear little and fail.
#[track_caller]
fn crowded(other: fn(&mut Bearing)) -> String {
    let needed = [Trouble::Scarce, Trouble::Rush, Trouble::Transient];
    let has_all = |setup: &Setup| needed.iter().all(|trouble| setup.troubles().contains(trouble));
    let without = || Trouble::ALL.iter().copied().filter(|trouble| !needed.contains(trouble)).collect();
    let setups = (1..=400).map(|seed| Setup {
        sagas: 100,
        nodes: 1,
        minutes: 2,
        without: without(),
        ..Setup::seeded(seed)
    });
    let failure = setups
        .filter(has_all)
        .find_map(|setup| Simulation::new(setup).with_nodes_that_keep_to(other).run().err())
        .expect("what is broken is caught");
    assert_eq!(failure.violation.invariant, "I9", "{failure}");
    failure.violation.reason
}

#[test]
fn a_store_that_takes_a_key_twice_is_caught() {
    is_caught(Broken::TwoOfOneKey, "I10", "orders key-");
}

#[test]
fn participants_without_a_barrier_are_caught() {
    let failure = first_failure(|setup| Simulation::new(setup).without_barriers().run());
    assert_eq!(failure.violation.invariant, "I11", "{failure}");
    assert!(failure.timeline.is_some(), "the saga's story is told");
}

#[test]
fn participants_that_forget_when_they_die_are_caught() {
    let failure = first_failure(|setup| Simulation::new(setup).with_forgetful_participants().run());
    assert_eq!(failure.violation.invariant, "I11", "{failure}");
}

#[test]
fn a_store_that_hides_mail_is_caught() {
    is_caught(Broken::HidesMail, "I12", "was never read");
}

#[test]
fn a_store_that_gives_nobody_anything_to_claim_is_caught() {
    is_caught(Broken::ClaimsNothing, "I12", "have not settled");
}

#[test]
fn a_store_that_forgets_desk_entries_is_caught() {
    is_caught(Broken::ForgetsItems, "I13", "the desks of");
}

#[test]
fn a_store_that_purges_too_early_is_caught() {
    is_caught(Broken::PurgesAtOnce, "I6", "after its end");
}

#[test]
fn a_store_that_purges_what_waits_for_a_person_is_caught() {
    is_caught(Broken::PurgesWhatWaits, "I6", "not over");
}

#[test]
fn a_store_that_forgets_the_keys_of_what_it_has_purged_is_caught() {
    is_caught(Broken::ForgetsKeys, "I6", "was forgotten");
}

#[test]
fn a_store_that_keeps_no_word_of_how_it_ended_is_caught() {
    is_caught(Broken::KeepsNoPhase, "I6", "was purged as");
}
