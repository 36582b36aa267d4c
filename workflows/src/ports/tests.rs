use std::sync::Arc;

use amends::core::event::Finding as Found;
use amends::core::{ActionId, Json, SagaId, Timestamp};
use amends::prelude::*;
use amends::{ForwardOutcome, Outgoing, Transmission};
use async_trait::async_trait;
use expect_test::expect;
use serde::de::DeserializeOwned;

use super::*;
use crate::order::*;
use crate::payment::*;
use crate::refund::*;

/// A participant that is written to, and never reads.
struct Letterbox;

#[async_trait]
impl Messages for Letterbox {
    fn contract(&self) -> Contract {
        Contract { dependency: Some("letterbox".into()), ..Contract::default() }
    }

    fn command(
        &self,
        _: &Transmission,
        operation: &str,
        ask: &Json,
        forward: Option<&ForwardOutcome>,
    ) -> Result<Outgoing, Problem> {
        let undone = forward.map_or(String::new(), |forward| format!(" undone, where it is {forward:?}"));
        let body = format!("{ask}{undone}");
        Ok(Outgoing { subject: operation.into(), headers: Vec::new(), body })
    }

    async fn query(&self, _: &StepContext, operation: &str, ask: &Json) -> Result<Found, QueryError> {
        Err(QueryError::new(operation, ask))
    }
}

fn to<P: ?Sized>() -> Port<P> {
    Port::Messages(Arc::new(Letterbox))
}

fn a<T: DeserializeOwned>(json: &str) -> T {
    serde_json::from_str(json).unwrap()
}

fn transmission() -> Transmission {
    let (saga, action) = (SagaId(Default::default()), ActionId::forward("step"));
    let request_id = action.request_id(saga);
    Transmission {
        saga,
        key: "key".into(),
        workflow: "workflow".into(),
        action,
        request_id,
        forward_request_id: request_id,
        attempt: 1,
        deadline: Timestamp(0),
        expected: None,
        trace: None,
    }
}

fn written<S: Step>(step: S, input: S::Input) -> String {
    assert_eq!(step.contract().dependency.as_deref(), Some("letterbox"));
    let message = step.command(&transmission(), &input).unwrap().expect("it is a message");
    format!("{} {}\n", message.subject, message.body)
}

fn written_back<S: Compensate>(step: S, input: S::Input, forward: Forward<S::Output>) -> String {
    let message = step.undo_command(&transmission(), &input, &forward).unwrap().expect("it is a message");
    format!("{} {}\n", message.subject, message.body)
}

