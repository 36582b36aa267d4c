//! What the fakes do.

use amends::core::Json;
use amends::prelude::{Contract, Finding, Never, UndoFinding};
use async_trait::async_trait;

use super::{Books, FakeShop, Taken};
use crate::money::{Currency, Money};
use crate::names::OrderId;
use crate::ports::*;

fn name(prefix: &str, call: &Call) -> String {
    format!("{prefix} of {}", call.business_key)
}

fn declined<T>(reason: DeclineReason) -> Answer<T, Declined> {
    Err(CallError::Refused(Declined { reason }))
}

fn bad<R>(what: &str) -> CallError<R> {
    Fault::new(code::BAD_REQUEST, what).into()
}

#[async_trait]
impl Inventory for FakeShop {
    fn contract(&self) -> Contract {
        Self::promises()
    }

    async fn reserve(&self, call: &Call, ask: &Reserve) -> Answer<Reservation, OutOfStock> {
        self.forward(call, ask, |books| {
            for StockLine { sku, quantity } in &ask.lines {
                let available = books.shelf.get(sku).copied().unwrap_or(0);
                if available < *quantity {
                    let (sku, wanted) = (sku.clone(), *quantity);
                    return Err(CallError::Refused(OutOfStock { sku, wanted, available }));
                }
            }
            let goods: Vec<_> = ask.lines.iter().map(|line| (line.sku.clone(), line.quantity)).collect();
            for (sku, pieces) in &goods {
                *books.shelf.get_mut(sku).unwrap() -= pieces;
            }
            let id = name("goods", call);
            books.reserved.insert(id.clone(), goods);
            Ok(Reservation { id: id.into() })
        })
    }

    async fn reservation(&self, call: &Call) -> Result<Finding<Reservation, OutOfStock>, Fault> {
        Ok(self.find(call))
    }

    async fn release(&self, call: &Call, _: &OrderId, expected: Option<&Goods>) -> UndoAnswer {
        let reservation = name("goods", call);
        let packed = self.books().packed.contains(&reservation);
        let state = if packed { GoodsState::Packed } else { GoodsState::Held };
        let found = Goods { reservation: reservation.into(), state };
        if expected.is_some_and(|expected| *expected != found) {
            return Err(UndoError::Stale { found: Json::encode(&found).unwrap() });
        }
        self.backward(call, |books| {
            for (sku, pieces) in books.reserved.remove(&name("goods", call)).unwrap() {
                *books.shelf.get_mut(&sku).unwrap() += pieces;
            }
        })
    }

    async fn released(&self, call: &Call) -> Result<UndoFinding, Fault> {
        Ok(self.find_undo(call))
    }

    async fn restock(&self, call: &Call, ask: &Restock) -> Answer<Restocked> {
        self.forward(call, ask, |books| {
            let mut pieces = 0;
            for StockLine { sku, quantity } in &ask.lines {
                let sent = books.sent.get_mut(ask.order.as_str()).ok_or_else(|| bad("nothing was sent"))?;
                let line = sent.iter_mut().find(|(other, _)| other == sku).unwrap();
                line.1 -= quantity;
                *books.shelf.get_mut(sku).unwrap() += quantity;
                pieces += quantity;
            }
            Ok(Restocked { pieces })
        })
    }

    async fn restocked(&self, call: &Call) -> Result<Finding<Restocked, Never>, Fault> {
        Ok(self.find(call))
    }
}

#[async_trait]
impl Payments for FakeShop {
    fn contract(&self) -> Contract {
        Self::promises()
    }

    async fn authorize(&self, call: &Call, ask: &Authorize) -> Answer<Authorization, Declined> {
        self.forward(call, ask, |books| {
            if ask.card.as_str() == "tok-empty" {
                return declined(DeclineReason::InsufficientFunds);
            }
            let id = name("money", call);
            books.held.insert(id.clone(), ask.amount.minor());
            Ok(Authorization { id: id.into(), amount: ask.amount })
        })
    }

    async fn authorization(&self, call: &Call) -> Result<Finding<Authorization, Declined>, Fault> {
        Ok(self.find(call))
    }

    async fn void(&self, call: &Call, _: &str) -> UndoAnswer {
        self.backward(call, |books| {
            books.held.remove(&name("money", call)).unwrap();
        })
    }

    async fn voided(&self, call: &Call) -> Result<UndoFinding, Fault> {
        Ok(self.find_undo(call))
    }

    async fn capture(&self, call: &Call, ask: &CaptureFunds) -> Answer<Capture, Declined> {
        self.forward(call, ask, |books| {
            let minor = ask.amount.minor();
            if books.held.get(ask.authorization.as_str()) != Some(&minor) {
                return declined(DeclineReason::NothingHeld);
            }
            books.held.remove(ask.authorization.as_str());
            let (id, reference) = (name("capture", call), call.business_key.to_string());
            books.paid += minor;
            books.taken.insert(id.clone(), Taken { reference, minor, refunded: 0 });
            Ok(Capture { id: id.into(), amount: ask.amount })
        })
    }

