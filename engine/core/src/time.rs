//! Points in time, as the journal keeps them. There is no `now()` here: time is always an argument.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A point in time: microseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// The last representable point, about the year 294 000: "never", in comparisons.
    pub const MAX: Self = Self(i64::MAX);

    /// From whole milliseconds since the epoch; saturates.
    pub fn from_millis(ms: i64) -> Self {
        Self(ms.saturating_mul(1_000))
    }

    /// How long after `earlier` this is; zero if it is not after it.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

/// Durations beyond what an `i64` of microseconds holds (292 000 years) saturate.
fn micros(d: Duration) -> i64 {
    i64::try_from(d.as_micros()).unwrap_or(i64::MAX)
}

impl Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, d: Duration) -> Self {
        Self(self.0.saturating_add(micros(d)))
    }
}

impl Sub<Duration> for Timestamp {
    type Output = Self;

    fn sub(self, d: Duration) -> Self {
        Self(self.0.saturating_sub(micros(d)))
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}us", self.0)
    }
}

/// RFC 3339 in UTC with milliseconds, e.g. `2026-11-30T16:12:00.250Z`.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.div_euclid(1_000_000);
        let millis = self.0.rem_euclid(1_000_000) / 1_000;
        let (days, of_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        let (y, m, d) = civil(days);
        let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
        write!(f, "{y:04}-{m:02}-{d:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
    }
}

/// Year, month and day of a count of days since 1970-01-01, in the proleptic Gregorian calendar.
///
/// Eras of 400 years (146 097 days) beginning on 1 March, so that the leap day is the last of its year.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_reads_as_rfc_3339() {
        let text = |us| Timestamp(us).to_string();
        assert_eq!(text(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(text(951_782_400_000_000), "2000-02-29T00:00:00.000Z");
        assert_eq!(text(1_796_055_120_250_999), "2026-11-30T16:12:00.250Z");
        assert_eq!(text(-1_000), "1969-12-31T23:59:59.999Z");
    }

    #[test]
    fn sums_saturate_instead_of_wrapping_into_the_past() {
        assert_eq!(Timestamp(5) + Duration::MAX, Timestamp::MAX);
        assert_eq!(Timestamp(5).since(Timestamp(9)), Duration::ZERO);
    }
}
