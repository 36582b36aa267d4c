//! Journals that faults have written, kept in `engine/core/tests/journals` for every later version to read.
//!
//! A journal of [`PATHS`] that is not there yet is written by
//! `KEEP_JOURNALS=1 cargo test -p amends-testkit --test it journals`; one that is there is never written anew.
//! Its story is then told by `UPDATE_EXPECT=1 cargo test -p amends-core --test it journals`.

use std::path::{Path, PathBuf};

use amends_core::{Transition, replay};
use amends_testkit::{Call, Fault, FaultKind, Side, World, WorldSaga, kept_journal};

use super::shop::Shop;

/// What goes wrong, as the laws would have it.
type Trouble = fn(&mut World);

fn meets(world: &mut World, step: &str, call: Call, kind: FaultKind) {
    world.inject(Fault::first(step, call, kind));
}

fn refused(world: &mut World) {
    meets(world, "capture-payment", Call::Forward, FaultKind::Refused);
}

/// Name and trouble of every path that the laws lead an order along.
const PATHS: &[(&str, Trouble)] = &[
    ("order-completed", |_| {}),
    ("order-turned-back", refused),
    ("order-retried", |world| meets(world, "reserve-stock", Call::Forward, FaultKind::Transient)),
    ("order-attempts-spent", |world| {
        world.inject(Fault::every("ship-parcel", Call::Forward, FaultKind::Transient));
    }),
    ("order-quarantined", |world| meets(world, "ship-parcel", Call::Forward, FaultKind::Persistent)),
    ("order-capture-found", |world| {
        meets(world, "capture-payment", Call::Forward, FaultKind::ReplyLost);
        meets(world, "capture-payment", Call::Query, FaultKind::QueryFails);
    }),
    ("order-capture-fenced", |world| {
        meets(world, "capture-payment", Call::Forward, FaultKind::RequestLost);
    }),
    ("order-repeated", |world| meets(world, "authorize-payment", Call::Forward, FaultKind::ReplyLost)),
    ("order-repeats-spent", |world| {
        world.inject(Fault::every("ship-parcel", Call::Forward, FaultKind::ReplyLost));
    }),
    ("order-compensation-found", |world| {
        refused(world);
        meets(world, "reserve-stock", Call::Compensation, FaultKind::ReplyLost);
        meets(world, "reserve-stock", Call::CompensationQuery, FaultKind::QueryLags);
    }),
    ("order-compensation-repeated", |world| {
        refused(world);
        meets(world, "authorize-payment", Call::Compensation, FaultKind::RequestLost);
    }),
    ("order-compensation-quarantined", |world| {
        refused(world);
        meets(world, "reserve-stock", Call::Compensation, FaultKind::Persistent);
    }),
    ("order-crashed-before-a-commit", |world| world.crash_at_commit(3, Side::Before)),
    ("order-crashed-after-a-commit", |world| world.crash_at_commit(3, Side::After)),
    ("order-crashed-while-turning-back", |world| {
        refused(world);
        world.crash_at_commit(4, Side::After);
    }),
    ("order-cancelled", |world| world.cancel_at_commit(2)),
    ("order-cancelled-too-late", |world| world.cancel_at_commit(3)),
];

fn ordered(trouble: Trouble) -> WorldSaga<String> {
    let mut world = World::new();
    let shop = Shop::new(&mut world);
    let order = shop.order();
    world.register(&order.saga);
    trouble(&mut world);
    let saga = world.start(&order.saga, "order-42", 3);
    world.run_until_settled();
    saga
}

fn kept(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/tests/journals");
    folder.join(name).with_extension("jsonl")
}

#[test]
fn every_path_of_an_order_has_a_kept_journal_that_its_plan_can_replay() {
    let write = std::env::var_os("KEEP_JOURNALS").is_some();
    for (name, trouble) in PATHS {
        let (path, view) = (kept(name), ordered(*trouble).view());
        if write && !path.exists() {
            std::fs::write(&path, kept_journal(&view)).expect("the journal can be kept");
        }
        let text = std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{name} is not kept yet ({error}): see the head of this file"));
        let head = kept_journal(&view).lines().next().map(str::to_owned);
        assert_eq!(text.lines().next(), head.as_deref(), "{name} was kept under another plan");
        let journal: Vec<Transition> = text
            .lines()
            .skip(1)
            .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{name}: {error}")))
            .collect();
        let state = replay(view.plan(), &journal).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(state.phase, view.phase, "{name} ended otherwise when it was kept");
    }
}
