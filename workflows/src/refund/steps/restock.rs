//! The goods come back.

use std::sync::Arc;

use amends::prelude::{
    ByQuery, Contract, Finding, Never, QueryError, Reconcile, Step, StepContext, StepError,
};

use crate::ports::{Call, Inventory, Restock, Restocked};
use crate::refund::RefundRequested;
use crate::rules::{self, WAREHOUSE};

/// Puts the goods that came back on the shelf.
pub struct RestockGoods {
    inventory: Arc<dyn Inventory>,
}

impl RestockGoods {
    /// In this warehouse.
    pub fn new(inventory: Arc<dyn Inventory>) -> Self {
        Self { inventory }
    }
}

impl Step for RestockGoods {
    type Input = RefundRequested;
    type Output = Restocked;
    type Refusal = Never;
    type Settle = ByQuery;

    fn contract(&self) -> Contract {
        self.inventory.contract()
    }

    async fn run(&self, cx: &StepContext, request: RefundRequested) -> Result<Restocked, StepError<Never>> {
        let ask = Restock { order: request.order, lines: request.returned };
        let answer = self.inventory.restock(&Call::of(cx), &ask).await;
        rules::forward(cx, &WAREHOUSE, "restock", answer)
    }
}

impl Reconcile for RestockGoods {
    async fn reconcile(
        &self,
        cx: &StepContext,
        _: RefundRequested,
    ) -> Result<Finding<Restocked, Never>, QueryError> {
        rules::query(&WAREHOUSE, "restocked", self.inventory.restocked(&Call::of(cx)).await)
    }
}
