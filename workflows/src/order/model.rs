//! What an order is.

use amends::prelude::Payload;
use serde::{Deserialize, Serialize};

use crate::money::{Money, MoneyError};
use crate::names::{CardToken, CustomerId, OrderId, Sku};
use crate::ports::StockLine;

/// An order came in: the input of the order saga.
///
/// Whoever holds one knows that it can be worked on: there is at least one line, no line is empty, all prices
/// are of one currency, and the total is what the customer saw. [`OrderPlaced::new`] and deserialising check
/// that, nothing else makes one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "Unchecked", into = "Unchecked")]
pub struct OrderPlaced {
    order: OrderId,
    customer: CustomerId,
    card: CardToken,
    address: String,
    lines: Vec<OrderLine>,
    total: Money,
}

impl Payload for OrderPlaced {
    const SCHEMA: &'static str = "order-placed/1";
}

/// So many of one thing, at a price.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a line of an order, an object")]
pub struct OrderLine {
    /// The thing.
    pub sku: Sku,
    /// How many.
    pub quantity: u32,
    /// The price of one.
    pub price: Money,
}

/// Who orders, and how it is paid and sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Buyer {
    /// Who.
    pub customer: CustomerId,
    /// The card it is paid with.
    pub card: CardToken,
    /// Where it is sent.
    pub address: String,
}

/// Why something is no order.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InvalidOrder {
    /// Nothing is ordered.
    #[error("the order has no lines")]
    NoLines,
    /// A line orders none of it.
    #[error("the quantity of `{0}` is zero")]
    NoQuantity(Sku),
    /// Something is free, or worse.
    #[error("the price of `{0}` is not positive")]
    NoPrice(Sku),
    /// The same thing stands in two lines, so that neither says how many are wanted.
    #[error("`{0}` stands in two lines")]
    Twice(Sku),
    /// The lines have no sum.
    #[error("the lines have no sum: {0}")]
    NoSum(#[from] MoneyError),
    /// The customer saw another total.
    #[error("the total is {stated}, but the lines come to {computed}")]
    OtherTotal {
        /// What the order says.
        stated: Money,
        /// What its lines say.
        computed: Money,
    },
}

impl OrderPlaced {
    /// Checks the lines and adds them up.
    ///
    /// # Errors
    /// When that is no order.
    pub fn new(order: OrderId, buyer: Buyer, lines: Vec<OrderLine>) -> Result<Self, InvalidOrder> {
        let total = total(&lines)?;
        let Buyer { customer, card, address } = buyer;
        Ok(Self { order, customer, card, address, lines, total })
    }

    /// What the shop calls it.
    #[must_use]
    pub fn order(&self) -> &OrderId {
        &self.order
    }

    /// Who ordered.
    #[must_use]
    pub fn customer(&self) -> &CustomerId {
        &self.customer
    }

    /// The card it is paid with.
    #[must_use]
    pub fn card(&self) -> &CardToken {
        &self.card
    }

    /// Where it is sent.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// What is ordered.
    #[must_use]
    pub fn lines(&self) -> &[OrderLine] {
        &self.lines
    }

    /// What is ordered, without prices.
    #[must_use]
    pub fn stock_lines(&self) -> Vec<StockLine> {
        let goods = |line: &OrderLine| StockLine { sku: line.sku.clone(), quantity: line.quantity };
        self.lines.iter().map(goods).collect()
    }

    /// What it costs.
    #[must_use]
    pub fn total(&self) -> Money {
        self.total
    }
}

fn total(lines: &[OrderLine]) -> Result<Money, InvalidOrder> {
    let first = lines.first().ok_or(InvalidOrder::NoLines)?;
    let mut total = Money::zero(first.price.currency());
    for (index, line) in lines.iter().enumerate() {
        if line.quantity == 0 {
            return Err(InvalidOrder::NoQuantity(line.sku.clone()));
        }
        if !line.price.is_positive() {
            return Err(InvalidOrder::NoPrice(line.sku.clone()));
        }
        if lines[..index].iter().any(|earlier| earlier.sku == line.sku) {
            return Err(InvalidOrder::Twice(line.sku.clone()));
        }
        total = total.plus(line.price.times(line.quantity)?)?;
    }
    Ok(total)
}

/// An order as it is written down.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an order, an object")]
struct Unchecked {
    order: OrderId,
    customer: CustomerId,
    card: CardToken,
    address: String,
    lines: Vec<OrderLine>,
    total: Money,
}

impl TryFrom<Unchecked> for OrderPlaced {
    type Error = InvalidOrder;

    fn try_from(written: Unchecked) -> Result<Self, InvalidOrder> {
        let Unchecked { order, customer, card, address, lines, total: stated } = written;
        let checked = Self::new(order, Buyer { customer, card, address }, lines)?;
        if checked.total != stated {
            return Err(InvalidOrder::OtherTotal { stated, computed: checked.total });
        }
        Ok(checked)
    }
}

impl From<OrderPlaced> for Unchecked {
    fn from(order: OrderPlaced) -> Self {
        let OrderPlaced { order, customer, card, address, lines, total } = order;
        Self { order, customer, card, address, lines, total }
    }
}
