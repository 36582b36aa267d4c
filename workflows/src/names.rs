//! A newtype for every name, so that an order can never be taken for a card.
//!
//! Names end up in logs, on terminals and in the file names of others, so one that comes from outside holds no
//! control character: an escape sequence in a key is an attack and never a name.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

macro_rules! text_name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl $name {
            /// The name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        /// Refuses a name with a control character.
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let name = String::deserialize(deserializer)?;
                match first_control(&name) {
                    None => Ok(Self(name)),
                    Some(reason) => Err(D::Error::custom(reason)),
                }
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

/// Why this is no name, if it is none.
fn first_control(name: &str) -> Option<String> {
    let control = name.chars().find(|c| c.is_control())?;
    Some(format!("a name holds the control character U+{:04X}", u32::from(control)))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_escape_sequence_in_a_name_is_refused_and_any_letter_is_not() {
        let read = |text: &str| serde_json::from_str::<OrderId>(text).map_err(|error| error.to_string());
        let refused = read("\"O-\\u001b[2J\"").unwrap_err();
        assert!(refused.starts_with("a name holds the control character U+001B"), "{refused}");
        for control in ["\\n", "\\r", "\\t", "\\u0000", "\\u007f", "\\u009b"] {
            assert!(read(&format!("\"O-1{control}\"")).is_err(), "{control}");
        }
        assert_eq!(read("\"Tee-Süß 17/茶\"").unwrap(), OrderId::from("Tee-Süß 17/茶"));
    }
}
