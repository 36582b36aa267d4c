//! What a payment is.

use amends::prelude::Payload;
use serde::{Deserialize, Serialize};

use crate::money::Money;
use crate::names::{CardToken, CustomerId, PaymentId};
use crate::ports::Purchase;

/// A customer wants to pay: the input of the payment saga.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "Unchecked", into = "Unchecked")]
pub struct PaymentRequested {
    payment: PaymentId,
    customer: CustomerId,
    card: CardToken,
    amount: Money,
    paperless: bool,
}

impl Payload for PaymentRequested {
    const SCHEMA: &'static str = "payment-requested/1";
}

/// Why something is no payment.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InvalidPayment {
    /// Nothing is to be paid.
    #[error("the amount {0} is not positive")]
    NotPositive(Money),
}

impl PaymentRequested {
    /// A payment with a receipt on paper. Checks the amount.
    ///
    /// # Errors
    /// When nothing is to be paid.
    pub fn new(
        payment: PaymentId,
        customer: CustomerId,
        card: CardToken,
        amount: Money,
    ) -> Result<Self, InvalidPayment> {
        if !amount.is_positive() {
            return Err(InvalidPayment::NotPositive(amount));
        }
        Ok(Self { payment, customer, card, amount, paperless: false })
    }

    /// The same, with a message for a receipt.
    #[must_use]
    pub fn paperless(self) -> Self {
        Self { paperless: true, ..self }
    }

    /// What the shop calls it.
    #[must_use]
    pub fn payment(&self) -> &PaymentId {
        &self.payment
    }

    /// Who pays.
    #[must_use]
    pub fn customer(&self) -> &CustomerId {
        &self.customer
    }

    /// With which card.
    #[must_use]
    pub fn card(&self) -> &CardToken {
        &self.card
    }

    /// How much.
    #[must_use]
    pub fn amount(&self) -> Money {
        self.amount
    }

    /// Is a message receipt enough?
    #[must_use]
    pub fn is_paperless(&self) -> bool {
        self.paperless
    }

    /// The same, as the checks ask about it.
    #[must_use]
    pub fn purchase(&self) -> Purchase {
        Purchase { customer: self.customer.clone(), card: self.card.clone(), amount: self.amount }
    }
}

/// A payment as it is written down.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a payment, an object")]
struct Unchecked {
    payment: PaymentId,
    customer: CustomerId,
    card: CardToken,
    amount: Money,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    paperless: bool,
}

impl TryFrom<Unchecked> for PaymentRequested {
    type Error = InvalidPayment;

    fn try_from(written: Unchecked) -> Result<Self, InvalidPayment> {
        let Unchecked { payment, customer, card, amount, paperless } = written;
        Ok(Self { paperless, ..Self::new(payment, customer, card, amount)? })
    }
}

impl From<PaymentRequested> for Unchecked {
    fn from(payment: PaymentRequested) -> Self {
        let PaymentRequested { payment, customer, card, amount, paperless } = payment;
        Self { payment, customer, card, amount, paperless }
    }
}
