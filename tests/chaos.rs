//! Real processes on a real database, killed, frozen and drained at moments drawn from a seed, while the database itself
//! crashes: in the end every order has its saga, every saga has ended or stands on a desk with a reason, stock and
//! money balance, and no request took effect twice.
//!
//! ```text
//! cargo build --example shop && cargo test --test chaos -- --test-threads 1 --nocapture
//! CHAOS=long cargo test --release --test chaos -- --test-threads 1 --nocapture     after the same build with --release
//! CHAOS_SEED=7 CHAOS_ORDERS=500 cargo test --test chaos three -- --nocapture
//! ```
//!
//! `CHAOS=long` is 2 000 orders, and 1 000 sagas in flight at the kill whose recovery is measured. On a machine that is
//! busy with other things, `CHAOS_CALM_MS` gives it more time between two incidents (by default at most 1 200, long
//! 3 000).

#[path = "chaos/crowd.rs"]
mod crowd;
#[path = "shop/process.rs"]
mod process;
#[path = "chaos/real.rs"]
mod real;
#[path = "chaos/recovery.rs"]
mod recovery;
#[path = "chaos/server.rs"]
mod server;
#[path = "chaos/single.rs"]
mod single;

use crowd::Crowd;
use process::{Ended, Page, run};
use real::{Logs, is_long, moment, number, since};
use server::Server;
use tempfile::TempDir;

/// How long the last sagas may take once nothing happens any more, in seconds.
fn quiet_within() -> &'static str {
    if is_long() { "1800" } else { "240" }
}

/// The seed, which is printed, and the number of orders: so many in the short variant.
fn asked_for(short: u64) -> (u64, u64) {
    let orders = number("CHAOS_ORDERS", if is_long() { 2_000 } else { short });
    let seed = number("CHAOS_SEED", 20_261_130);
    println!("CHAOS_SEED={seed} CHAOS_ORDERS={orders}");
    (seed, orders)
}

/// The page of an audit that found nothing wrong.
#[track_caller]
fn all_is_well(audited: &Ended, orders: u64) -> Page {
    let page = Page::read(&audited.out);
    let broken: Vec<_> = page.rows("AUDIT").into_iter().filter(|rule| rule[1] != "holds").collect();
    assert!(audited.code == Some(0) && broken.is_empty(), "{broken:#?}\n{}\n{}", audited.err, audited.out);
    let sagas: u64 = page.rows("OUTCOMES").iter().map(|row| row[3].parse::<u64>().expect("a number")).sum();
    assert_eq!(sagas, orders, "one saga for each line");
    for row in page.rows("OUTCOMES") {
        println!("  {:>5} {} {} {}", row[3], row[0], row[1], row[2]);
    }
    page
}

/// The last words of a journal while the capture is unknown.
const CAPTURE_UNKNOWN: &str = "action = 'capture-payment/forward' \
    AND event IN ('BecameUnknown', 'QueryStarted', 'QueryAnswered', 'QueryFailed')";

/// Counts the takeovers that come directly after an event like this.
fn before(event: &str) -> String {
    format!(
        "SELECT count(*) FROM (SELECT event, detail ->> 'action' AS action, \
             lead(event) OVER (PARTITION BY saga_id ORDER BY seq, n) AS then_event FROM shop.saga_event) AS told \
         WHERE then_event = 'Claimed' AND {event}"
    )
}

#[tokio::test]
async fn three_workers_and_their_server_are_killed_at_random_and_nothing_is_lost_or_doubled() {
    let (seed, orders) = asked_for(300);
    let began = moment();
    let logs = TempDir::new().expect("a temporary folder");
    let mut server = Server::start().await;
    let said = Logs(logs.path());
    let mut crowd = Crowd::start(&mut server, seed, orders, logs.path());
    let tally = crowd.suffer().await;
    println!("{tally:?} within {:.1?}; who ended by itself said {:#?}", since(began), said.last_words());
    let lines = crowd.lines(orders);
    let url = crowd.url();
    let mut audit = vec!["--database".to_owned(), url, "--audit".to_owned(), quiet_within().to_owned()];
    audit.extend(lines);
    let audited = run(audit);
    all_is_well(&audited, orders);
    crowd.end().await;

    // What the audit says in its words, once more in SQL.
    let doubled = "SELECT count(*) FROM (SELECT request_id FROM shop_participants.effect \
                   GROUP BY request_id HAVING count(*) > 1) AS doubled";
    let doubled = server.number(doubled).await;
    let effects = server.number("SELECT count(*) FROM shop_participants.effect").await;
    let claimed = server.number("SELECT count(*) FROM shop.saga_event WHERE event = 'Claimed'").await;
    println!("{effects} effects, {doubled} doubled; sagas changed hands {claimed} times");
    let [undoing, unknown] = ["action LIKE '%/compensation' AND event = 'Started'", CAPTURE_UNKNOWN];
    let (undoing, unknown) = (server.number(&before(undoing)).await, server.number(&before(unknown)).await);
    println!("of those {undoing} in the middle of a compensation, {unknown} with an unknown capture");
    assert_eq!(doubled, 0, "a request id took effect twice");
    assert!(!is_long() || (undoing > 0 && unknown > 0), "the worst moments have not been met");
    assert_eq!(server.number("SELECT count(*) FROM shop.saga WHERE owner IS NOT NULL").await, 0);
    assert_eq!(server.number("SELECT count(*) FROM shop.worker").await, 0, "everybody has left");
    assert!(tally.kills > 0 && tally.stops > 0 && tally.crashes > 0 && claimed > 0, "{tally:?}");
    println!("all of it within {:.1?}", since(began));
}
