//! Long after the end: what is over is purged, and what is left of it is forgotten, and starts and replies come again.

use std::time::Duration;

use fastrand::Rng;

use super::super::checkers::Step;
use super::super::messages::Noted;
use super::{LOOK_EVERY, Playing, RESTARTED_AFTER, schedule};
use crate::simulation::nodes::{FORGOTTEN_AFTER, PURGED_AFTER};
use crate::simulation::schedule::Act;
use crate::simulation::summary::Violation;
use crate::simulation::trouble::Trouble;

/// Beyond the time at which something may go: how long until every node has seen to it.
const SEEN_TO_WITHIN: Duration = Duration::from_secs(300);

impl Playing {
    /// Nothing, where nothing is purged.
    pub(super) fn afterlife(&mut self) -> Result<(), Violation> {
        if self.setup.rate(Trouble::Purge).is_none() {
            return Ok(());
        }
        self.sleep_for(PURGED_AFTER, "what is over is purged")?;
        self.come_again(&mut self.setup.chance("late", 0))?;
        self.sleep_for(FORGOTTEN_AFTER, "and perhaps forgotten")?;
        self.come_again(&mut self.setup.chance("late", 1))
    }

    /// Nobody runs for so long; then nodes come, and see to what has become old.
    fn sleep_for(&mut self, long: Duration, then: &str) -> Result<(), Violation> {
        (0..self.setup.nodes as usize).for_each(|place| self.nodes.kill(place));
        self.due.clear();
        let until = self.nodes.now() + long + SEEN_TO_WITHIN;
        self.look_at = until;
        self.play_until(until)?;
        self.history.say(until, format_args!("nodes come again; {then}"));
        for place in 0..self.setup.nodes as usize {
            self.plan(until, Act::Join { place });
        }
        self.play_until(until + SEEN_TO_WITHIN)
    }

    /// Starts come once more, the same and others, by calls and by events; and so do replies.
    fn come_again(&mut self, chance: &mut Rng) -> Result<(), Violation> {
        let now = self.nodes.now();
        for saga in 0..self.setup.sagas {
            let input = schedule::input(&self.setup, saga);
            let at = now + Duration::from_millis(chance.u64(0..30_000));
            let (input, place) =
                (input + u32::from(chance.f64() < 0.3), chance.usize(0..self.setup.nodes as usize));
            let by_event = self.source.is_some() && chance.bool();
            let act = if by_event { Act::Event { saga, input } } else { Act::Start { saga, input, place } };
            self.plan(at, act);
            if chance.bool() {
                self.plan(at, Act::Reply { saga, draw: chance.u32(..), place });
                let key = schedule::name(saga).1;
                self.show(&Step::Message(&Noted::Lied { key }))?;
            }
        }
        // Whoever was paused may have something to do again.
        self.unpause_everything(now + Duration::from_secs(35));
        self.play_until(now + Duration::from_secs(60) + RESTARTED_AFTER + LOOK_EVERY)?;
        self.settle()
    }
}
