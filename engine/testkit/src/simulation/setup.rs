//! What a simulation is made from: one seed and a few numbers.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use fastrand::Rng;

use super::trouble::Trouble;

/// How many of the kinds of faults a seed has, on average.
const SHARE_ON: f64 = 0.5;

/// What a simulation is made from. The same setup gives the same history, to the last byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// Where all chance comes from.
    pub seed: u64,
    /// Business keys that are started. Default 40.
    pub sagas: u32,
    /// Nodes that share the store; one that dies is replaced. Default 3.
    pub nodes: u32,
    /// How long starts and faults go on, in virtual minutes. Default 10.
    pub minutes: u32,
    /// Kinds of faults that are left out, whatever the seed says.
    pub without: BTreeSet<Trouble>,
    /// Starts and faults end so much earlier: for the shortest history that still fails.
    pub stop_at: Option<Duration>,
}

impl Setup {
    /// The setup of a seed, with the default numbers.
    pub fn seeded(seed: u64) -> Self {
        Self { seed, sagas: 40, nodes: 3, minutes: 10, without: BTreeSet::new(), stop_at: None }
    }

    /// When starts and faults end.
    pub fn length(&self) -> Duration {
        let all = Duration::from_secs(u64::from(self.minutes) * 60);
        self.stop_at.map_or(all, |stop| stop.min(all))
    }

    /// How often this kind of fault strikes, from 0 to 1: none if this seed does not have it.
    pub(super) fn rate(&self, trouble: Trouble) -> Option<f64> {
        let mut chance = self.chance("rate", trouble as u64);
        let on = chance.f64() < SHARE_ON && !self.without.contains(&trouble);
        let rate = chance.f64();
        on.then_some(rate.max(0.05))
    }

    /// The kinds of faults that this seed has.
    pub fn troubles(&self) -> Vec<Trouble> {
        Trouble::ALL.iter().copied().filter(|trouble| self.rate(*trouble).is_some()).collect()
    }

    /// The chance that decides one thing: independent of every other, so that leaving something out changes
    /// nothing else.
    pub(super) fn chance(&self, what: &str, which: u64) -> Rng {
        // FNV-1a over everything that names the decision.
        let bytes = self.seed.to_le_bytes().into_iter().chain(what.bytes()).chain(which.to_le_bytes());
        let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Rng::with_seed(hash)
    }
}

/// As the arguments of the `simulate` program.
impl fmt::Display for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, sagas, nodes, minutes, without, stop_at } = self;
        write!(f, "--seed {seed} --sagas {sagas} --nodes {nodes} --minutes {minutes}")?;
        if let Some(stop) = stop_at {
            write!(f, " --stop-at {}", stop.as_secs())?;
        }
        if !without.is_empty() {
            let words: Vec<&str> = without.iter().map(|trouble| trouble.word()).collect();
            write!(f, " --without {}", words.join(","))?;
        }
        Ok(())
    }
}

/// A random span between two, in milliseconds.
pub(super) fn span(chance: &mut Rng, from_ms: u64, to_ms: u64) -> Duration {
    Duration::from_millis(chance.u64(from_ms..=to_ms))
}
