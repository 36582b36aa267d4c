//! What the shop lets in at its door, and what its command line takes.

#[path = "../examples/shop/admission.rs"]
mod admission;
#[path = "../examples/shop/args.rs"]
mod args;

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
