//! Participants who never answer: for tests of what needs none, and of what silence means.

use std::sync::Arc;

use amends::prelude::{Contract, Finding, Never, Undo, UndoFinding};
use async_trait::async_trait;

use crate::names::OrderId;
use crate::ports::*;

struct Silent;

pub(crate) fn participants() -> Participants {
    let silent = Arc::new(Silent);
    Participants {
        inventory: silent.clone(),
        payments: silent.clone(),
        ledger: silent.clone(),
        shipping: silent.clone(),
        risk: silent.clone(),
        sales: silent.clone(),
        notifications: silent.clone(),
        receipts: silent,
    }
}

fn lost() -> Fault {
    Fault::lost("nobody is there")
}

#[async_trait]
impl Inventory for Silent {
    fn contract(&self) -> Contract {
        Contract::default()
    }
    async fn reserve(&self, _: &Call, _: &Reserve) -> Answer<Reservation, OutOfStock> {
        Err(lost().into())
    }
    async fn reservation(&self, _: &Call) -> Result<Finding<Reservation, OutOfStock>, Fault> {
        Err(lost())
    }
    async fn release(&self, _: &Call, _: &OrderId) -> Answer<Undo> {
        Err(lost().into())
    }
    async fn released(&self, _: &Call) -> Result<UndoFinding, Fault> {
        Err(lost())
    }
    async fn restock(&self, _: &Call, _: &Restock) -> Answer<Restocked> {
        Err(lost().into())
    }
    async fn restocked(&self, _: &Call) -> Result<Finding<Restocked, Never>, Fault> {
        Err(lost())
    }
}

#[async_trait]
impl Payments for Silent {
    fn contract(&self) -> Contract {
        Contract::default()
    }
    async fn authorize(&self, _: &Call, _: &Authorize) -> Answer<Authorization, Declined> {
        Err(lost().into())
    }
    async fn authorization(&self, _: &Call) -> Result<Finding<Authorization, Declined>, Fault> {
        Err(lost())
    }
    async fn void(&self, _: &Call, _: &str) -> Answer<Undo> {
        Err(lost().into())
    }
    async fn voided(&self, _: &Call) -> Result<UndoFinding, Fault> {
        Err(lost())
    }
    async fn capture(&self, _: &Call, _: &CaptureFunds) -> Answer<Capture, Declined> {
        Err(lost().into())
    }
    async fn captured(&self, _: &Call) -> Result<Finding<Capture, Declined>, Fault> {
        Err(lost())
    }
    async fn refund(&self, _: &Call, _: &RefundFunds) -> Answer<Refunded, Declined> {
        Err(lost().into())
    }
}

#[async_trait]
impl Ledger for Silent {
    fn contract(&self) -> Contract {
        Contract::default()
    }
    async fn settle(&self, _: &Call, _: &Settle) -> Answer<Settlement> {
        Err(lost().into())
    }
    async fn settled(&self, _: &Call) -> Result<Finding<Settlement, Never>, Fault> {
        Err(lost())
    }
}

#[async_trait]
impl Shipping for Silent {
    fn contract(&self) -> Contract {
        Contract::default()
    }
    async fn ship(&self, _: &Call, _: &Dispatch) -> Answer<Parcel> {
        Err(lost().into())
    }
}

#[async_trait]
impl Risk for Silent {
    fn contract(&self) -> Contract {
        Contract::default()
    }
    async fn fraud(&self, _: &Call, _: &Purchase) -> Answer<Score, Suspected> {
        Err(lost().into())
    }
    async fn limit(&self, _: &Call, _: &Purchase) -> Answer<Allowance, LimitExceeded> {
        Err(lost().into())
    }
}

#[async_trait]
impl Sales for Silent {
    fn contract(&self) -> Contract {
        Contract::default()
    }
    async fn sale(&self, _: &Call, _: &OrderId) -> Answer<Sale, NoSale> {
        Err(lost().into())
    }
}

#[async_trait]
impl Notifications for Silent {
    fn contract(&self) -> Contract {
        Contract::default()
    }
    async fn notify(&self, _: &Call, _: &Notice) -> Answer<Sent> {
        Err(lost().into())
    }
}

#[async_trait]
impl Receipts for Silent {
    fn contract(&self) -> Contract {
        Contract::default()
    }
    async fn print(&self, _: &Call, _: &Receipt) -> Answer<Sent> {
        Err(lost().into())
    }
}
