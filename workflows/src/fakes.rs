//! The participants of the workflows' tests: in memory, with a barrier, and with the test kit's ledger of what
//! really happened. They do what is asked and tell the truth; the test kit's faults do the rest.

mod barrier;
mod ports;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use amends::core::RequestId;
use amends::ports::Clock;
use amends_testkit::{Ledger, World};

use crate::names::Sku;
use crate::ports::Participants;
use barrier::Row;

/// All participants. Clones are the same ones.
#[derive(Clone)]
pub(crate) struct FakeShop(Arc<Shared>);

struct Shared {
    ledger: Ledger,
    clock: Arc<dyn Clock>,
    name: Arc<str>,
    books: Mutex<Books>,
}

/// What there is, in pieces and in minor units of one currency.
#[derive(Default)]
pub(crate) struct Books {
    rows: BTreeMap<RequestId, Row>,
    pub(crate) shelf: BTreeMap<Sku, u32>,
    /// Goods set aside, by reservation.
    pub(crate) reserved: BTreeMap<String, Vec<(Sku, u32)>>,
    /// Reservations whose goods somebody has packed.
    pub(crate) packed: BTreeSet<String>,
    /// Goods with customers, by order.
    pub(crate) sent: BTreeMap<String, Vec<(Sku, u32)>>,
    /// Money held, by authorization.
    pub(crate) held: BTreeMap<String, i64>,
    /// Money taken, by capture: for what, how much, how much of it given back.
    pub(crate) taken: BTreeMap<String, Taken>,
    pub(crate) settled: BTreeMap<String, i64>,
    pub(crate) letters: Vec<String>,
    /// Everything that customers paid, less what they got back.
    pub(crate) paid: i64,
}

pub(crate) struct Taken {
    pub(crate) reference: String,
    pub(crate) minor: i64,
    pub(crate) refunded: i64,
}

/// Pieces of each SKU that a shop opens with.
pub(crate) const PIECES: u32 = 10;

impl FakeShop {
    /// Opens with [`PIECES`] lamps and bulbs.
    pub(crate) fn new(world: &mut World) -> Self {
        let shelf = ["lamp", "bulb"].map(|sku| (Sku::from(sku), PIECES)).into();
        let books = Mutex::new(Books { shelf, ..Books::default() });
        let (ledger, clock) = (Ledger::new(world), world.clock());
        Self(Arc::new(Shared { ledger, clock, name: "shop".into(), books }))
    }

    pub(crate) fn participants(&self) -> Participants {
        Participants::called(Arc::new(self.clone()))
    }

    pub(crate) fn books(&self) -> MutexGuard<'_, Books> {
        self.0.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An order of 2 lamps for 30 euros was sold before.
    pub(crate) fn sold_before(&self, order: &str) {
        let mut books = self.books();
        let lamp = Sku::from("lamp");
        *books.shelf.get_mut(&lamp).unwrap() -= 2;
        books.sent.insert(order.to_owned(), vec![(lamp, 2)]);
        let taken = Taken { reference: order.to_owned(), minor: 3_000, refunded: 0 };
        books.taken.insert(format!("capture of {order}"), taken);
        books.paid += 3_000;
    }

    /// Nothing was lost and nothing came from nowhere, whatever the sagas did.
    pub(crate) fn assert_balances(&self) {
        let books = self.books();
        let elsewhere = books.reserved.values().chain(books.sent.values()).flatten();
        let pieces = books.shelf.values().sum::<u32>() + elsewhere.map(|(_, pieces)| pieces).sum::<u32>();
        assert_eq!(pieces, 2 * PIECES, "pieces on the shelf, set aside and sent");
        let taken: i64 = books.taken.values().map(|taken| taken.minor - taken.refunded).sum();
        assert_eq!(books.paid, taken, "what customers paid and what the gateway took");
        assert!(books.taken.values().all(|taken| (0..=taken.minor).contains(&taken.refunded)));
    }

    /// Nothing waits for a saga that does not come back.
    pub(crate) fn assert_nothing_held(&self) {
        let books = self.books();
        assert!(books.held.is_empty(), "money is held: {:?}", books.held);
        assert!(books.reserved.is_empty(), "goods are set aside: {:?}", books.reserved);
    }
}
