//! A newtype for every name, so that an order can never be taken for a card.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! text_name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl $name {
            /// The name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(name: &str) -> Self {
                Self(name.to_owned())
            }
        }

        impl From<String> for $name {
            fn from(name: String) -> Self {
                Self(name)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_name! {
    /// What the shop calls an order, and the business key of its saga.
    OrderId
}
text_name! {
    /// What the shop calls a payment, and the business key of its saga.
    PaymentId
}
text_name! {
    /// What the shop calls a refund, and the business key of its saga.
    RefundId
}
text_name! {
    /// Who buys.
    CustomerId
}
text_name! {
    /// What is bought: one line of the catalogue.
    Sku
}
text_name! {
    /// Stands for a card. The number itself is the payment gateway's secret and never comes here.
    CardToken
}
text_name! {
    /// What the warehouse calls goods that it has set aside.
    ReservationId
}
text_name! {
    /// What the payment gateway calls money that it holds on a card.
    AuthorizationId
}
text_name! {
    /// What the payment gateway calls money that it has taken.
    CaptureId
}
text_name! {
    /// What the payment gateway calls money that it has given back.
    RefundReference
}
text_name! {
    /// What the carrier calls a parcel.
    TrackingNumber
}
text_name! {
    /// What the ledger calls an entry about money that has arrived.
    SettlementId
}
