//! The goods come back.

use amends::prelude::{
    ByQuery, Contract, Finding, Never, Problem, QueryError, Reconcile, Step, StepContext, StepError,
};
use amends::{Outgoing, Transmission};

use crate::ports::{Call, Inventory, Port, Restock, Restocked, find, operation};
use crate::refund::RefundRequested;
use crate::rules::{self, WAREHOUSE};

/// Puts the goods that came back on the shelf.
pub struct RestockGoods {
    inventory: Port<dyn Inventory>,
}

impl RestockGoods {
    /// In this warehouse.
    pub fn new(inventory: Port<dyn Inventory>) -> Self {
        Self { inventory }
    }
}

fn ask(request: &RefundRequested) -> Restock {
    Restock { order: request.order.clone(), lines: request.returned.clone() }
}

impl Step for RestockGoods {
    type Input = RefundRequested;
    type Output = Restocked;
    type Refusal = Never;
    type Settle = ByQuery;

    fn contract(&self) -> Contract {
        self.inventory.contract(Inventory::contract)
    }

    async fn run(&self, cx: &StepContext, request: RefundRequested) -> Result<Restocked, StepError<Never>> {
        let answer = self.inventory.called()?.restock(&Call::of(cx), &ask(&request)).await;
        rules::forward(cx, &WAREHOUSE, "restock", answer)
    }

    fn command(&self, of: &Transmission, request: &RefundRequested) -> Result<Option<Outgoing>, Problem> {
        self.inventory.command(of, operation::RESTOCK, &ask(request))
    }
}

impl Reconcile for RestockGoods {
    async fn reconcile(
        &self,
        cx: &StepContext,
        request: RefundRequested,
    ) -> Result<Finding<Restocked, Never>, QueryError> {
        match &self.inventory {
            Port::Calls(inventory) => {
                rules::query(&WAREHOUSE, "restocked", inventory.restocked(&Call::of(cx)).await)
            }
            Port::Messages(messages) => find(&**messages, cx, operation::RESTOCK, &ask(&request)).await,
        }
    }
}
