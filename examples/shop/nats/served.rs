//! The participants' side: each service takes its commands and answers its queries.
//!
//! The barrier is the participants' own, in the transaction of their effects: they are the services that the shop
//! otherwise calls, and here only reached in another way.

use std::sync::Arc;
use std::time::Duration;

use amends::core::RequestId;
use amends_nats::{Call, Direction, Handler, NotNow, Reply, Trouble};
use amends_workflows::ports::operation::{
    AUTHORIZE, CAPTURE, FRAUD, LIMIT, NOTIFY, PRINT, REFUND, RESERVE, RESTOCK, SALE, SETTLE, SHIP,
};
use amends_workflows::ports::{
    self, Authorize, Goods, Inventory, Ledger, Notifications, Payments, Receipts, Reserve, Risk, Sales,
    Shipping,
};
use amends_workflows::rules;
use async_trait::async_trait;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::answers::{closed_out, found, told, undo_found, undone};
use super::ports::{
    CARRIER, LEDGER, LETTER_SHOP, PAYMENT_GATEWAY, POST_OFFICE, RISK_ENGINE, SALES, WAREHOUSE,
};
use crate::participants::Participants;

/// One of them.
pub(super) struct Service<All> {
    name: &'static str,
    all: Arc<All>,
    /// Where all of them keep their barrier.
    place: Participants,
}

impl<All> Service<All> {
    /// The one of this name.
    pub(super) fn new(name: &'static str, all: Arc<All>, place: Participants) -> Self {
        Self { name, all, place }
    }
}

#[async_trait]
impl<All> Handler for Service<All>
where
    All: Inventory + Payments + Ledger + Shipping + Risk + Sales + Notifications + Receipts,
{
    async fn command(&self, call: &Call) -> Result<Reply, NotNow> {
        let worked = match call.direction {
            Direction::Forward => self.forward(call).await,
            Direction::Compensation => self.backward(call).await,
        };
        Ok(worked.unwrap_or_else(|unreadable| unreadable))
    }

    async fn close_out(&self, call: &Call, reply: Reply) -> Result<Reply, NotNow> {
        // It is asked, and changes nothing.
        if self.name == RISK_ENGINE {
            return Ok(reply);
        }
        let closed = self.place.close_out(call.request_id, call.attempt, &reply.to_said()).await;
        Ok(closed_out(closed.map_err(NotNow::because)?))
    }

    async fn query(&self, call: &Call) -> Result<Reply, NotNow> {
        let (all, to) = (&*self.all, call_of(call));
        match (self.name, &*call.operation, call.direction) {
            (WAREHOUSE, RESERVE, Direction::Forward) => found(all.reservation(&to).await),
            (WAREHOUSE, RESERVE, Direction::Compensation) => undo_found(all.released(&to).await),
            (WAREHOUSE, RESTOCK, Direction::Forward) => found(all.restocked(&to).await),
            (PAYMENT_GATEWAY, AUTHORIZE, Direction::Forward) => found(all.authorization(&to).await),
            (PAYMENT_GATEWAY, AUTHORIZE, Direction::Compensation) => undo_found(all.voided(&to).await),
            (PAYMENT_GATEWAY, CAPTURE, Direction::Forward) => found(all.captured(&to).await),
            (LEDGER, SETTLE, Direction::Forward) => found(all.settled(&to).await),
            (name, other, _) => {
                let nobody = format!("{name} is not asked about `{other}`");
                Ok(Reply::Unclear(Trouble::new("no-query", nobody)))
            }
        }
    }
}

impl<All> Service<All>
where
    All: Inventory + Payments + Ledger + Shipping + Risk + Sales + Notifications + Receipts,
{
    /// The error says that the body is not what the operation takes.
    async fn forward(&self, call: &Call) -> Result<Reply, Reply> {
        let (all, to) = (&*self.all, &call_of(call));
        Ok(match (self.name, &*call.operation) {
            (WAREHOUSE, RESERVE) => told(&rules::WAREHOUSE, call, all.reserve(to, &body(call)?).await),
            (WAREHOUSE, RESTOCK) => told(&rules::WAREHOUSE, call, all.restock(to, &body(call)?).await),
            (PAYMENT_GATEWAY, AUTHORIZE) => {
                told(&rules::PAYMENT_GATEWAY, call, all.authorize(to, &body(call)?).await)
            }
            (PAYMENT_GATEWAY, CAPTURE) => {
                told(&rules::PAYMENT_GATEWAY, call, all.capture(to, &body(call)?).await)
            }
            (PAYMENT_GATEWAY, REFUND) => {
                told(&rules::PAYMENT_GATEWAY, call, all.refund(to, &body(call)?).await)
            }
            (LEDGER, SETTLE) => told(&rules::LEDGER, call, all.settle(to, &body(call)?).await),
            (CARRIER, SHIP) => told(&rules::CARRIER, call, all.ship(to, &body(call)?).await),
            (RISK_ENGINE, FRAUD) => told(&rules::RISK_ENGINE, call, all.fraud(to, &body(call)?).await),
            (RISK_ENGINE, LIMIT) => told(&rules::RISK_ENGINE, call, all.limit(to, &body(call)?).await),
            (SALES, SALE) => told(&rules::SALES, call, all.sale(to, &body(call)?).await),
            (POST_OFFICE, NOTIFY) => told(&rules::POST_OFFICE, call, all.notify(to, &body(call)?).await),
            (LETTER_SHOP, PRINT) => told(&rules::POST_OFFICE, call, all.print(to, &body(call)?).await),
            (name, other) => no_such_operation(name, other),
        })
    }

    async fn backward(&self, call: &Call) -> Result<Reply, Reply> {
        let (all, to) = (&*self.all, &call_of(call));
        Ok(match (self.name, &*call.operation) {
            (WAREHOUSE, RESERVE) => {
                let Undoing::<Reserve, Goods> { input, expected } = body(call)?;
                undone(&rules::WAREHOUSE, call, all.release(to, &input.order, expected.as_ref()).await)
            }
            (PAYMENT_GATEWAY, AUTHORIZE) => {
                let Undoing::<Authorize, ()> { input, expected: _ } = body(call)?;
                undone(&rules::PAYMENT_GATEWAY, call, all.void(to, &input.reference).await)
            }
            (name, other) => no_such_operation(name, &format!("undo {other}")),
        })
    }
}

/// What the body of a compensation says, as far as anybody here looks.
#[derive(Deserialize)]
#[serde(bound = "Ask: DeserializeOwned, State: DeserializeOwned")]
struct Undoing<Ask, State> {
    input: Ask,
    #[serde(default)]
    expected: Option<State>,
}

fn call_of(call: &Call) -> ports::Call {
    ports::Call {
        request_id: RequestId(call.request_id),
        forward_request_id: RequestId(call.forward_request_id.unwrap_or(call.request_id)),
        attempt: call.attempt,
        fence_through: call.fence_through,
        saga: call.saga,
        business_key: call.key.as_deref().unwrap_or_default().into(),
        // The reply is a message: nobody listens who could stop listening.
        time_left: Duration::ZERO,
    }
}

fn body<T: DeserializeOwned>(call: &Call) -> Result<T, Reply> {
    call.body.decode().map_err(|error| Reply::persistent("unreadable", error))
}

fn no_such_operation(service: &str, operation: &str) -> Reply {
    Reply::persistent("no-such-operation", format!("{service} does not {operation}"))
}
