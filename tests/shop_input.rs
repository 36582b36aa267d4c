//! What the shop lets in at its door, and what its command line takes.

#[path = "../examples/shop/admission.rs"]
mod admission;
#[path = "../examples/shop/args.rs"]
mod args;
#[path = "../examples/shop/report.rs"]
#[expect(dead_code, reason = "the page is filled by the program")]
mod report;
#[path = "../examples/shop/text.rs"]
#[expect(dead_code, reason = "printing is the program's")]
mod text;

use admission::{BYTES_MAX, DEPTH_MAX, admit, decode};
use clap::{CommandFactory as _, Parser as _};

/// The refusal of a document, as it is reported.
fn refusal(document: impl AsRef<[u8]>) -> String {
    match admit(document.as_ref()) {
        Ok(json) => panic!("it was let in: {json}"),
        Err(malformed) => malformed.to_string(),
    }
}

#[test]
fn a_line_is_held_against_the_rules_of_the_engine() {
    assert_eq!(
        refusal(r#"{"order":{"items":[{"n":1},{"n":1,"n":2}]}}"#),
        "$.order.items[1].n: duplicate key"
    );
    assert_eq!(refusal(r#"{"a":["b","c\u0000"]}"#), "$.a[1]: the text holds a NUL character");
    assert_eq!(refusal(r#"{"order":{"id":"O-1",}}"#), "$.order: trailing comma (byte 22)");
}

#[test]
fn depth_and_size_are_bounded_at_their_stated_limits() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(admit(nested(DEPTH_MAX).as_bytes()).is_ok());
    let refused = refusal(nested(DEPTH_MAX + 1));
    assert!(refused.ends_with(&format!("nested deeper than {DEPTH_MAX}")), "{refused}");
    assert!(refusal(nested(30_000)).contains("nested deeper"));

    let sized = |bytes: usize| format!("\"{}\"", "x".repeat(bytes - 2));
    assert!(admit(sized(BYTES_MAX).as_bytes()).is_ok());
    assert!(refusal(sized(BYTES_MAX + 1)).contains("bytes are more than"));
}

#[test]
fn what_does_not_decode_is_named_with_its_path() {
    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Item {
        #[expect(dead_code, reason = "it is only decoded")]
        quantity: u32,
    }
    #[derive(Debug, serde::Deserialize)]
    struct Order {
        #[expect(dead_code, reason = "it is only decoded")]
        items: Vec<Item>,
    }
    let refusal = |text: &str| decode::<Order>(&admit(text.as_bytes()).unwrap()).unwrap_err();
    let float = refusal(r#"{"items":[{"quantity":1},{"quantity":1.5}]}"#);
    assert_eq!(float.path, "$.items[1].quantity");
    assert!(float.reason.contains("floating point"), "{}", float.reason);
    let missing = refusal(r#"{"items":[{}]}"#);
    assert_eq!(missing.to_string(), "$.items[0]: missing field `quantity`");
    let unknown = refusal(r#"{"items":[{"quantity":1,"colour":"red"}]}"#);
    assert!(unknown.path.starts_with("$.items[0]") && unknown.reason.contains("colour"), "{unknown}");
    let range = refusal(r#"{"items":[{"quantity":4294967296}]}"#);
    assert_eq!(range.path, "$.items[0].quantity");
}

#[test]
fn the_flags_are_consistent() {
    args::Args::command().debug_assert();
}

#[test]
fn showing_runs_nothing_so_it_takes_no_flags_of_a_run() {
    assert!(args::Args::try_parse_from(["shop", "--show", "x", "--fresh"]).is_err());
    assert!(args::Args::try_parse_from(["shop", "--show", "x", "--database", "a.db"]).is_ok());
}

#[test]
fn a_pace_is_a_positive_number() {
    for wrong in ["0", "-1", "NaN", "inf", "fast", "0.0001"] {
        assert!(args::Args::try_parse_from(["shop", "--pace", wrong]).is_err(), "{wrong}");
    }
}

/// A page with one item on a desk, and a broken rule that has much to say.
fn a_page() -> report::Report {
    let desk = report::DeskRow {
        saga: "order/O-1041".to_owned(),
        action: "notify-customer/forward".to_owned(),
        desk: "quarantine".to_owned(),
        because: "persistent".to_owned(),
        since: "2026-11-30T18:00:48.946Z".to_owned(),
        attempts: 1,
        effect: "none".to_owned(),
        error: "persistent bad_credential".to_owned(),
        offers: report::Offers {
            verbs: vec!["resume", "accept"],
            lines: vec![r#"{"resume": {"saga": "order/O-1041", "action": "notify-customer/forward", "reason": "say why"}}"#.to_owned()],
        },
    };
    let rule = "the shelves agree with the reservations".to_owned();
    let detail =
        "tea-assam: 4 reserved and 17 sent, but 3 and 17 by the reservations; and 11 more".to_owned();
    report::Report {
        malformed: vec![(
            67,
            "$.order.total.minor: invalid type: floating point `49.9`, expected i64".to_owned(),
        )],
        desk: vec![desk],
        audit: vec![report::Verdict { rule, holds: false, detail }],
        ..report::Report::default()
    }
}

#[test]
fn on_eighty_columns_no_word_of_the_page_is_broken() {
    let page = a_page().page(report::Look { colours: false, width: Some(80) });
    expect_test::expect![[r#"
        OUTCOMES
        ┌──────────┬─────────┬────────┬───────┐
        │ workflow ┆ outcome ┆ reason ┆ sagas │
        ╞══════════╪═════════╪════════╪═══════╡
        └──────────┴─────────┴────────┴───────┘

        LINES
        0 sagas · 0 duplicates · 0 conflicts · 0 malformed · 0 by an operator
          line   67  malformed  $.order.total.minor: invalid type: floating point
                     `49.9`, expected i64

        DESK
        order/O-1041  notify-customer/forward
          on quarantine since 2026-11-30T18:00:48.946Z
          because persistent, after 1 attempt
          effect none, last error persistent bad_credential

        What a person can do: append a line to the lines that you run, with your reason,
        and run them again. --show SAGA has the line for every verb.
          order/O-1041 notify-customer/forward: resume, accept
            {"resume": {"saga": "order/O-1041", "action": "notify-customer/forward", "reason": "say why"}}

        AUDIT
        ┌─────────────────────────────────────────┬─────────┬───────────┐
        │ rule                                    ┆ verdict ┆ numbers   │
        ╞═════════════════════════════════════════╪═════════╪═══════════╡
        │ the shelves agree with the reservations ┆ BROKEN  ┆ see below │
        └─────────────────────────────────────────┴─────────┴───────────┘
        the shelves agree with the reservations: tea-assam: 4 reserved and 17 sent, but
          3 and 17 by the reservations; and 11 more

        Stock and money DO NOT BALANCE: 1 of 1 rule broken.
    "#]]
    .assert_eq(&page);
    let wide = a_page().page(report::Look::default());
    assert!(wide.contains("│ order/O-1041 ┆ notify-customer/forward ┆ quarantine "), "{wide}");
}

#[test]
fn an_item_that_failed_with_no_code_names_no_last_error() {
    let mut page = a_page();
    page.desk[0].error.clear();
    let page = page.page(report::Look { colours: false, width: Some(80) });
    assert!(page.contains("\n  effect none\n"), "{page}");
}

#[test]
fn text_is_wrapped_between_words_and_long_words_stay_whole() {
    let wrapped = |line: &str| text::wrapped(line, Some(12), 2);
    assert_eq!(wrapped("twelve chars"), "twelve chars");
    assert_eq!(wrapped("one two three four"), "one two\n  three four");
    assert_eq!(wrapped("  a-word-that-is-too-long ends"), "  a-word-that-is-too-long\n  ends");
    assert_eq!(text::wrapped("one two three four", None, 2), "one two three four");
}

#[test]
fn control_characters_are_shown_as_numbers() {
    assert_eq!(text::shown("a\u{1b}[31m\nb\u{9b}\u{7f} ü茶"), r"a\u{1b}[31m\nb\u{9b}\u{7f} ü茶");
    assert_eq!(text::shown_page("a\r\nb"), "a\\r\nb");
    assert_eq!(text::shown("\u{202e}drow\u{2066}"), r"\u{202e}drow\u{2066}", "nor does text turn around");
}
