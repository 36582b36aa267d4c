//! What a refund is.

use amends::prelude::Payload;
use serde::{Deserialize, Serialize};

use crate::money::{Money, MoneyError};
use crate::names::{CaptureId, CustomerId, OrderId, RefundId, Sku};
use crate::ports::{Sale, StockLine};

/// A customer gets money back: the input of the refund saga.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a refund, an object")]
pub struct RefundRequested {
    /// What the shop calls it.
    pub refund: RefundId,
    /// The order it is about.
    pub order: OrderId,
    /// Who gets it.
    pub customer: CustomerId,
    /// How much.
    pub amount: Money,
    /// The goods that came back, if any did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub returned: Vec<StockLine>,
}

impl Payload for RefundRequested {
    const SCHEMA: &'static str = "refund-requested/1";
}

/// What may be given back.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Refundable {
    /// Of the money that was taken here.
    pub capture: CaptureId,
    /// How much.
    pub amount: Money,
}

impl Payload for Refundable {
    const SCHEMA: &'static str = "refundable/1";
}

/// Why nothing is given back.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotRefundable {
    /// Nothing is asked for.
    NotPositive {
        /// What is asked for.
        asked: Money,
    },
    /// More is asked for than is left of what was paid.
    MoreThanPaid {
        /// What is asked for.
        asked: Money,
        /// What is left.
        left: Money,
    },
    /// The amounts are of two currencies, or do not fit.
    NoSum {
        /// What is wrong with them.
        problem: String,
    },
    /// More came back than was sent.
    NeverSent {
        /// Of what.
        sku: Sku,
    },
}

impl Payload for NotRefundable {
    const SCHEMA: &'static str = "not-refundable/1";
}

impl From<MoneyError> for NotRefundable {
    fn from(error: MoneyError) -> Self {
        Self::NoSum { problem: error.to_string() }
    }
}

/// Whether what is asked for may be given back.
///
/// # Errors
/// When it may not.
pub fn refundable(request: &RefundRequested, sale: &Sale) -> Result<Refundable, NotRefundable> {
    let asked = request.amount;
    if !asked.is_positive() {
        return Err(NotRefundable::NotPositive { asked });
    }
    let left = sale.captured.minus(sale.refunded)?;
    if left.minus(asked)?.minor() < 0 {
        return Err(NotRefundable::MoreThanPaid { asked, left });
    }
    for line in &request.returned {
        let count = |lines: &[StockLine]| -> u64 {
            lines.iter().filter(|other| other.sku == line.sku).map(|other| u64::from(other.quantity)).sum()
        };
        if count(&request.returned) > count(&sale.sent) {
            return Err(NotRefundable::NeverSent { sku: line.sku.clone() });
        }
    }
    Ok(Refundable { capture: sale.capture.clone(), amount: asked })
}
