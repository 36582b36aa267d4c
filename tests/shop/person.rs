//! What goes wrong around the shop, and must cost a person nothing: a wrong path, a lost file, a hostile line,
//! a terminal that nobody looks at. Each test is named for the symptom that somebody met.

use std::fs;
use std::process::Stdio;

use sea_orm::{ConnectionTrait as _, Database};

use super::process::{Page, run, run_with_input, shop};
use super::{Place, assert_code, order, text};

/// A database of somebody else, which must stay as it is.
async fn foreign_database(path: &std::path::Path) -> Vec<u8> {
    let url = format!("sqlite://{}?mode=rwc", path.display());
    let db = Database::connect(url).await.expect("a new database can be made");
    let sql = "CREATE TABLE photo (id INTEGER); INSERT INTO photo VALUES (1)";
    db.execute_unprepared(sql).await.expect("it takes tables");
    db.close().await.expect("it can be closed");
    fs::read(path).expect("it is a file")
}

#[tokio::test]
async fn fresh_removes_no_file_that_is_not_the_shops() {
    let place = Place::new();
    let refuse = |path: &str| {
        let ended = run_with_input(["--database", path, "--orders", "-", "--fresh"], order("O-1").as_bytes());
        assert_code(&ended, 2);
        let said = ["is not a database of the shop", "remove it by hand, or give --database another path"];
        assert!(said.iter().all(|said| ended.err.contains(said)), "{}", ended.err);
    };
    let thesis = place.path("thesis.txt");
    fs::write(&thesis, "four years of work").unwrap();
    refuse(&text(&thesis));
    assert_eq!(fs::read(&thesis).unwrap(), b"four years of work");

    let photos = place.path("photos.db");
    let before = foreign_database(&photos).await;
    refuse(&text(&photos));
    assert_eq!(fs::read(&photos).unwrap(), before);

    // Nor one that only lies where the participants' would.
    let beside = place.path("new.db.participants");
    let before = foreign_database(&beside).await;
    refuse(&text(&place.path("new.db")));
    assert_eq!(fs::read(&beside).unwrap(), before);
    let left = fs::read_dir(place.path("")).unwrap().count();
    assert_eq!(left, 3, "neither a lock nor anything else was left behind");

    // An empty file is nobody's loss, and one of the shop's own goes, as it was asked for.
    fs::write(place.path("shop.db"), "").unwrap();
    for _ in 0..2 {
        assert_code(&place.run_lines(order("O-1").as_bytes(), &["--fresh"]), 0);
    }
}

#[tokio::test]
async fn a_database_of_somebody_else_gets_no_tables_and_is_not_shown() {
    let place = Place::new();
    let before = foreign_database(&place.path("shop.db")).await;
    for ended in [
        place.run_lines(order("O-1").as_bytes(), &[]),
        run(["--database", &place.database(), "--show", "O-1"]),
    ] {
        assert_code(&ended, 2);
        assert!(ended.err.contains("is not a database of the shop"), "{}", ended.err);
    }
    assert_eq!(fs::read(place.path("shop.db")).unwrap(), before);
    assert!(!place.path("shop.db.participants").exists());
}

#[test]
fn a_file_that_only_looks_like_the_lock_keeps_what_is_in_it() {
    let place = Place::new();
    let lock = place.path("shop.db.lock");
    fs::write(&lock, "the combination of the lock is 17-4-29").unwrap();
    let ended = place.run_lines(order("O-1").as_bytes(), &[]);
    assert_code(&ended, 2);
    assert!(ended.err.contains("shop.db.lock is no lock of a database"), "{}", ended.err);
    assert_eq!(fs::read_to_string(&lock).unwrap(), "the combination of the lock is 17-4-29");
    // What an earlier owner left is one.
    fs::write(&lock, "4711\n").unwrap();
    assert_code(&place.run_lines(order("O-1").as_bytes(), &[]), 0);
}

#[test]
fn a_saga_is_shown_although_nothing_can_be_written_beside_its_database() {
    let place = Place::new();
    assert_code(&place.run_lines(order("O-1").as_bytes(), &[]), 0);
    // In the way of the files that SQLite would make: for it, as good as a folder that is read-only.
    for end in ["-wal", "-shm"] {
        assert!(!place.path(&format!("shop.db{end}")).exists(), "it was closed in good order");
    }
    fs::create_dir(place.path("shop.db-shm")).unwrap();
    let shown = run(["--database", &place.database(), "--show", "O-1"]);
    assert_code(&shown, 0);
    assert!(shown.out.contains("notify-customer succeeded"), "{}", shown.out);
}

