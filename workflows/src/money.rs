//! Money: whole minor units of one currency. Never a float, and never a sum over two currencies.

use std::fmt;

use amends::prelude::Payload;
use serde::{Deserialize, Serialize};

/// An amount of money, for instance `{"minor": 4200, "currency": "EUR"}` for 42 euros.
///
/// A negative amount is possible: it is what the other side of a movement has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an amount, an object")]
pub struct Money {
    minor: i64,
    currency: Currency,
}

impl Payload for Money {
    const SCHEMA: &'static str = "money/1";
}

/// The currencies that the shop takes. A new one is a new line here, with its number of decimals.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Currency {
    /// Euro, in cents.
    Eur,
    /// US dollar, in cents.
    Usd,
    /// Pound sterling, in pence.
    Gbp,
    /// Swiss franc, in centimes.
    Chf,
    /// Yen, which has no minor unit.
    Jpy,
}

/// Why two amounts have no sum. Either is a mistake in the data, never something to round away.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MoneyError {
    /// The amounts are of two currencies.
    #[error("{0} and {1} cannot be added")]
    TwoCurrencies(Currency, Currency),
    /// The result does not fit.
    #[error("the amount is too large")]
    TooLarge,
}

impl Money {
    /// So many minor units of `currency`: 4200 for 42 euros.
    #[must_use]
    pub const fn from_minor(minor: i64, currency: Currency) -> Self {
        Self { minor, currency }
    }

    /// Nothing, in `currency`.
    #[must_use]
    pub const fn zero(currency: Currency) -> Self {
        Self::from_minor(0, currency)
    }

    /// The number of minor units.
    #[must_use]
    pub const fn minor(self) -> i64 {
        self.minor
    }

    /// What they are units of.
    #[must_use]
    pub const fn currency(self) -> Currency {
        self.currency
    }

    /// Is there anything to pay?
    #[must_use]
    pub const fn is_positive(self) -> bool {
        self.minor > 0
    }

    /// The sum.
    ///
    /// # Errors
    /// When the currencies differ, or the sum does not fit.
    pub fn plus(self, other: Self) -> Result<Self, MoneyError> {
        self.combine(other, i64::checked_add)
    }

    /// The difference, which may be negative.
    ///
    /// # Errors
    /// When the currencies differ, or the difference does not fit.
    pub fn minus(self, other: Self) -> Result<Self, MoneyError> {
        self.combine(other, i64::checked_sub)
    }

    /// So many times this amount.
    ///
    /// # Errors
    /// When the product does not fit.
    pub fn times(self, count: u32) -> Result<Self, MoneyError> {
        let minor = self.minor.checked_mul(i64::from(count)).ok_or(MoneyError::TooLarge)?;
        Ok(Self { minor, ..self })
    }

    fn combine(self, other: Self, with: fn(i64, i64) -> Option<i64>) -> Result<Self, MoneyError> {
        if self.currency != other.currency {
            return Err(MoneyError::TwoCurrencies(self.currency, other.currency));
        }
        let minor = with(self.minor, other.minor).ok_or(MoneyError::TooLarge)?;
        Ok(Self { minor, ..self })
    }
}

impl Currency {
    /// The code of ISO 4217.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Eur => "EUR",
            Self::Usd => "USD",
            Self::Gbp => "GBP",
            Self::Chf => "CHF",
            Self::Jpy => "JPY",
        }
    }

    /// How many decimals an amount is written with.
    #[must_use]
    pub const fn decimals(self) -> u32 {
        match self {
            Self::Eur | Self::Usd | Self::Gbp | Self::Chf => 2,
            Self::Jpy => 0,
        }
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// As people write it: `42.00 EUR`, `-0.05 EUR`, `300 JPY`.
impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.minor < 0 { "-" } else { "" };
        let one = 10_u64.pow(self.currency.decimals());
        let (whole, rest) = (self.minor.unsigned_abs() / one, self.minor.unsigned_abs() % one);
        match self.currency.decimals() {
            0 => write!(f, "{sign}{whole} {}", self.currency),
            n => write!(f, "{sign}{whole}.{rest:0width$} {}", self.currency, width = n as usize),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn eur(minor: i64) -> Money {
        Money::from_minor(minor, Currency::Eur)
    }

    #[test]
    fn amounts_are_written_with_the_decimals_of_their_currency() {
        assert_eq!(eur(4_200).to_string(), "42.00 EUR");
        assert_eq!(eur(-5).to_string(), "-0.05 EUR");
        assert_eq!(Money::from_minor(300, Currency::Jpy).to_string(), "300 JPY");
        assert_eq!(eur(i64::MIN).to_string(), "-92233720368547758.08 EUR");
    }

    #[test]
    fn two_currencies_have_no_sum() {
        let dollar = Money::from_minor(100, Currency::Usd);
        assert_eq!(eur(1).plus(dollar), Err(MoneyError::TwoCurrencies(Currency::Eur, Currency::Usd)));
        assert_eq!(eur(7).minus(eur(9)), Ok(eur(-2)));
    }

    #[test]
    fn what_does_not_fit_is_an_error_and_never_wraps() {
        assert_eq!(eur(i64::MAX).plus(eur(1)), Err(MoneyError::TooLarge));
        assert_eq!(eur(i64::MIN).minus(eur(1)), Err(MoneyError::TooLarge));
        assert_eq!(eur(i64::MAX / 2 + 1).times(2), Err(MoneyError::TooLarge));
        assert_eq!(eur(3).times(4), Ok(eur(12)));
    }

    #[test]
    fn a_fraction_is_no_amount() {
        assert_eq!(serde_json::to_string(&eur(4_200)).unwrap(), r#"{"minor":4200,"currency":"EUR"}"#);
        assert!(serde_json::from_str::<Money>(r#"{"minor":42.0,"currency":"EUR"}"#).is_err());
        assert!(serde_json::from_str::<Money>(r#"{"minor":42,"currency":"XXX"}"#).is_err());
    }
}
