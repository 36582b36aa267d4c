//! The goods are set aside.

use amends::prelude::{
    ByQuery, Compensate, CompensationError, Contract, Finding, Forward, Precondition, Problem, QueryError,
    Reconcile, ReconcileCompensation, Step, StepContext, StepError, Undo, UndoFinding,
};
use amends::{Outgoing, Transmission};

use crate::order::OrderPlaced;
use crate::ports::{
    Call, Goods, GoodsState, Inventory, OutOfStock, Port, Reservation, Reserve, find, find_undo, operation,
};
use crate::rules::{self, WAREHOUSE};

/// Sets all goods of the order aside, or none. The warehouse keeps a barrier and can be asked, so what became
/// of a lost answer is settled by query, forward and back.
pub struct ReserveStock {
    inventory: Port<dyn Inventory>,
}

impl ReserveStock {
    /// From this warehouse.
    pub fn new(inventory: Port<dyn Inventory>) -> Self {
        Self { inventory }
    }
}

fn ask(order: &OrderPlaced) -> Reserve {
    Reserve { order: order.order().clone(), lines: order.stock_lines() }
}

impl Step for ReserveStock {
    type Input = OrderPlaced;
    type Output = Reservation;
    type Refusal = OutOfStock;
    type Settle = ByQuery;

    fn contract(&self) -> Contract {
        self.inventory.contract(Inventory::contract)
    }

    async fn run(&self, cx: &StepContext, order: OrderPlaced) -> Result<Reservation, StepError<OutOfStock>> {
        let answer = self.inventory.called()?.reserve(&Call::of(cx), &ask(&order)).await;
        rules::forward(cx, &WAREHOUSE, "reserve", answer)
    }

    fn command(&self, of: &Transmission, order: &OrderPlaced) -> Result<Option<Outgoing>, Problem> {
        self.inventory.command(of, operation::RESERVE, &ask(order))
    }
}

impl Reconcile for ReserveStock {
    async fn reconcile(
        &self,
        cx: &StepContext,
        order: OrderPlaced,
    ) -> Result<Finding<Reservation, OutOfStock>, QueryError> {
        match &self.inventory {
            Port::Calls(inventory) => {
                rules::query(&WAREHOUSE, "reservation", inventory.reservation(&Call::of(cx)).await)
            }
            Port::Messages(messages) => find(&**messages, cx, operation::RESERVE, &ask(&order)).await,
        }
    }
}

impl Compensate for ReserveStock {
    type UndoSettle = ByQuery;

    /// What was set aside lies there untouched. Goods that somebody has packed since are not put back behind his
    /// back: the compensation waits for a person.
    fn expected(&self, forward: &Forward<Reservation>) -> Option<Precondition> {
        let (Forward::Completed(made) | Forward::Partial(Some(made))) = forward else { return None };
        Some(Precondition::of(&Goods { reservation: made.id.clone(), state: GoodsState::Held }))
    }

    async fn compensate(
        &self,
        cx: &StepContext,
        order: OrderPlaced,
        _: Forward<Reservation>,
    ) -> Result<Undo, CompensationError> {
        // Whatever is known of the reservation, the warehouse finds it by the forward request id: made, it is
        // released; in doubt, it is released or closed out for ever. So all cases of `Forward` are one.
        // Only the warehouse knows how the goods stand, so it compares, in the transaction that releases them.
        let expected = cx.expected().map(Precondition::decode).transpose()?;
        let inventory = self.inventory.called()?;
        let answer = inventory.release(&Call::of(cx), order.order(), expected.as_ref()).await;
        rules::backward(&WAREHOUSE, "release", answer)
    }

    fn undo_command(
        &self,
        of: &Transmission,
        order: &OrderPlaced,
        forward: &Forward<Reservation>,
    ) -> Result<Option<Outgoing>, Problem> {
        self.inventory.undo_command(of, operation::RESERVE, &ask(order), forward)
    }
}

impl ReconcileCompensation for ReserveStock {
    async fn reconcile_compensation(
        &self,
        cx: &StepContext,
        order: OrderPlaced,
    ) -> Result<UndoFinding, QueryError> {
        match &self.inventory {
            Port::Calls(inventory) => {
                rules::query(&WAREHOUSE, "released", inventory.released(&Call::of(cx)).await)
            }
            Port::Messages(messages) => find_undo(&**messages, cx, operation::RESERVE, &ask(&order)).await,
        }
    }
}
