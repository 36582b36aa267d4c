//! The breaker: a dependency that fails is left alone for a while, and then tried with a few calls.

use amends_core::Timestamp;
use amends_core::event::{Failure, FailureKind, Finding};
use amends_core::machine::Attempted;

use super::super::invoke::NOT_SENT;
use super::window::Window;
use crate::authoring;

/// What the end of a call says about the dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::worker) enum Health {
    /// It answered, whatever it said.
    Answered,
    /// It failed, or nobody knows.
    Failed,
}

impl Health {
    /// Transient and unknown are failures, structured kinds and never texts; everything else is an answer.
    pub(in crate::worker) fn of_attempt(answer: &Attempted) -> Option<Self> {
        Some(match answer {
            Attempted::Transient(_) | Attempted::Unknown(_) => Self::Failed,
            Attempted::Succeeded(_)
            | Attempted::Refused(_)
            | Attempted::Persistent(_)
            | Attempted::Accepted { .. }
            | Attempted::Partial(_)
            | Attempted::Fenced { .. }
            | Attempted::Mismatch(_)
            | Attempted::Stale { .. } => Self::Answered,
        })
    }

    /// As [`Self::of_attempt`]; none, if this node was not allowed to send it.
    pub(in crate::worker) fn of_query(answer: &Result<Finding, Failure>) -> Option<Self> {
        match answer {
            Err(failure) if failure.rule == NOT_SENT => None,
            Err(Failure { kind: FailureKind::Transient | FailureKind::Unknown, .. }) => Some(Self::Failed),
            Ok(_) | Err(_) => Some(Self::Answered),
        }
    }
}

/// A call that is let through by a half-open breaker: the number of the trial that it belongs to.
pub(super) type Probe = u32;

/// What became of the breaker by the end of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Nothing is sent until then.
    Opened(Timestamp),
    /// All is as before.
    Closed,
}

/// The breaker of one dependency.
#[derive(Debug)]
pub(super) struct Breaker {
    limits: authoring::Breaker,
    calls: Window,
    failures: Window,
    state: State,
    /// Each time it becomes half open is a trial; answers of an earlier one say nothing about this one.
    trial: u32,
}

#[derive(Debug)]
enum State {
    Closed,
    Open { until: Timestamp },
    HalfOpen { under_way: u32, answered: u32 },
}

/// Why nothing goes through, and until when; none: until a probe is answered.
pub(super) type Until = Option<Timestamp>;

impl Breaker {
    pub(super) fn new(limits: authoring::Breaker) -> Self {
        let (calls, failures) = (Window::new(limits.window), Window::new(limits.window));
        Self { limits, calls, failures, state: State::Closed, trial: 0 }
    }

    /// Would it be the same if it were made anew?
    pub(super) fn is_at_rest(&self, now: Timestamp) -> bool {
        matches!(self.state, State::Closed) && self.calls.sum(now) == 0 && self.failures.sum(now) == 0
    }

    /// May a call begin?
    pub(super) fn may_begin(&self, now: Timestamp) -> Result<(), Until> {
        match self.state {
            State::Closed => Ok(()),
            State::Open { until } if until > now => Err(Some(until)),
            State::Open { .. } => Ok(()),
            State::HalfOpen { under_way, answered } if under_way + answered < self.limits.probes => Ok(()),
            State::HalfOpen { .. } => Err(None),
        }
    }

    /// A call begins, perhaps as a probe.
    pub(super) fn begin(&mut self) -> Option<Probe> {
        if matches!(self.state, State::Open { .. }) {
            self.trial = self.trial.wrapping_add(1);
            self.state = State::HalfOpen { under_way: 0, answered: 0 };
        }
        match &mut self.state {
            State::HalfOpen { under_way, .. } => {
                *under_way += 1;
                Some(self.trial)
            }
            State::Closed | State::Open { .. } => None,
        }
    }