#[test]
fn what_a_participant_would_have_been_called_with_is_what_it_is_written() {
    let order = || {
        a::<OrderPlaced>(
            r#"{"order": "O-1", "customer": "c-1", "card": "tok-1", "address": "Lindenweg 4",
                "lines": [{"sku": "lamp", "quantity": 2, "price": {"minor": 500, "currency": "EUR"}}],
                "total": {"minor": 1000, "currency": "EUR"}}"#,
        )
    };
    let payment = || {
        a::<PaymentRequested>(
            r#"{"payment": "P-1", "customer": "c-1", "card": "tok-1", "amount": {"minor": 7, "currency": "EUR"}}"#,
        )
    };
    let refund = || {
        a::<RefundRequested>(
            r#"{"refund": "R-1", "order": "O-1", "customer": "c-1", "amount": {"minor": 7, "currency": "EUR"}}"#,
        )
    };
    let held = || a::<Authorization>(r#"{"id": "auth-1", "amount": {"minor": 1000, "currency": "EUR"}}"#);
    let taken = || a::<Capture>(r#"{"id": "cap-1", "amount": {"minor": 1000, "currency": "EUR"}}"#);
    let settled = || a::<Settlement>(r#"{"id": "set-1", "amount": {"minor": 7, "currency": "EUR"}}"#);
    let goods = || Reservation { id: "res-1".into() };
    let parcel = || Parcel { tracking: "parcel-1".into() };
    let checked = || (payment(), Score { score: 3 }, a(r#"{"limit": {"minor": 9, "currency": "EUR"}}"#));
    let refundable = a(r#"{"capture": "cap-1", "amount": {"minor": 7, "currency": "EUR"}}"#);
    let refunded = a(r#"{"id": "ref-1", "amount": {"minor": 7, "currency": "EUR"}}"#);
    let messages = [
        written(ReserveStock::new(to()), order()),
        written_back(ReserveStock::new(to()), order(), Forward::Completed(goods())),
        written(AuthorizePayment::new(to()), order()),
        written_back(AuthorizePayment::new(to()), order(), Forward::InDoubt),
        written(CapturePayment::new(to()), held()),
        written(ShipParcel::new(to()), (order(), goods(), taken())),
        written(NotifyCustomer::new(to()), (order(), parcel())),
        written(CheckFraud::new(to()), payment()),
        written(CheckLimit::new(to()), payment()),
        written(AuthorisePayment::new(to()), checked()),
        written_back(AuthorisePayment::new(to()), checked(), Forward::Partial(None)),
        written(SettlePayment::new(to()), taken()),
        written(SendReceipt::new(to()), (payment(), settled())),
        written(PrintReceipt::new(to()), (payment(), settled())),
        written(ReadSale::new(to()), refund()),
        written(RefundPayment::new(to()), refundable),
        written(RestockGoods::new(to()), refund()),
        written(NotifyRefund::new(to()), (refund(), refunded)),
    ];
    expect![[r#"
        reserve {"order":"O-1","lines":[{"sku":"lamp","quantity":2}]}
        reserve {"order":"O-1","lines":[{"sku":"lamp","quantity":2}]} undone, where it is Completed(Value({"id":"res-1"}))
        authorize {"reference":"O-1","card":"tok-1","amount":{"minor":1000,"currency":"EUR"},"risk_score":null}
        authorize {"reference":"O-1","card":"tok-1","amount":{"minor":1000,"currency":"EUR"},"risk_score":null} undone, where it is InDoubt
        capture {"authorization":"auth-1","amount":{"minor":1000,"currency":"EUR"}}
        ship {"order":"O-1","reservation":"res-1","address":"Lindenweg 4"}
        notify {"to":"c-1","text":"Order O-1 is on its way: parcel-1."}
        fraud {"customer":"c-1","card":"tok-1","amount":{"minor":7,"currency":"EUR"}}
        limit {"customer":"c-1","card":"tok-1","amount":{"minor":7,"currency":"EUR"}}
        authorize {"reference":"P-1","card":"tok-1","amount":{"minor":7,"currency":"EUR"},"risk_score":3}
        authorize {"reference":"P-1","card":"tok-1","amount":{"minor":7,"currency":"EUR"},"risk_score":3} undone, where it is Partial(None)
        settle {"capture":"cap-1","amount":{"minor":1000,"currency":"EUR"}}
        notify {"to":"c-1","text":"Received with thanks: 0.07 EUR for P-1."}
        print {"to":"c-1","reference":"P-1","amount":{"minor":7,"currency":"EUR"}}
        sale "O-1"
        refund {"capture":"cap-1","amount":{"minor":7,"currency":"EUR"}}
        restock {"order":"O-1","lines":[]}
        notify {"to":"c-1","text":"0.07 EUR of order O-1 are on their way to you."}
    "#]].assert_eq(&messages.concat());
}

#[test]
fn a_participant_that_is_written_to_is_never_called_and_one_that_is_called_never_written_to() {
    let NotCalled = to::<dyn Ledger>().called().err().expect("there is nobody to call");
    assert!(matches!(StepError::<Never>::from(NotCalled), StepError::Persistent(_)));
    let all = crate::fakes::FakeShop::new(&mut amends_testkit::World::new()).participants();
    assert!(all.ledger.called().is_ok());
    assert_eq!(all.ledger.command(&transmission(), operation::SETTLE, &"anything"), Ok(None));
}
