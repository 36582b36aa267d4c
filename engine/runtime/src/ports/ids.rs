//! Identity, injected. The engine draws no other ids.

use std::sync::{Mutex, PoisonError};

use amends_core::Timestamp;
use uuid::Uuid;

/// Where the engine's ids come from: sagas, transitions and incarnations.
pub trait Ids: Send + Sync + 'static {
    /// The next id: a UUIDv7 of about `now`, after every id this source has given before.
    fn next(&self, now: Timestamp) -> Uuid;
}

/// UUIDv7s whose random part comes from one generator, in the order they are drawn.
///
/// Ids of one millisecond count up (RFC 9562, §6.2, method 1), so that id order is start order and the
/// store's indexes stay append-only.
#[derive(Debug)]
pub struct RandomIds(Mutex<Source>);

#[derive(Debug)]
struct Source {
    rng: fastrand::Rng,
    ms: u64,
    counter: u16,
}

/// The counter has the twelve bits of the field `rand_a`.
const COUNTER_MAX: u16 = 0x0fff;

impl RandomIds {
    /// For production: seeded by the operating system.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that draws identity from outside")]
    pub fn from_system() -> Self {
        let (high, low) = Uuid::now_v7().as_u64_pair();
        Self::seeded(high.rotate_left(32) ^ low)
    }

    /// For simulations: the same seed and the same questions give the same ids.
    pub fn seeded(seed: u64) -> Self {
        Self(Mutex::new(Source { rng: fastrand::Rng::with_seed(seed), ms: 0, counter: 0 }))
    }
}

impl Ids for RandomIds {
    fn next(&self, now: Timestamp) -> Uuid {
        let mut source = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let ms = u64::try_from(now.0 / 1_000).unwrap_or(0);
        if ms > source.ms {
            (source.ms, source.counter) = (ms, 0);
        } else if source.counter == COUNTER_MAX {
            (source.ms, source.counter) = (source.ms + 1, 0);
        } else {
            source.counter += 1;
        }
        let mut tail = [0; 10];
        tail[..2].copy_from_slice(&source.counter.to_be_bytes());
        tail[2..].copy_from_slice(&source.rng.u64(..).to_be_bytes());
        uuid::Builder::from_unix_timestamp_millis(source.ms, &tail).into_uuid()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_version_7_and_in_the_order_they_were_drawn() {
        let ids = RandomIds::seeded(7);
        let at = Timestamp::from_millis(1_796_055_120_000);
        let drawn: Vec<Uuid> = (0..10_000).map(|_| ids.next(at)).collect();
        assert!(drawn.windows(2).all(|pair| pair[0] < pair[1]), "more than a counter's worth, all in order");
        assert!(
            drawn.iter().all(|id| id.get_version_num() == 7 && id.get_variant() == uuid::Variant::RFC4122)
        );
    }

    #[test]
    fn one_seed_gives_one_sequence() {
        let draw = |seed| RandomIds::seeded(seed).next(Timestamp(5));
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }
}