    /// A call has ended; without health, nobody will ever know how.
    pub(super) fn end(
        &mut self,
        probe: Option<Probe>,
        health: Option<Health>,
        now: Timestamp,
    ) -> Option<Change> {
        match (&mut self.state, health) {
            (State::Closed, Some(health)) => {
                self.calls.add(1, now);
                self.failures.add(u64::from(health == Health::Failed), now);
                let (calls, failures) = (self.calls.sum(now), self.failures.sum(now));
                let enough = calls >= u64::from(self.limits.calls_min);
                let many = failures * 100 >= calls * u64::from(self.limits.failures_percent);
                (enough && many).then(|| self.open(now))
            }
            (State::HalfOpen { under_way, answered }, health) if probe == Some(self.trial) => {
                *under_way = under_way.saturating_sub(1);
                match health {
                    None => None,
                    Some(Health::Failed) => Some(self.open(now)),
                    Some(Health::Answered) => {
                        *answered += 1;
                        (*answered >= self.limits.probes).then(|| self.close())
                    }
                }
            }
            // It was sent before the breaker opened, or belongs to an earlier trial.
            _ => None,
        }
    }

    fn open(&mut self, now: Timestamp) -> Change {
        let until = now + self.limits.open_for;
        self.state = State::Open { until };
        Change::Opened(until)
    }

    fn close(&mut self) -> Change {
        self.state = State::Closed;
        self.calls.clear();
        self.failures.clear();
        Change::Closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(1_000_000 + seconds * 1_000)
    }

    fn breaker(probes: u32) -> Breaker {
        Breaker::new(authoring::Breaker { calls_min: 4, probes, ..authoring::Breaker::default() })
    }

    fn call(breaker: &mut Breaker, health: Health, now: Timestamp) -> Option<Change> {
        let probe = breaker.begin();
        breaker.end(probe, Some(health), now)
    }

    /// Four failures at zero open it for five seconds.
    fn opened(probes: u32) -> Breaker {
        let mut breaker = breaker(probes);
        (0..3).for_each(|_| assert_eq!(call(&mut breaker, Health::Failed, at(0)), None));
        assert_eq!(call(&mut breaker, Health::Failed, at(0)), Some(Change::Opened(at(5))));
        breaker
    }

    #[test]
    fn half_of_enough_calls_open_it_and_fewer_do_not() {
        let mut breaker = breaker(1);
        for health in [Health::Answered, Health::Answered, Health::Failed] {
            assert_eq!(call(&mut breaker, health, at(0)), None);
        }
        assert_eq!(call(&mut breaker, Health::Failed, at(1)), Some(Change::Opened(at(6))));
        assert_eq!(breaker.may_begin(at(5)), Err(Some(at(6))));
        assert_eq!(breaker.may_begin(at(6)), Ok(()));
    }

    #[test]
    fn failures_that_are_long_past_do_not_count() {
        let mut breaker = breaker(1);
        (0..3).for_each(|_| assert_eq!(call(&mut breaker, Health::Failed, at(0)), None));
        assert_eq!(call(&mut breaker, Health::Failed, at(20)), None);
    }

    #[test]
    fn so_many_probes_go_through_and_all_must_be_answered() {
        let mut breaker = opened(2);
        let probes = [breaker.begin(), breaker.begin()];
        assert!(probes.iter().all(Option::is_some));
        assert_eq!(breaker.may_begin(at(6)), Err(None));
        assert_eq!(breaker.end(probes[0], Some(Health::Answered), at(6)), None);
        assert_eq!(breaker.may_begin(at(6)), Err(None), "an answered probe makes no room for a third");
        assert_eq!(breaker.end(probes[1], Some(Health::Answered), at(7)), Some(Change::Closed));
        assert_eq!(call(&mut breaker, Health::Failed, at(7)), None, "it has forgotten what was");
    }

    #[test]
    fn one_failed_probe_opens_it_again_and_its_late_sibling_says_nothing() {
        let mut breaker = opened(2);
        let probes = [breaker.begin(), breaker.begin()];
        assert_eq!(breaker.end(probes[0], Some(Health::Failed), at(6)), Some(Change::Opened(at(11))));
        assert_eq!(breaker.end(probes[1], Some(Health::Answered), at(7)), None);
        let next = breaker.begin();
        assert_eq!(breaker.end(probes[1], Some(Health::Failed), at(12)), None, "of an earlier trial");
        assert_eq!(breaker.end(next, Some(Health::Answered), at(12)), None, "one of two");
    }

    #[test]
    fn a_probe_that_nobody_will_ever_answer_makes_room_for_another() {
        let mut breaker = opened(1);
        let probe = breaker.begin();
        assert_eq!(breaker.end(probe, None, at(6)), None);
        assert_eq!(breaker.may_begin(at(6)), Ok(()));
    }
}
