//! The shop as its user meets it: the real program, on real files, by its output and its exit code.

#[path = "shop/person.rs"]
mod person;
#[path = "shop/process.rs"]
mod process;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use expect_test::expect;
use process::{Ended, Page, look_into, number, reach_into, repository, run, run_with_input, shop};
use sea_orm::ConnectionTrait as _;
use tempfile::TempDir;

/// A folder of its own for one database.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(TempDir::new().expect("a temporary folder can be made"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn database(&self) -> String {
        text(&self.path("shop.db"))
    }

    /// Runs these lines on the database.
    fn run_lines(&self, lines: &[u8], more: &[&str]) -> Ended {
        let database = self.database();
        let args = ["--database", &database, "--orders", "-"];
        run_with_input(args.iter().chain(more), lines)
    }
}

fn text(path: &Path) -> String {
    path.to_str().expect("temporary folders have names in UTF-8").to_owned()
}

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

#[test]
#[expect(clippy::disallowed_methods, reason = "the promise is about the seconds of a person who waits")]
fn the_lines_that_come_with_it_end_as_they_should_within_a_minute() {
    let place = Place::new();
    let database = place.database();
    let begun = std::time::Instant::now();
    let first = run(["--database", &database]);
    let took = begun.elapsed();
    assert_code(&first, 0);
    assert!(took < Duration::from_secs(60), "it took {took:?}");

    let page = Page::read(&first.out);
    let rows = |section| page.rows(section).into_iter().map(|row| row.join(" | ") + "\n").collect::<String>();
    expect![[r#"
        order | completed |  | 174
        order | compensated | authorize-payment gave up | 2
        order | compensated | authorize-payment refused: expired_card | 3
        order | compensated | authorize-payment refused: insufficient_funds | 14
        order | compensated | authorize-payment refused: nothing_held | 1
        order | compensated | authorize-payment refused: stolen_card | 3
        order | compensated | cancelled by operator: the customer called | 2
        order | compensated | capture-payment refused: nothing_held | 1
        order | compensated | reserve-stock refused: teapot-iron | 4
        order | compensated | reserve-stock refused: tin-limited | 14
        order | compensated | reserve-stock took effect in part | 1
        order | compensated | turned back by operator: no credential in sight | 1
        order | compensated | turned back by operator: the customer buys elsewhere | 1
        order | closed | in place: reserve-stock, authorize-payment, capture-payment | 1
        order | on a desk | authorize-payment/forward, mismatch | 1
        order | on a desk | capture-payment/forward, partial | 1
        order | on a desk | capture-payment/forward, queries-spent | 2
        order | on a desk | notify-customer/forward, persistent | 1
        order | on a desk | reserve-stock/compensation, stale | 1
        order | on a desk | ship-parcel/forward, persistent | 1
        payment | completed |  | 45
        payment | compensated | authorise refused: insufficient_funds | 5
        payment | compensated | authorise refused: stolen_card | 1
        payment | compensated | cancelled by operator: the customer pays in cash | 1
        payment | compensated | check-fraud gave up | 1
        payment | compensated | check-fraud refused: card-on-watch-list | 3
        payment | compensated | check-fraud refused: too-many-cards | 1
        payment | compensated | check-limit refused | 4
        payment | on a desk | capture-payment/forward, mismatch | 1
        payment | on a desk | print-receipt/forward, no-query | 2
        payment | on a desk | settle/forward, queries-spent | 1
        refund | completed |  | 22
        refund | compensated | check-refundable refused: more_than_paid | 1
        refund | compensated | check-refundable refused: never_sent | 1
        refund | compensated | check-refundable refused: not_positive | 1
        refund | compensated | read-sale refused | 2
        refund | on a desk | restock/forward, partial | 1
    "#]]
    .assert_eq(&rows("OUTCOMES"));
    expect![[r#"
        LINES
        322 sagas · 8 duplicates · 5 conflicts · 20 malformed · 43 by an operator
          line   61  malformed  $.order.address: the text holds a NUL character
          line   67  malformed  $.order.total.minor: invalid type: floating point `49.9`, expected i64
          line   80  malformed  $.order: the total is 0.01 EUR, but the lines come to 11.80 EUR
          line   88  malformed  $.order.customer: duplicate key
          line  102  malformed  $.faults[0]: no participant has a call `capture-money`; there are reserve-stock, release-stock, restock, authorize-payment, void-payment, capture-payment, refund-payment, settle-payment, ship-parcel, notify-customer, print-receipt, check-fraud, check-limit, read-sale
          line  105  malformed  $.order.total.minor: invalid type: string "4990", expected i64
          line  131  malformed  $.order.lines[0].quantity: the integer 18446744073709551616 is outside -2^63 to 2^64-1
          line  135  malformed  $.order.colour: unknown field `colour`, expected one of `order`, `customer`, `card`, `address`, `lines`, `total`
          line  154  malformed  $.order.total: duplicate key
          line  201  malformed  $.payment: the amount -5.00 EUR is not positive
          line  213  malformed  $: expected value (byte 1)
          line  245  malformed  $: more than one meaning: order, payment
          line  248  malformed  $.order[0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0]: nested deeper than 32
          line  255  malformed  $.order: missing field `customer`
          line  294  malformed  $: trailing comma (byte 122)
          line  299  malformed  $.resume.saga: `O-1001` names no saga; write workflow/key, as in order/O-1001
          line  310  malformed  $.order.lines[0]: EOF while parsing a string (byte 173)
          line  330  malformed  $.order.total.currency: unknown variant `EURO`, expected one of `EUR`, `USD`, `GBP`, `CHF`, `JPY`
          line  331  malformed  $.order: the quantity of `tea-assam` is zero
          line  379  malformed  $: unknown field `explode`; a line has one of `order`, `payment`, `refund`, `resume`, `cancel`, `turn_back`, `retry_now`, `send_again`, `accept`, `found`, `reject`, `waive`, `supply`, `keep`, `assign`, `set_disposition`, `compensate`, `compensate_in_doubt`, `pause`, `unpause`, `close`, `approve`, `deny`, `late_answer`
          line   39  conflict   payment/P-2007 was started with another input; it is untouched
          line   53  conflict   order/O-1016 was started with another input; it is untouched
          line  168  conflict   order/O-1101 was started with another input; it is untouched
          line  205  conflict   order/O-1124 was started with another input; it is untouched
          line  217  conflict   order/O-1130 was started with another input; it is untouched
          line   24  operator   resume settle/forward of payment/P-2003: accepted
          line  101  operator   resume ship-parcel/forward of order/O-1063: accepted
          line  133  operator   resume ship-parcel/forward of order/O-1089: not given: the saga ended without standing on a desk
          line  171  operator   cancel order/O-1111: pending
          line  174  operator   resume capture-payment/forward of order/O-1117: accepted
          line  176  operator   resume ship-parcel/forward of order/O-1118: accepted
          line  188  operator   resume ship-parcel/forward of order/O-1118: accepted
          line  234  operator   resume authorize-payment/forward of order/O-1148: accepted
          line  269  operator   cancel order/O-1168: accepted
          line  291  operator   resume reserve-stock/forward of order/O-1183: accepted
          line  304  operator   resume reserve-stock/compensation of order/O-1189: accepted
          line  322  operator   cancel order/O-1199: too late
          line  334  operator   resume ship-parcel/forward of order/O-1199: accepted
          line  345  operator   resume ship-parcel/forward of order/O-1215: accepted
          line  351  operator   accept print-receipt/forward of payment/P-2060: accepted
          line  352  operator   late_answer print-receipt/forward of payment/P-2060: heard
          line  354  operator   found print-receipt/forward of payment/P-2061: accepted
          line  356  operator   waive notify-customer/forward of refund/R-3028: accepted
          line  358  operator   reject reserve-stock/forward of order/O-1218: accepted
          line  360  operator   retry_now ship-parcel/forward of order/O-1219: accepted
          line  362  operator   pause order/O-1220: accepted
          line  363  operator   resume ship-parcel/forward of order/O-1220: accepted
          line  364  operator   unpause order/O-1220: accepted
          line  366  operator   close order/O-1221: accepted
          line  367  operator   approve order/O-1221: accepted
          line  369  operator   found authorize-payment/forward of order/O-1222: accepted
          line  371  operator   send_again capture-payment/forward of order/O-1223: accepted
          line  373  operator   approve reserve-stock/compensation of order/O-1224: accepted
          line  375  operator   turn_back order/O-1225: accepted
          line  377  operator   close order/O-1226: refused (denied by supervisor: the customer has paid)
          line  378  operator   deny order/O-1226: accepted
          line  381  operator   keep capture-payment/forward of order/O-1227: accepted
          line  383  operator   cancel order/O-1228: accepted
          line  384  operator   compensate_in_doubt reserve-stock/forward of order/O-1228: accepted
          line  386  operator   supply ship-parcel/forward of order/O-1229: accepted
          line  387  operator   compensate reserve-stock/manual:00000000-0000-4000-8000-000000001221 of order/O-1221: accepted
          line  388  operator   approve reserve-stock/manual:00000000-0000-4000-8000-000000001221 of order/O-1221: accepted
          line  389  operator   assign capture-payment/forward of order/O-1205: accepted
          line  390  operator   set_disposition capture-payment/forward of order/O-1205: accepted
          line  392  operator   late_answer authorise/forward of payment/P-2062: heard
          line  394  operator   cancel payment/P-2063: accepted
          line  395  operator   late_answer authorise/forward of payment/P-2063: heard
          line  396  operator   compensate authorise/manual:00000000-0000-4000-8000-000000002063 of payment/P-2063: accepted

    "#]].assert_eq(&(page.sections["LINES"].join("\n") + "\n"));
    // Without since when: everything else about what waits is always the same.
    let waiting = page.rows("DESK").into_iter().map(|mut row| {
        row.remove(4);
        row.join(" | ") + "\n"
    });
    expect![[r#"
        order/O-1041 | notify-customer/forward | quarantine | persistent | 1 | none | persistent bad_credential
        order/O-1111 | capture-payment/forward | reconciliation | queries-spent | 1 | possible | unknown unclear
        order/O-1205 | capture-payment/forward | reconciliation | queries-spent | 1 | possible | unknown unclear
        order/O-1213 | capture-payment/forward | quarantine | partial | 1 | partial | 
        order/O-1214 | authorize-payment/forward | reconciliation | mismatch | 1 | possible | unknown mismatch
        order/O-1216 | reserve-stock/compensation | approval | stale | 1 | none | 
        order/O-1226 | ship-parcel/forward | quarantine | persistent | 1 | none | persistent bad_credential
        payment/P-2013 | print-receipt/forward | reconciliation | no-query | 1 | possible | unknown reply_lost
        payment/P-2024 | print-receipt/forward | reconciliation | no-query | 1 | possible | unknown reply_lost
        payment/P-2058 | settle/forward | reconciliation | queries-spent | 1 | possible | 
        payment/P-2059 | capture-payment/forward | reconciliation | mismatch | 1 | possible | unknown mismatch
        payment/P-2060 | print-receipt/forward | discrepancy | contradiction | 1 | possible | unknown reply_lost
        refund/R-3026 | restock/forward | quarantine | partial | 1 | partial | 
    "#]].assert_eq(&waiting.collect::<String>());
    let rules = page.rows("AUDIT").into_iter().map(|row| format!("{}: {}\n", row[1], row[0]));
    expect![[r#"
        holds: stock balances: what there was is on the shelf, set aside or sent
        holds: the shelves agree with the reservations
        holds: money sums to zero in every movement
        holds: the accounts agree with what the gateway says it holds and took
        holds: no more was given back than was taken
        holds: at most one effect per request id
        holds: everything that happened belongs to a saga
        holds: a completed order or payment was paid once, with the right amount
        holds: a completed order was sent once, and its customer told once
        holds: a completed payment was settled once, and receipted once
        holds: a completed refund gave the right amount back, once
        holds: what was turned back left nothing: no money taken or given back, no parcel
        holds: nothing is held for what has ended: no money on a card, no goods set aside
    "#]]
    .assert_eq(&rules.collect::<String>());
    assert!(first.out.ends_with("Stock and money balance.\n"));
    assert!(first.err.contains("of 322 sagas ended"), "no line of progress: {}", first.err);
    assert!(!first.out.contains('\u{1b}'), "colours are for terminals");

    // The same again finds everything as it was.
    let second = run(["--database", &database]);
    assert_code(&second, 0);
    assert_eq!(second.out, first.out);
}

#[test]
fn the_order_of_arrival_changes_no_outcome() {
    let outcomes = |seed: &str| {
        let place = Place::new();
        let ended = run(["--database", &place.database(), "--seed", seed, "--pace", "0.005"]);
        assert_code(&ended, 0);
        Page::read(&ended.out).rows("OUTCOMES")
    };
    assert_eq!(outcomes("1"), outcomes("2"));
}

#[test]
fn a_bad_line_is_named_with_number_path_and_reason_and_the_rest_goes_on() {
    let place = Place::new();
    let mut lines = Vec::new();
    for line in [
        order("O-1").into_bytes(),
        b"{\"order\": {\"order\": \"O-\xff\"}}".to_vec(),
        br#"{"order": {"order": "O-2", "cust\u006fmer": "c-2", "customer": "c-1"}}"#.to_vec(),
        order("O-3").replace("\"minor\": 2500", "\"minor\": 25.00").into_bytes(),
        format!("{{\"note\": \"{}\"}}", "x".repeat(70_000)).into_bytes(),
        format!("{}{}", "[".repeat(40_000), "]".repeat(20_000)).into_bytes(),
        b"{}".to_vec(),
        b"".to_vec(),
        order("O-4").into_bytes(),
    ] {
        lines.extend(line);
        lines.push(b'\n');
    }
    let ended = place.run_lines(&lines, &[]);
    assert_code(&ended, 0);
    let page = Page::read(&ended.out);
    expect![[r#"
        LINES
        2 sagas · 0 duplicates · 0 conflicts · 6 malformed · 0 by an operator
          line    2  malformed  $.order.order: invalid UTF-8 at byte 24
          line    3  malformed  $.order.customer: duplicate key
          line    4  malformed  $.order.total.minor: invalid type: floating point `25.0`, expected i64
          line    5  malformed  $: 65538 bytes are more than the 65536 of one document
          line    6  malformed  $[0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0]: nested deeper than 32
          line    7  malformed  $: missing one of `order`, `payment`, `refund`, `resume`, `cancel`, `turn_back`, `retry_now`, `send_again`, `accept`, `found`, `reject`, `waive`, `supply`, `keep`, `assign`, `set_disposition`, `compensate`, `compensate_in_doubt`, `pause`, `unpause`, `close`, `approve`, `deny`, `late_answer`

    "#]]
    .assert_eq(&(page.sections["LINES"].join("\n") + "\n"));
    assert_eq!(page.rows("OUTCOMES"), [["order", "completed", "", "2"]]);
}

#[test]
fn the_same_key_with_another_amount_is_a_conflict_and_changes_nothing() {
    let place = Place::new();
    let other = order("O-1").replace("2500", "3750").replace("\"quantity\": 2", "\"quantity\": 3");
    let ended = place.run_lines(format!("{}\n{other}\n{}\n", order("O-1"), order("O-1")).as_bytes(), &[]);
    assert_code(&ended, 0);
    let page = Page::read(&ended.out);
    assert!(page.line("LINES", "1 saga · 1 duplicate · 1 conflict · 0 malformed").is_some(), "{}", ended.out);
    assert!(page.line("LINES", "line    2  conflict   order/O-1").is_some(), "{}", ended.out);
    assert_eq!(page.rows("OUTCOMES"), [["order", "completed", "", "1"]]);
}

#[test]
fn what_a_person_does_is_given_once_however_often_the_line_comes() {
    let place = Place::new();
    let stuck = order("O-1").replace(
        "{\"order\": {",
        "{\"faults\": [{\"call\": \"ship-parcel\", \"kind\": \"persistent\", \"from\": 1, \"to\": 2}], \"order\": {",
    );
    let resume = r#"{"resume": {"saga": "order/O-1", "action": "ship-parcel/forward", "reason": "credential renewed"}}"#;
    let lines = format!("{stuck}\n{resume}\n");
    for _ in 0..2 {
        // The second attempt fails as the first one did, and the line, given already, is not given again.
        let ended = place.run_lines(lines.as_bytes(), &[]);
        assert_code(&ended, 0);
        let page = Page::read(&ended.out);
        let said = page.line("LINES", "line    2  operator");
        assert!(said.is_some_and(|line| line.ends_with("accepted")), "{}", ended.out);
        let desk = page.rows("DESK");
        assert_eq!(desk.len(), 1, "{}", ended.out);
        assert_eq!((desk[0][1].as_str(), desk[0][5].as_str()), ("ship-parcel/forward", "2"));
    }
    // Another line is another operation.
    let ended = place.run_lines(format!("{lines}{resume}\n").as_bytes(), &[]);
    assert_code(&ended, 0);
    assert_eq!(Page::read(&ended.out).rows("OUTCOMES"), [["order", "completed", "", "1"]]);
}

#[tokio::test]
async fn a_piece_that_nobody_can_explain_breaks_the_balance() {
    let place = Place::new();
    assert_code(&place.run_lines(order("O-1").as_bytes(), &[]), 0);
    let participants = reach_into(&place.path("shop.db.participants")).await;
    participants
        .execute_unprepared("UPDATE stock SET on_hand = on_hand + 1 WHERE sku = 'cup-blue'")
        .await
        .unwrap();
    participants.close().await.unwrap();
    let ended = place.run_lines(order("O-1").as_bytes(), &[]);
    assert_code(&ended, 1);
    let broken: Vec<Vec<String>> =
        Page::read(&ended.out).rows("AUDIT").into_iter().filter(|row| row[1] != "holds").collect();
    assert_eq!(broken.len(), 1, "{broken:?}");
    assert!(broken[0][2].contains("cup-blue"), "{broken:?}");
    assert!(ended.out.contains("DO NOT BALANCE"), "{}", ended.out);

    // From the beginning, all is well again.
    assert_code(&place.run_lines(order("O-1").as_bytes(), &["--fresh"]), 0);
}

#[tokio::test]
async fn a_missing_movement_of_money_breaks_the_balance() {
    let place = Place::new();
    assert_code(&place.run_lines(order("O-1").as_bytes(), &[]), 0);
    let participants = reach_into(&place.path("shop.db.participants")).await;
    participants.execute_unprepared("DELETE FROM entry WHERE account = 'clearing'").await.unwrap();
    participants.close().await.unwrap();
    assert_code(&place.run_lines(order("O-1").as_bytes(), &[]), 1);
}

#[test]
fn input_that_cannot_be_used_is_refused_with_what_to_do() {
    let place = Place::new();
    let refused = |args: &[&str], what: &str, then: &str| {
        let ended = run(args);
        assert_code(&ended, 2);
        assert!(ended.err.contains(what) && ended.err.contains(then), "{args:?}: {}", ended.err);
        assert_eq!(ended.out, "");
    };
    let database = place.database();
    refused(&["--orders", "/nowhere/orders.jsonl"], "cannot be read", "--orders");
    refused(&["--orders", place.0.path().to_str().unwrap()], "cannot be read", "--orders");
    refused(&["--database", "postgres://[/shop"], "no URL of a PostgreSQL database", "--database");
    refused(
        &["--database", "postgres:///shop?options[search_path]=My%20Shop"],
        "name of a schema",
        "lower-case",
    );
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").and_then(|nobody| nobody.local_addr()).unwrap();
    refused(&["--database", &format!("postgres://me@{nobody}/shop")], "Connection refused", "--database");
    refused(&["--database", "mysql://localhost/shop"], "no kind of database", "--database");
    refused(&["--database", "sqlite://:memory:"], "names no file", "--database");
    refused(&["--database", "/nowhere/shop.db"], "does not exist", "--database");
    refused(&["--pace", "never"], "invalid value", "--help");
    refused(&["--shwo", "O-1"], "unexpected argument", "--help");
    refused(&["--database", &database, "--show", "O-1"], "does not exist", "--database");

    let nothing = place.run_lines(b"{}\nno json\n", &[]);
    assert_code(&nothing, 2);
    assert!(
        nothing.err.contains("stdin:2: $") && nothing.err.contains("no line that can be used"),
        "{nothing:?}"
    );
    assert!(!place.path("shop.db").exists(), "what cannot be used leaves no database behind");

    std::fs::write(place.path("shop.db"), "this is no database, but a letter to nobody in particular")
        .unwrap();
    let letter = place.run_lines(order("O-1").as_bytes(), &[]);
    assert_code(&letter, 2);
}

#[test]
fn a_saga_can_be_shown_while_a_run_goes_on_and_after_it() {
    let place = Place::new();
    let database = place.database();
    let slow = order("O-2").replace(
        "{\"order\": {",
        "{\"faults\": [{\"call\": \"ship-parcel\", \"kind\": \"slow\", \"millis\": 4900}], \"order\": {",
    );
    let lines = place.path("lines.jsonl");
    std::fs::write(&lines, format!("{}\n{slow}\n", order("O-1"))).unwrap();
    let mut running = shop()
        .args(["--database", &database, "--orders", lines.to_str().unwrap(), "--pace", "1"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let shown = loop {
        let shown = run(["--database", &database, "--show", "order/O-2"]);
        if shown.out.contains("ship-parcel started") || running.try_wait().unwrap().is_some() {
            break shown;
        }
    };
    assert_code(&shown, 0);
    assert!(shown.out.contains("ship-parcel        running  after capture-payment"), "{}", shown.out);
    let waits = "WAITS FOR\nship-parcel/forward: attempt 1 is under way since ";
    assert!(shown.out.contains(waits), "{}", shown.out);
    assert!(running.try_wait().unwrap().is_none(), "the run was still going on");
    // It owns the database: a second run is turned away, and touches nothing.
    let second = place.run_lines(order("O-3").as_bytes(), &["--fresh"]);
    assert_code(&second, 2);
    assert!(second.err.contains("another process"), "{}", second.err);
    assert_eq!(running.wait().unwrap().code(), Some(0));

    let by_key = run(["--database", &database, "--show", "O-2"]);
    assert_code(&by_key, 0);
    let id = by_key.out.lines().next().unwrap().split_whitespace().last().unwrap();
    assert_eq!(run(["--database", &database, "--show", id]).out, by_key.out);
    let names = ["GRAPH", "TIMELINE", "completed", "notify-customer succeeded"];
    assert!(names.iter().all(|name| by_key.out.contains(name)), "{}", by_key.out);
    assert_code(&run(["--database", &database, "--show", "O-99"]), 2);
}

#[tokio::test]
async fn an_interrupted_run_ends_in_good_order_and_says_how_to_continue() {
    let place = Place::new();
    let database = place.database();
    let short = text(&repository("tests/data/short-orders.jsonl"));
    let args = ["--database", &database, "--orders", &short, "--pace", "0.3"];
    let mut child = shop().args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut goes_on = || assert!(child.try_wait().unwrap().is_none(), "it ended too early");
    while !place.path("shop.db.participants").exists() {
        goes_on();
        std::thread::yield_now();
    }
    let db = look_into(&place.path("shop.db")).await;
    while number(&db, "SELECT count(*) FROM saga").await < 5 {
        goes_on();
        tokio::task::yield_now().await;
    }
    db.close().await.unwrap();
    // Of this child alone, by its id.
    let killed =
        std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(143), "128 and the number of SIGTERM");
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.contains("the same command without --fresh continues"), "{err}");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "", "half a run has no report");

    let ended = run(args);
    assert_code(&ended, 0);
    assert!(ended.out.ends_with("Stock and money balance.\n"), "{}", ended.out);
}