#[test]
fn a_lost_file_of_the_participants_is_not_made_anew() {
    let place = Place::new();
    let participants = place.path("shop.db.participants");
    assert_code(&place.run_lines(order("O-1").as_bytes(), &[]), 0);
    fs::rename(&participants, place.path("kept")).unwrap();
    let lost = place.run_lines(order("O-1").as_bytes(), &[]);
    assert_code(&lost, 2);
    assert!(lost.err.contains("is missing; put the missing file back"), "{}", lost.err);
    assert!(!participants.exists());
    fs::rename(place.path("kept"), &participants).unwrap();
    assert_code(&place.run_lines(order("O-1").as_bytes(), &[]), 0);

    // The other one alone makes no sense either.
    fs::rename(place.path("shop.db"), place.path("kept")).unwrap();
    let lost = place.run_lines(order("O-1").as_bytes(), &[]);
    assert_code(&lost, 2);
    assert!(lost.err.contains("has effects of sagas that"), "{}", lost.err);
}

#[test]
fn a_name_of_a_file_may_look_like_a_url() {
    // Only what says that it is a URL is read as one.
    for (scheme, given, name) in [
        ("", "really?.db", "really?.db"),
        ("", "100%20 #1.db", "100%20 #1.db"),
        ("sqlite://", "my%20shop.db?mode=rwc", "my shop.db"),
    ] {
        let place = Place::new();
        let database = format!("{scheme}{}", text(&place.path(given)));
        let ended = run_with_input(["--database", &database, "--orders", "-"], order("O-1").as_bytes());
        assert_code(&ended, 0);
        for end in ["", ".participants"] {
            assert!(place.path(&format!("{name}{end}")).exists(), "{name}{end}");
        }
        assert_code(&run(["--database", &database, "--show", "O-1"]), 0);
    }
}

