//! Running until everything is settled.

use std::time::Duration;

use amends::SagaView;
use amends_core::agenda::{Task, Wait, agenda};

use super::World;

/// The longest a saga may take to settle: beyond every default budget, and far beyond every test's patience.
const SETTLED_WITHIN: Duration = Duration::from_secs(30 * 24 * 3_600);

/// The most commits that one run to the end may take.
const COMMITS_MAX: u64 = 100_000;

impl World {
    /// Runs until every saga has ended or waits for nothing but a person. Virtual time jumps to whatever is
    /// due next.
    ///
    /// # Panics
    /// When that is not so after thirty days of virtual time, or after a hundred thousand commits: with the
    /// timeline of every saga that has not settled. And when a saga was set aside, or nothing moves it and
    /// nobody was told.
    #[track_caller]
    pub fn run_until_settled(&mut self) {
        if let Err(unsettled) = self.try_run_until_settled() {
            panic!("{unsettled}");
        }
    }

    pub(crate) fn try_run_until_settled(&mut self) -> Result<(), String> {
        let until = self.now() + SETTLED_WITHIN;
        let commits_max = self.commits() + COMMITS_MAX;
        loop {
            self.look()?;
            if self.cancel_at.is_some_and(|n| n <= self.commits()) {
                self.cancel_at = None;
                self.cancel_everything();
                continue;
            }
            if self.sagas.values().all(|settled| *settled) {
                return Ok(());
            }
            if self.now() >= until || self.commits() >= commits_max {
                return Err(self.unsettled());
            }
            let (store, clock) = (self.store.clone(), self.clock());
            self.drive(|_| async move {
                tokio::select! {
                    biased;
                    () = store.changed() => {}
                    () = clock.sleep_until(until) => {}
                }
            });
        }
    }

    /// Looks at the sagas that have moved.
    fn look(&mut self) -> Result<(), String> {
        for saga in self.store.take_moved() {
            if !self.sagas.contains_key(&saga) {
                continue;
            }
            let view = self.view(saga);
            if let Some(reason) = &view.set_aside {
                return Err(format!("a saga was set aside: {reason}\n\n{}", view.timeline()));
            }
            let standing = standing(&view);
            if standing == Standing::Limbo {
                return Err(format!("a saga is in limbo: nothing moves it, ever\n\n{}", view.timeline()));
            }
            self.sagas.insert(saga, standing == Standing::Settled);
        }
        Ok(())
    }

    fn unsettled(&self) -> String {
        let open = self.sagas.iter().filter(|(_, settled)| !**settled);
        let timelines: Vec<String> = open.map(|(saga, _)| self.view(*saga).timeline()).collect();
        format!("{} sagas have not settled by {}:\n\n{}", timelines.len(), self.now(), timelines.join("\n"))
    }
}

/// What will happen to a saga by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Something is under way, or due at some time.
    Moving,
    /// Nothing: it has ended, or a person has to move it.
    Settled,
    /// Nothing, and nobody knows that it stands still.
    Limbo,
}

pub(crate) fn standing(view: &SagaView) -> Standing {
    let asked = agenda(view.plan(), view.state(), view.state().at);
    let under_way = |wait: &Wait| matches!(wait, Wait::Attempt { .. } | Wait::Querying { .. });
    let to_do = asked.tasks.iter().any(|task| !matches!(task, Task::Stop { .. }));
    if to_do || asked.wake.is_some() || asked.waits.iter().any(under_way) {
        return Standing::Moving; // Also after the end: a late compensation, a query about a discrepancy.
    }
    if view.phase.is_ended() {
        return Standing::Settled;
    }
    let waits_for_person = asked.waits.iter().any(|wait| matches!(wait, Wait::Person(_)));
    if waits_for_person { Standing::Settled } else { Standing::Limbo }
}
