//! Who may buy. Both answers follow from the question alone, so they are the same at every repeat.

use amends::prelude::Contract;
use amends_workflows::Money;
use amends_workflows::ports::{
    Allowance, Answer, Call, CallError, LimitExceeded, Purchase, Risk, Score, Suspected,
};
use async_trait::async_trait;
use sea_orm::DatabaseConnection;

use super::service::{Question, Service};

/// What a customer may pay at once, in minor units of any currency.
const LIMIT: i64 = 100_000;
/// The same for customers whose name begins with `vip-`.
const LIMIT_VIP: i64 = 1_000_000;

#[async_trait]
impl Risk for Service {
    fn contract(&self) -> Contract {
        Contract { dependency: Some("risk-engine".into()), ..Contract::default() }
    }

    async fn fraud(&self, call: &Call, purchase: &Purchase) -> Answer<Score, Suspected> {
        self.question(call, Fraud(purchase.clone())).await
    }

    async fn limit(&self, call: &Call, purchase: &Purchase) -> Answer<Allowance, LimitExceeded> {
        self.question(call, Limit(purchase.clone())).await
    }
}

struct Fraud(Purchase);

impl Question for Fraud {
    const CALL: &'static str = "check-fraud";
    type Output = Score;
    type Refusal = Suspected;

    /// As the gateway's test cards do, a card that begins with `tok-fraud` says so itself.
    async fn ask(&self, _: &DatabaseConnection) -> Answer<Score, Suspected> {
        if self.0.card.as_str().starts_with("tok-fraud") {
            return Err(CallError::Refused(Suspected { rule: "card-on-watch-list".to_owned(), score: 97 }));
        }
        let score = self.0.card.as_str().bytes().fold(0_u32, |sum, byte| (sum + u32::from(byte)) % 40);
        Ok(Score { score })
    }

    fn planned_refusal(&self) -> Suspected {
        Suspected { rule: "too-many-cards".to_owned(), score: 88 }
    }
}

struct Limit(Purchase);

impl Question for Limit {
    const CALL: &'static str = "check-limit";
    type Output = Allowance;
    type Refusal = LimitExceeded;

    async fn ask(&self, _: &DatabaseConnection) -> Answer<Allowance, LimitExceeded> {
        let asked = self.0.amount;
        let is_vip = self.0.customer.as_str().starts_with("vip-");
        let limit = Money::from_minor(if is_vip { LIMIT_VIP } else { LIMIT }, asked.currency());
        if asked.minor() > limit.minor() {
            return Err(CallError::Refused(LimitExceeded { limit, asked }));
        }
        Ok(Allowance { limit })
    }

    fn planned_refusal(&self) -> LimitExceeded {
        LimitExceeded { limit: Money::zero(self.0.amount.currency()), asked: self.0.amount }
    }
}
