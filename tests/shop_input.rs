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
fn a_plain_document_is_kept_as_the_text_that_came() {
    let text = r#"{ "order": {"id":"O-1", "total": 1.50e1, "min": -9223372036854775808, "max": 18446744073709551615} }"#;
    assert_eq!(admit(text.as_bytes()).unwrap().text(), text);
}

#[test]
fn a_key_that_comes_twice_is_named_with_its_path() {
    assert_eq!(refusal(r#"{"a":1,"a":1}"#), "$.a: duplicate key");
    assert_eq!(
        refusal(r#"{"order":{"items":[{"n":1},{"n":1,"n":2}]}}"#),
        "$.order.items[1].n: duplicate key"
    );
}

#[test]
fn an_escape_does_not_hide_a_duplicate_key() {
    assert_eq!(refusal(r#"{"order":{"total":1,"tot\u0061l":2}}"#), "$.order.total: duplicate key");
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    assert_eq!(refusal(b"{\"a\":\"\xff\"}"), "$: invalid UTF-8 at byte 7");
    assert_eq!(refusal(b"{\"a\":\"\x00\"}"), "$: a NUL character at byte 7");
    assert_eq!(refusal(r#"{"a":["b","c\u0000"]}"#), "$.a[1]: the text holds a NUL character");
    assert_eq!(refusal(r#"{"a":{"b\u0000":1}}"#), "$.a[\"b\\0\"]: a key holds a NUL character");
}

#[test]
fn half_of_a_surrogate_pair_is_refused() {
    let refused = refusal(r#"{"a":{"b":"\ud800"}}"#);
    assert!(refused.starts_with("$.a.b: "), "{refused}");
}

#[test]
fn syntax_errors_name_the_place_that_the_reader_reached() {
    let cut = refusal(r#"{"order":{"items":[{"sku":"TEA"},{"sku":"#);
    assert!(cut.starts_with("$.order.items[1].sku: ") && cut.contains("EOF"), "{cut}");
    let comma = refusal(r#"{"order":{"id":"O-1",}}"#);
    assert!(comma.starts_with("$.order") && comma.contains("trailing comma"), "{comma}");
    let two = refusal(r#"{"a":1} {"b":2}"#);
    assert!(two.starts_with('$') && two.contains("trailing characters"), "{two}");
    assert!(refusal("").contains("EOF"));
    assert!(refusal("order 17").starts_with("$: expected"));
}

#[test]
fn numbers_that_do_not_survive_are_refused() {
    assert_eq!(refusal(r#"[1e400]"#), "$[0]: the number 1e400 is beyond the range of a double");
    assert_eq!(
        refusal(r#"{"n":18446744073709551616}"#),
        "$.n: the integer 18446744073709551616 is outside -2^63 to 2^64-1"
    );
    assert_eq!(
        refusal(r#"{"n":-9223372036854775809}"#),
        "$.n: the integer -9223372036854775809 is outside -2^63 to 2^64-1"
    );
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
