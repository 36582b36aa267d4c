//! The shop on PostgreSQL, as its user meets it: the real program, on schemas of its own on the tests' server.

#[path = "shop/process.rs"]
mod process;
#[path = "shop/schemas.rs"]
mod schemas;

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use process::{Ended, Page, repository, run, shop};
use schemas::Schemas;
use sea_orm::sqlx;
use tempfile::TempDir;

/// An order that nothing happens to.
fn order(key: &str) -> String {
    format!(
        r#"{{"order": {{"order": "{key}", "customer": "c-1", "card": "tok-visa-1", "address": "Lindenweg 4", "lines": [{{"sku": "tea-assam", "quantity": 2, "price": {{"minor": 1250, "currency": "EUR"}}}}], "total": {{"minor": 2500, "currency": "EUR"}}}}}}"#
    )
}

#[track_caller]
fn assert_code(ended: &Ended, code: i32) {
    assert_eq!(ended.code, Some(code), "--- out\n{}\n--- err\n{}", ended.out, ended.err);
}

/// The last page, without since when things wait.
fn page(ended: &Ended) -> Page {
    assert_code(ended, 0);
    let mut page = Page::read(&ended.out);
    let desk = page.rows("DESK").into_iter().map(|mut row| {
        row.remove(4);
        row.join(" | ")
    });
    let desk = desk.collect();
    page.sections.insert("DESK".to_owned(), desk);
    page
}

#[tokio::test]
async fn the_last_page_is_the_same_on_postgres_as_on_a_file() {
    let schemas = Schemas::new();
    let orders = repository("tests/data/short-orders.jsonl");
    let orders = orders.to_str().expect("UTF-8");
    let folder = TempDir::new().expect("a temporary folder");
    let file = folder.path().join("shop.db");
    let on = |database: &str| run(["--database", database, "--orders", orders, "--pace", "0.05"]);
    let on_file = page(&on(file.to_str().expect("UTF-8")));
    let url = schemas.url();
    let first = on(&url);
    assert_eq!(page(&first), on_file);
    assert!(first.out.ends_with("Stock and money balance.\n"), "{}", first.out);
    // Everything is where it should be, and the same again finds it as it was.
    let there = "SELECT count(*) FROM SHOP.saga WHERE phase = 'completed'";
    assert!(schemas.number(there).await > 0);
    assert!(schemas.number("SELECT count(*) FROM SHOP_participants.effect").await > 0);
    let second = on(&url);
    assert_code(&second, 0);
    assert_eq!(second.out, first.out);
    assert_eq!(schemas.number("SELECT count(*) FROM SHOP.node WHERE ended_at IS NULL").await, 0);

    // A piece that nobody can explain is found there, too.
    schemas.sql("UPDATE SHOP_participants.stock SET on_hand = on_hand + 1 WHERE sku = 'cup-blue'").await;
    let broken = on(&url);
    assert_code(&broken, 1);
    assert!(broken.out.contains("cup-blue") && broken.out.contains("DO NOT BALANCE"), "{}", broken.out);
}

/// A worker at work, and where it writes.
async fn worker(url: &str) -> Child {
    let mut command = shop();
    command.args(["--database", url, "--worker", "--lease", "2", "--pace", "0.05"]);
    let mut worker = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the shop starts");
    let mut said = String::new();
    let err = worker.stderr.as_mut().expect("it was piped");
    BufReader::new(err).read_line(&mut said).expect("it prints text");
    assert!(said.starts_with("at work as "), "{said}");
    worker
}

/// Ends one process, by its id, and nobody else.
fn terminate(mut child: Child) -> Option<i32> {
    let sent = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    assert!(sent.expect("kill is there").success());
    child.wait().expect("it can be waited for").code()
}

#[tokio::test]
async fn what_one_process_submits_others_see_through_and_a_third_audits() {
    let schemas = Schemas::new();
    let url = schemas.url();
    let lines = |number: &'static str| ["--database", &url, "--generated", number, "--seed", "7"];
    let workers = [worker(&url).await, worker(&url).await];
    for (number, said) in [("20", "20 sagas are there; 0 of"), ("40", "40 sagas are there; 0 of")] {
        let submitted = run(lines(number).iter().chain(&["--submit", "--lease", "2", "--pace", "0.05"]));
        assert_code(&submitted, 0);
        assert!(submitted.err.contains(said), "{}", submitted.err);
    }
    assert_eq!(schemas.number("SELECT count(*) FROM SHOP.saga").await, 40, "the first twenty are the same");

    let audited = run(lines("40").iter().chain(&["--audit", "60"]));
    assert_code(&audited, 0);
    let page = Page::read(&audited.out);
    let ended: i64 =
        page.rows("OUTCOMES").into_iter().filter(|row| row[1] != "on a desk").map(number_of).sum();
    assert_eq!(ended, 40, "nobody is needed for what is made up: {}", audited.out);
    assert!(page.rows("AUDIT").iter().all(|rule| rule[1] == "holds"), "{}", audited.out);
    assert_eq!(
        schemas.number("SELECT count(*) FROM SHOP.node WHERE ended_at IS NULL").await,
        2,
        "it joins nobody"
    );
    for worker in workers {
        assert_eq!(terminate(worker), Some(0));
    }
    assert_eq!(schemas.number("SELECT count(*) FROM SHOP.worker").await, 0);

    // A line that nobody submitted, and a saga that nobody works on, are found.
    let missing = run(lines("41").iter().chain(&["--audit", "0"]));
    assert_code(&missing, 1);
    let rule = page_line(&missing, "every line that starts a saga has its saga");
    assert!(rule.contains("BROKEN"), "{rule}");
    let more = run(lines("60").iter().chain(&["--submit", "--lease", "2", "--pace", "100"]));
    assert_code(&more, 0);
    let unworked = run(lines("60").iter().chain(&["--audit", "0"]));
    assert_code(&unworked, 1);
    let rule = page_line(&unworked, "every saga has ended, or stands on a desk with a reason");
    assert!(rule.contains("BROKEN"), "{rule}");
}

