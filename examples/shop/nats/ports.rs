//! Participants that are written to: the second way in which the ports of the workflows are filled.

use std::sync::Arc;
use std::time::Duration;

use amends::core::Json;
use amends::core::event::Finding as Found;
use amends::prelude::{Contract, Problem, QueryError, StepContext};
use amends::{ForwardOutcome, Outgoing, Transmission};
use amends_nats::{Commands, Operation};
use amends_workflows::ports::{
    Inventory, Ledger, Messages, Notifications, Participants, Payments, Port, Receipts, Risk, Sales, Shipping,
};
use async_trait::async_trait;

pub(super) const WAREHOUSE: &str = "warehouse";
pub(super) const PAYMENT_GATEWAY: &str = "payment-gateway";
pub(super) const LEDGER: &str = "ledger";
pub(super) const CARRIER: &str = "carrier";
pub(super) const RISK_ENGINE: &str = "risk-engine";
pub(super) const SALES: &str = "sales";
pub(super) const POST_OFFICE: &str = "post-office";
pub(super) const LETTER_SHOP: &str = "letter-shop";

/// The participants' names on the wire.
pub(super) const SERVICES: [&str; 8] =
    [WAREHOUSE, PAYMENT_GATEWAY, LEDGER, CARRIER, RISK_ENGINE, SALES, POST_OFFICE, LETTER_SHOP];

/// The same participants, written to. They promise what they promise to callers; but a message may lie about for some
/// time, so what it asks for may still happen until `window` has passed.
pub(super) fn written_to(commands: &Commands, called: &Participants, window: Duration) -> Participants {
    let to = |service: &'static str, contract: Contract| -> Arc<dyn Messages> {
        let settle_window = contract.settle_window.map(|stated| stated.max(window));
        Arc::new(WrittenTo {
            commands: commands.clone(),
            service,
            contract: Contract { settle_window, ..contract },
        })
    };
    let p = called;
    Participants {
        inventory: Port::Messages(to(WAREHOUSE, p.inventory.contract(Inventory::contract))),
        payments: Port::Messages(to(PAYMENT_GATEWAY, p.payments.contract(Payments::contract))),
        ledger: Port::Messages(to(LEDGER, p.ledger.contract(Ledger::contract))),
        shipping: Port::Messages(to(CARRIER, p.shipping.contract(Shipping::contract))),
        risk: Port::Messages(to(RISK_ENGINE, p.risk.contract(Risk::contract))),
        sales: Port::Messages(to(SALES, p.sales.contract(Sales::contract))),
        notifications: Port::Messages(to(POST_OFFICE, p.notifications.contract(Notifications::contract))),
        receipts: Port::Messages(to(LETTER_SHOP, p.receipts.contract(Receipts::contract))),
    }
}

struct WrittenTo {
    commands: Commands,
    service: &'static str,
    contract: Contract,
}

impl WrittenTo {
    fn operation(&self, name: &str) -> Result<Operation, Problem> {
        self.commands.operation(self.service, name).map_err(|error| Problem::new("operation", error))
    }
}

#[async_trait]
impl Messages for WrittenTo {
    fn contract(&self) -> Contract {
        self.contract.clone()
    }

    fn command(
        &self,
        of: &Transmission,
        operation: &str,
        ask: &Json,
        forward: Option<&ForwardOutcome>,
    ) -> Result<Outgoing, Problem> {
        self.operation(operation)?.command(of, ask, forward)
    }

    async fn query(&self, cx: &StepContext, operation: &str, ask: &Json) -> Result<Found, QueryError> {
        self.operation(operation).map_err(QueryError)?.query(cx, ask).await
    }
}
