//! The shop that these tests run: stock beside an authorisation, a capture as pivot, a parcel after it.

use std::time::Duration;

use amends::prelude::*;
use amends_testkit::{Ledger, Participant, World};

pub(crate) struct Shop {
    pub(crate) stock: Participant<u32, String, String>,
    pub(crate) payments: Participant<u32, String, String>,
    pub(crate) capture: Participant<(String, String), u32, String>,
    pub(crate) parcels: Participant<u32, String, Never>,
}

pub(crate) struct Order {
    pub(crate) saga: Saga<u32, String>,
    pub(crate) stock: Handle<String>,
    pub(crate) capture: Handle<u32>,
}

/// How long after the last transmission "absent" means "without effect".
pub(crate) const WINDOW: Duration = Duration::from_secs(20);

pub(crate) fn keeps_answers() -> Contract {
    Contract { settle_window: Some(WINDOW), keeps_answers: true, ..Contract::default() }
}

impl Shop {
    /// Participants that keep a barrier, each with a latency of its own, so that no two of them answer at once.
    pub(crate) fn new(world: &mut World) -> Self {
        let ledger = Ledger::new(world);
        let ms = Duration::from_millis;
        Self {
            stock: Participant::slow(&ledger, "stock", ms(20), |pieces| format!("{pieces} pieces")),
            payments: Participant::slow(&ledger, "payments", ms(50), |pieces| format!("{} EUR", pieces * 5)),
            capture: Participant::slow(&ledger, "capture", ms(30), |_| 15),
            parcels: Participant::slow(&ledger, "parcels", ms(70), |paid| format!("parcel for {paid} EUR")),
        }
    }

    pub(crate) fn order(&self) -> Order {
        let (mut s, order) = SagaBuilder::<u32>::new("order", 1);
        let reserve = self.stock.step::<ByQuery, ByQuery>().contract(keeps_answers());
        let authorize = self.payments.step::<ByRepeating, ByRepeating>().contract(keeps_answers());
        let capture = self.capture.step::<ByQuery, ByOperator>().contract(keeps_answers());
        let ship = self.parcels.step::<ByRepeating, ByOperator>();
        let stock = s.step("reserve-stock", reserve, order);
        let auth = s.step("authorize-payment", authorize, order);
        let (capture, mut s) = s.pivot("capture-payment", capture, (stock, auth));
        let parcel = s.retriable("ship-parcel", ship, capture);
        let saga = s.finish(parcel).expect("the definition is sound");
        Order { saga, stock, capture }
    }

    /// Money is taken exactly where goods go out; nothing is held once every saga has ended.
    pub(crate) fn balances(&self) -> Result<(), String> {
        let held = [self.stock.in_place().len(), self.payments.in_place().len()];
        let gone = [self.capture.in_place().len(), self.parcels.in_place().len()];
        if held == gone { Ok(()) } else { Err(format!("held {held:?}, gone {gone:?}")) }
    }
}

/// A world with a shop and one order.
pub(crate) fn one_order(world: &mut World) -> Shop {
    let shop = Shop::new(world);
    world.register(&shop.order().saga);
    world.start(&shop.order().saga, "order-42", 3);
    shop
}
