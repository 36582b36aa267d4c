//! What the real shop writes, every later version must read: its journals replay, and one per path is kept in
//! `engine/core/tests/journals`, where the core's own tests replay them for ever.
//!
//! `KEEP_JOURNALS=1 cargo test --test journals` writes those of [`KEPT`] that are not there yet, and no other;
//! `UPDATE_EXPECT=1 cargo test -p amends-core --test it journals` then tells their stories.

#[path = "../examples/participants/mod.rs"]
mod participants;
#[path = "shop/process.rs"]
mod process;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use amends::SagaView;
use amends::core::{SagaPlan, Timestamp, Transition, replay};
use amends::ports::{SagaFilter, SagaQuery as _, SystemClock};
use amends_sea_orm::SqliteStore;
use amends_testkit::kept_journal;
use amends_workflows::{order_saga, payment_saga, policies, refund_saga};

/// Name of the kept file, workflow and key: one per path that the shop's orders take.
const KEPT: &[(&str, &str, &str)] = &[
    ("shop-order-completed", "order", "O-1001"),
    ("shop-order-resumed", "order", "O-1063"),
    ("shop-order-cancelled-while-capture-is-unknown", "order", "O-1111"),
    ("shop-order-cancelled", "order", "O-1168"),
    ("shop-order-release-resumed", "order", "O-1189"),
    ("shop-order-cancelled-too-late", "order", "O-1199"),
    ("shop-order-capture-taken", "order", "O-1210"),
    ("shop-order-reserved-in-part", "order", "O-1212"),
    ("shop-order-captured-in-part", "order", "O-1213"),
    ("shop-order-authorization-mismatched", "order", "O-1214"),
    ("shop-order-parcel-fenced", "order", "O-1215"),
    ("shop-order-release-stale", "order", "O-1216"),
    ("shop-order-closed-and-goods-back", "order", "O-1221"),
    ("shop-order-goods-packed", "order", "O-1224"),
    ("shop-order-capture-kept", "order", "O-1227"),
    ("shop-order-released-in-doubt", "order", "O-1228"),
    ("shop-order-parcel-supplied", "order", "O-1229"),
    ("shop-payment-resumed", "payment", "P-2003"),
    ("shop-payment-receipt-unknown", "payment", "P-2013"),
    ("shop-payment-booked-after-the-deadline", "payment", "P-2057"),
    ("shop-payment-never-booked", "payment", "P-2058"),
    ("shop-payment-held-although-refused", "payment", "P-2062"),
    ("shop-payment-void-overlooked", "payment", "P-2063"),
    ("shop-payment-paperless", "payment", "P-2064"),
    ("shop-refund-completed", "refund", "R-3001"),
    ("shop-refund-restocked-in-part", "refund", "R-3026"),
    ("shop-refund-without-goods", "refund", "R-3027"),
];

async fn plans(folder: &Path) -> BTreeMap<&'static str, Arc<SagaPlan>> {
    let clock = Arc::new(SystemClock::new());
    let nobody = participants::Place::File(folder.join("nobody"));
    let nobody = participants::Participants::open(&nobody, 1.0, clock).await;
    let nobody = nobody.expect("an empty file of participants opens").ports();
    let numbers = policies(1.0);
    let order = order_saga(&nobody).expect("well formed").saga.resolve(&numbers).expect("good numbers");
    let payment = payment_saga(&nobody).expect("well formed").saga.resolve(&numbers).expect("good numbers");
    let refund = refund_saga(&nobody).expect("well formed").saga.resolve(&numbers).expect("good numbers");
    [("order", order.plan), ("payment", payment.plan), ("refund", refund.plan)].into()
}

#[tokio::test]
async fn every_journal_of_the_shop_replays_and_one_per_path_is_kept() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let database = folder.path().join("shop.db");
    let ended = process::run(["--database", database.to_str().expect("paths are in UTF-8")]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);

    let plans = plans(folder.path()).await;
    let reader = SqliteStore::open_read_only(&database).await.expect("the shop has left a database");
    let mut replayed = 0;
    let mut after = None;
    loop {
        let filter = SagaFilter { after, limit: 100, ..SagaFilter::default() };
        let page = reader.list(&filter).await.expect("the database answers");
        let Some(last) = page.last() else { break };
        after = Some(last.id);
        for row in page {
            let plan = plans.get(&*row.definition.workflow).expect("the shop has three workflows");
            let loaded = reader.read(row.id).await.expect("it answers").expect("the saga was listed");
            let view = SagaView::new(plan.clone(), &loaded, Timestamp::MAX).expect("its journal replays");
            let text = serde_json::to_string(view.journal()).expect("journals are JSON");
            let again: Vec<Transition> = serde_json::from_str(&text).expect("what was written is read");
            assert_eq!(replay(plan, &again).as_ref(), Ok(view.state()), "{}", row.key);
            assert_eq!(view.state().phase.word(), row.phase, "the column says what the journal says");
            keep(&view, &row.definition.workflow, &row.key);
            replayed += 1;
        }
    }
    assert!(replayed > 250, "only {replayed} sagas");
    for (name, ..) in KEPT {
        let kept = process::repository(&format!("engine/core/tests/journals/{name}.jsonl"));
        assert!(kept.exists(), "{name} is not kept: run with KEEP_JOURNALS=1");
    }
}

/// Writes the journal if it is one of [`KEPT`], is not there yet, and that was asked for.
fn keep(view: &SagaView, workflow: &str, key: &str) {
    let Some((name, ..)) = KEPT.iter().find(|kept| (kept.1, kept.2) == (workflow, key)) else { return };
    let path = process::repository(&format!("engine/core/tests/journals/{name}.jsonl"));
    if std::env::var_os("KEEP_JOURNALS").is_some() && !path.exists() {
        std::fs::write(&path, kept_journal(view)).expect("the folder can be written to");
    }
}
