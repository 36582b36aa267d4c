//! What was sold, and may it be given back?

use amends::prelude::{Contract, NoEffect, Problem, Step, StepContext, StepError};
use amends::{Outgoing, Transmission};

use crate::ports::{Call, NoSale, Port, Sale, Sales, operation};
use crate::refund::{NotRefundable, RefundRequested, Refundable, refundable};
use crate::rules::{self, SALES};

/// Looks the sale up. While the order is still being worked on it is asked again later.
pub struct ReadSale {
    sales: Port<dyn Sales>,
}

impl ReadSale {
    /// Here.
    pub fn new(sales: Port<dyn Sales>) -> Self {
        Self { sales }
    }
}

impl Step for ReadSale {
    type Input = RefundRequested;
    type Output = Sale;
    type Refusal = NoSale;
    type Settle = NoEffect;

    fn contract(&self) -> Contract {
        self.sales.contract(Sales::contract)
    }

    async fn run(&self, cx: &StepContext, request: RefundRequested) -> Result<Sale, StepError<NoSale>> {
        let answer = self.sales.called()?.sale(&Call::of(cx), &request.order).await;
        rules::forward(cx, &SALES, "sale", answer)
    }

    fn command(&self, of: &Transmission, request: &RefundRequested) -> Result<Option<Outgoing>, Problem> {
        self.sales.command(of, operation::SALE, &request.order)
    }
}

/// Compares what is asked for with what was sold. Nobody is called: a step may also just think.
///
/// It thinks about a sale that may have changed since, for instance by another refund. The gateway has the
/// last word; this check only spares it what is plainly wrong.
pub struct CheckRefundable;

impl Step for CheckRefundable {
    type Input = (RefundRequested, Sale);
    type Output = Refundable;
    type Refusal = NotRefundable;
    type Settle = NoEffect;

    async fn run(
        &self,
        _: &StepContext,
        (request, sale): Self::Input,
    ) -> Result<Refundable, StepError<NotRefundable>> {
        refundable(&request, &sale).map_err(StepError::Refused)
    }
}