#[tokio::test]
async fn a_line_that_a_busy_database_did_not_take_is_not_left_out_in_silence() {
    let schemas = Schemas::new();
    let url = schemas.url();
    assert_code(&schemas.run_lines(&order("first"), &[]), 0);
    let submit =
        || run(["--database", &url, "--submit", "--generated", "20", "--seed", "7", "--pace", "0.05"]);
    schemas
        .sql(
            "CREATE FUNCTION SHOP_participants.refuse() RETURNS trigger LANGUAGE plpgsql AS \
             $$ BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = '53100'; END $$; \
             CREATE TRIGGER refuse BEFORE INSERT ON SHOP_participants.fault \
             EXECUTE FUNCTION SHOP_participants.refuse()",
        )
        .await;
    let failed = submit();
    assert_code(&failed, 2);
    assert!(failed.err.contains("could not be begun, and is to come again"), "{}", failed.err);
    schemas.sql("DROP TRIGGER refuse ON SHOP_participants.fault").await;
    assert_code(&submit(), 0);
    assert_eq!(schemas.number("SELECT count(*) FROM SHOP.saga").await, 21);
}

fn number_of(row: Vec<String>) -> i64 {
    row.last().expect("a number").parse().expect("a number")
}

fn page_line(ended: &Ended, begins: &str) -> String {
    let rows = Page::read(&ended.out).rows("AUDIT");
    rows.into_iter().find(|row| row[0].starts_with(begins)).expect("the rule is there").join(" ")
}

#[tokio::test]
async fn a_saga_on_postgres_is_shown_without_joining() {
    let schemas = Schemas::new();
    let url = schemas.url();
    let nothing = run(["--database", &url, "--show", "O-1"]);
    assert_code(&nothing, 2);
    assert!(nothing.err.contains("has not run on this database"), "{}", nothing.err);
    assert_eq!(schemas.schemas().await, 0, "whoever only looks makes nothing");

    assert_code(&schemas.run_lines(&order("O-1"), &[]), 0);
    let nodes = schemas.number("SELECT count(*) FROM SHOP.node").await;
    let shown = run(["--database", &url, "--show", "order/O-1"]);
    assert_code(&shown, 0);
    assert!(
        shown.out.contains("TIMELINE") && shown.out.contains("notify-customer succeeded"),
        "{}",
        shown.out
    );
    assert_eq!(schemas.number("SELECT count(*) FROM SHOP.node").await, nodes);
}

#[tokio::test]
async fn fresh_on_postgres_removes_what_the_shop_made_and_nothing_else() {
    let schemas = Schemas::new();
    assert_code(&schemas.run_lines(&order("O-1"), &["--fresh"]), 0);
    assert_code(&schemas.run_lines(&order("O-2"), &["--fresh"]), 0);
    assert_eq!(schemas.number("SELECT count(*) FROM SHOP.saga").await, 1);

    // What others keep there, or build on it, stays: and then all does.
    for (theirs, gone) in [
        ("CREATE TABLE SHOP_participants.theirs (n INTEGER)", "DROP TABLE SHOP_participants.theirs"),
        ("CREATE VIEW SHOP.theirs AS SELECT key FROM SHOP.saga", "DROP VIEW SHOP.theirs"),
    ] {
        schemas.sql(theirs).await;
        let refused = schemas.run_lines(&order("O-3"), &["--fresh"]);
        assert_code(&refused, 2);
        assert!(refused.err.contains("cannot be removed"), "{}", refused.err);
        assert!(refused.err.contains("remove by hand what is not the shop's"), "{}", refused.err);
        assert_eq!(schemas.number("SELECT count(*) FROM SHOP.saga WHERE key = 'O-2'").await, 1);
        schemas.sql(gone).await;
    }

    // A process at work keeps it away.
    let mut at_work = schemas.person().await;
    let lock = sqlx::query("SELECT pg_advisory_lock_shared(hashtextextended($1, 0))");
    lock.bind(format!("shop of amends: {}", schemas.name)).execute(&mut at_work).await.expect("it locks");
    let refused = schemas.run_lines(&order("O-3"), &["--fresh"]);
    assert_code(&refused, 2);
    assert!(refused.err.contains("another process is at work"), "{}", refused.err);
    drop(at_work);

    // A lost schema is not made anew.
    schemas.sql("DROP SCHEMA SHOP_participants CASCADE").await;
    let lost = schemas.run_lines(&order("O-3"), &[]);
    assert_code(&lost, 2);
    assert!(lost.err.contains("is missing; put the missing schema back"), "{}", lost.err);
    assert_code(&schemas.run_lines(&order("O-3"), &["--fresh"]), 0);
}

#[tokio::test]
async fn a_schema_that_the_shop_has_not_made_is_left_alone() {
    let schemas = Schemas::new();
    schemas.sql("CREATE SCHEMA SHOP").await;
    for more in [&[][..], &["--fresh"]] {
        let refused = schemas.run_lines(&order("O-1"), more);
        assert_code(&refused, 2);
        assert!(refused.err.contains("was not made by the shop"), "{}", refused.err);
        assert!(refused.err.contains("options[search_path]"), "{}", refused.err);
    }
    assert_eq!(schemas.schemas().await, 1);
}