    async fn captured(&self, call: &Call) -> Result<Finding<Capture, Declined>, Fault> {
        Ok(self.find(call))
    }

    async fn refund(&self, call: &Call, ask: &RefundFunds) -> Answer<Refunded, Declined> {
        self.forward(call, ask, |books| {
            let minor = ask.amount.minor();
            let taken = books.taken.get_mut(ask.capture.as_str());
            let Some(taken) = taken.filter(|taken| taken.refunded + minor <= taken.minor) else {
                return declined(DeclineReason::NothingToRefund);
            };
            taken.refunded += minor;
            books.paid -= minor;
            Ok(Refunded { id: name("refund", call).into(), amount: ask.amount })
        })
    }
}

#[async_trait]
impl Ledger for FakeShop {
    fn contract(&self) -> Contract {
        Self::promises()
    }

    async fn settle(&self, call: &Call, ask: &Settle) -> Answer<Settlement> {
        self.forward(call, ask, |books| {
            books.settled.insert(ask.capture.to_string(), ask.amount.minor());
            Ok(Settlement { id: name("settlement", call).into(), amount: ask.amount })
        })
    }

    async fn settled(&self, call: &Call) -> Result<Finding<Settlement, Never>, Fault> {
        Ok(self.find(call))
    }
}

#[async_trait]
impl Shipping for FakeShop {
    fn contract(&self) -> Contract {
        Self::promises()
    }

    async fn ship(&self, call: &Call, ask: &Dispatch) -> Answer<Parcel> {
        self.forward(call, ask, |books| {
            let goods = books.reserved.remove(ask.reservation.as_str()).ok_or_else(|| bad("no goods"))?;
            books.sent.insert(ask.order.to_string(), goods);
            Ok(Parcel { tracking: name("parcel", call).into() })
        })
    }
}

#[async_trait]
impl Risk for FakeShop {
    fn contract(&self) -> Contract {
        Contract::default()
    }

    async fn fraud(&self, _: &Call, purchase: &Purchase) -> Answer<Score, Suspected> {
        if purchase.card.as_str() == "tok-fraud" {
            return Err(CallError::Refused(Suspected { rule: "card-on-watch-list".into(), score: 97 }));
        }
        Ok(Score { score: 7 })
    }

    async fn limit(&self, _: &Call, purchase: &Purchase) -> Answer<Allowance, LimitExceeded> {
        let (asked, limit) = (purchase.amount, Money::from_minor(100_000, Currency::Eur));
        if asked.minor() > limit.minor() {
            return Err(CallError::Refused(LimitExceeded { limit, asked }));
        }
        Ok(Allowance { limit })
    }
}

#[async_trait]
impl Sales for FakeShop {
    fn contract(&self) -> Contract {
        Contract::default()
    }

    async fn sale(&self, _: &Call, order: &OrderId) -> Answer<Sale, NoSale> {
        let books = self.books();
        let Books { taken, sent, .. } = &*books;
        let eur = |minor| Money::from_minor(minor, Currency::Eur);
        let found = taken.iter().find(|(_, taken)| taken.reference == order.as_str());
        let Some((id, taken)) = found else {
            return Err(CallError::Refused(NoSale { order: order.clone() }));
        };
        let goods = sent.get(order.as_str()).ok_or_else(|| Fault::new(code::TOO_EARLY, "not sent yet"))?;
        let line = |(sku, quantity): &(_, u32)| StockLine { sku: Clone::clone(sku), quantity: *quantity };
        Ok(Sale {
            capture: id.clone().into(),
            captured: eur(taken.minor),
            refunded: eur(taken.refunded),
            sent: goods.iter().map(line).collect(),
        })
    }
}

#[async_trait]
impl Notifications for FakeShop {
    fn contract(&self) -> Contract {
        Self::promises()
    }

    async fn notify(&self, call: &Call, notice: &Notice) -> Answer<Sent> {
        self.forward(call, notice, |books| {
            books.letters.push(notice.text.clone());
            Ok(Sent { message: name("notice", call) })
        })
    }
}

#[async_trait]
impl Receipts for FakeShop {
    fn contract(&self) -> Contract {
        Contract::default()
    }

    async fn print(&self, call: &Call, receipt: &Receipt) -> Answer<Sent> {
        self.forward(call, receipt, |books| {
            books.letters.push(format!("received {}", receipt.amount));
            Ok(Sent { message: name("receipt", call) })
        })
    }
}