#[test]
fn an_escape_sequence_in_a_line_never_reaches_the_terminal() {
    let place = Place::new();
    let stands = r#"{"faults": [{"call": "reserve-stock", "kind": "persistent"}], "order": {"#;
    let lines = [
        order("O-1"),
        order(r"O-\u001b[2J"),
        order("O-2").replace("tea-assam", r"tea\u009b31m"),
        order("O-3").replace("\"customer\"", r#""\u001b]0;owned\u0007": 1, "customer""#),
        order("O-4").replacen("{\"order\": {", stands, 1),
        r#"{"cancel": {"saga": "order/O-4", "reason": "\u001b[31mred\r\nStock and money balance."}}"#
            .to_owned(),
        r#"{"cancel": {"saga": "order/\u001b[1m", "reason": "none"}}"#.to_owned(),
    ];
    let ended = place.run_lines(lines.join("\n").as_bytes(), &[]);
    assert_code(&ended, 0);
    let page = Page::read(&ended.out);
    let refused = "$.order.order: a name holds the control character U+001B";
    assert!(page.line("LINES", &format!("line    2  malformed  {refused}")).is_some(), "{}", ended.out);
    assert_eq!(ended.out.matches("\nStock and money balance.").count(), 1, "{}", ended.out);
    let shown = run(["--database", &place.database(), "--show", "O-4"]);
    assert_code(&shown, 0);
    let nobody = run(["--database", &place.database(), "--show", "\u{1b}[2J"]);
    assert_code(&nobody, 2);
    for text in [&ended.out, &ended.err, &shown.out, &nobody.err] {
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
    }
}

#[test]
fn nobody_listening_stops_no_run() {
    let place = Place::new();
    let lines = place.path("lines.jsonl");
    fs::write(&lines, format!("{}\nno json\n", order("O-1"))).unwrap();
    let args = ["--database", &place.database(), "--orders", &text(&lines)];
    // A disk that is full under standard error, and a reader of standard output that has gone.
    let full = || fs::File::options().write(true).open("/dev/full").unwrap();
    let mut child = shop().args(args).stdout(Stdio::piped()).stderr(full()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    // A page that cannot be written is a failure, and said; not a panic.
    let ended = shop().args(args).stdout(full()).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(ended.status.code(), Some(2));
    let err = String::from_utf8(ended.stderr).unwrap();
    assert!(err.contains("failed to print the report") && !err.contains("panicked"), "{err}");
}

#[test]
fn the_desk_offers_a_line_that_works_when_it_is_pasted() {
    let place = Place::new();
    let fault = "{\"faults\": [{\"call\": \"ship-parcel\", \"kind\": \"persistent\"}], \"order\": {";
    let order = order("O-1").replacen("{\"order\": {", fault, 1);
    let ended = place.run_lines(order.as_bytes(), &[]);
    assert_code(&ended, 0);
    let page = Page::read(&ended.out);
    let offered =
        "order/O-1 ship-parcel/forward: resume, accept, waive, pause, assign, set_disposition, close";
    assert!(page.line("DESK", offered).is_some(), "{}", ended.out);
    let line = page.line("DESK", r#"{"resume""#).expect("there is a line").trim().to_owned();
    let shown = run(["--database", &place.database(), "--show", "O-1"]);
    assert!(shown.out.contains("running, on a desk  started"), "{}", shown.out);
    assert!(shown.out.contains(&line) && shown.out.contains("(1 attempt, "), "{}", shown.out);

    let ended = place.run_lines(format!("{order}\n{line}\n").as_bytes(), &[]);
    assert_code(&ended, 0);
    let page = Page::read(&ended.out);
    assert_eq!(page.rows("OUTCOMES"), [["order", "completed", "", "1"]]);
}

#[test]
fn what_is_no_line_is_told_apart_in_the_words_of_the_shop() {
    let place = Place::new();
    let empty = place.run_lines(b"\n", &[]);
    assert_code(&empty, 2);
    assert!(empty.err.contains("stdin is empty; give --orders"), "{}", empty.err);

    let lines = [
        format!("\u{feff}{}", order("O-1")),
        format!("[{}]", order("O-2")),
        r#"{"order": "O-3"}"#.to_owned(),
        r#"{"order": ["O-4", "c-1", "tok-1", "here", [], {"minor": 1, "currency": "EUR"}]}"#.to_owned(),
        r#"{"payment": {"payment": "P-1", "customer": "c-1", "card": "tok-1", "amount": 5}}"#.to_owned(),
        r#"{"refund": 7}"#.to_owned(),
    ];
    let ended = place.run_lines(lines.join("\n").as_bytes(), &[]);
    assert_code(&ended, 2);
    let said: Vec<&str> = ended.err.lines().collect();
    expect_test::expect![[r#"
        stdin:1: $: begins with a byte order mark; save the file as UTF-8 without one
        stdin:2: $: this is no object; a line is one, as in {"order": {"order": "O-1", …}}
        stdin:3: $.order: invalid type: string "O-3", expected an order, an object
        stdin:4: $.order: the order has no lines
        stdin:5: $.payment.amount: invalid type: integer `5`, expected an amount, an object
        stdin:6: $.refund: invalid type: integer `7`, expected a refund, an object
        shop: stdin has no line that can be used (6 malformed); give --orders a file with one JSON document per line, as in examples/orders.jsonl"#]].assert_eq(&said.join("\n"));
}

#[test]
fn the_command_line_says_what_it_is_and_what_it_wants() {
    let version = run(["--version"]);
    assert_code(&version, 0);
    assert!(version.out.starts_with("shop 0."), "{}", version.out);
    for (args, said) in [
        (["--pace", "-1"], "give a number from 0.001"),
        (["--seed", "-1"], "give a whole number from 0"),
        (["--in-flight", "-1"], "is not in 1..=4096"),
        (
            ["--database", "no-such-folder/"],
            "no-such-folder/ is a folder; give --database the path of a file in it",
        ),
    ] {
        let ended = run(args);
        assert_code(&ended, 2);
        assert!(ended.err.contains(said), "{args:?}: {}", ended.err);
    }
    let help = run(["--help"]).out;
    assert!(help.contains("on one SQLite file, or on\nPostgreSQL;"), "{help}");
    for code in ["0  stock", "1  they", "2  the input", "130  interrupted", "143  ended"] {
        assert!(help.contains(code), "{help}");
    }
}

/// The lines that `--help` and `examples/README.md` show are lines that run.
#[test]
fn the_lines_that_are_shown_are_lines() {
    let whole = |text: &str| -> String {
        let mut lines = String::new();
        for line in text.lines().map(|line| line.split("   (").next().unwrap_or(line)) {
            if line.trim_start().starts_with('{') {
                lines.push('\n');
            }
            if line.trim_start().starts_with(['{', '"']) {
                lines.push_str(line.trim_start());
            }
        }
        lines
    };
    let readme = fs::read_to_string(super::repository("examples/README.md")).unwrap();
    for (shown, verbs) in [(whole(&run(["--help"]).out), 2), (whole(&readme), 12)] {
        let place = Place::new();
        let ended = place.run_lines(shown.as_bytes(), &[]);
        assert_code(&ended, 0);
        let counts = format!("· 0 malformed · {verbs} by an operator");
        assert!(ended.out.contains(&counts), "{shown}\n{}", ended.out);
    }
}
