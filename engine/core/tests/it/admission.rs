//! The door: what is refused and where, and what chance cannot get past it.
//!
//! The laws compare the strict reader with [`Slow`], which knows nothing of it: it asks `serde_json` level by
//! level and counts brackets by hand.

mod slow;

use amends_core::Json;
use amends_core::admission::{Limits, Reason, admit, check};
use proptest::prelude::*;

/// The refusal of a document, as it is reported.
fn refusal(document: impl AsRef<[u8]>) -> String {
    match admit(document.as_ref(), Limits::DEFAULT) {
        Ok(json) => panic!("it was let in: {json}"),
        Err(refused) => refused.to_string(),
    }
}

#[test]
fn g30_a_duplicate_key_is_refused_whatever_the_other_one_says() {
    let twice = r#"{"order":42,"amount":200,"amount":20000}"#;
    assert_eq!(refusal(twice), "$.amount: duplicate key");
    assert_eq!(refusal(r#"{"amount":200,"amount":200}"#), "$.amount: duplicate key");
    assert_eq!(refusal(r#"{"":1,"":2}"#), r#"$[""]: duplicate key"#);
}

#[test]
fn g30_a_duplicate_key_is_refused_at_any_depth() {
    assert_eq!(
        refusal(r#"{"order":{"id":42,"amount":200,"amount":20000}}"#),
        "$.order.amount: duplicate key"
    );
    assert_eq!(
        refusal(r#"{"order":{"items":[{"qty":1},{"qty":1,"sku":"TEA","qty":2}]}}"#),
        "$.order.items[1].qty: duplicate key"
    );
    assert_eq!(refusal(r#"[[[{"a b":1,"a b":1}]]]"#), r#"$[0][0][0]["a b"]: duplicate key"#);
}

#[test]
fn g30_an_escape_does_not_hide_a_duplicate_key() {
    for (one, other, shown) in [
        ("amount", r"amoun\u0074", ".amount"),
        (r"\u0061mount", r"amoun\u0074", ".amount"),
        ("a/b", r"a\/b", r#"["a/b"]"#),
        ("😀", r"\ud83d\ude00", r#"["😀"]"#),
    ] {
        let twice = format!(r#"{{"order":{{"{one}":1,"x":2,"{other}":3}}}}"#);
        assert_eq!(refusal(&twice), format!("$.order{shown}: duplicate key"), "{twice}");
    }
    assert!(admit(br#"{"a":1,"A":1,"\\u0061":1}"#, Limits::DEFAULT).is_ok(), "these are three keys");
}

#[test]
fn g31_text_that_one_database_refuses_is_refused_at_the_door() {
    assert_eq!(refusal(b"{\"order\":{\"name\":\"a\0b\"}}"), "$.order.name: the text holds a NUL character");
    assert_eq!(refusal(r#"{"a":["b","c\u0000"]}"#), "$.a[1]: the text holds a NUL character");
    assert_eq!(refusal(r#"{"a":{"b\u0000":1}}"#), r#"$.a["b\0"]: the text holds a NUL character"#);
    assert_eq!(refusal(b"{\"a\":{\"b\0\":1}}"), "$.a: the text holds a NUL character");
    assert!(admit(br#""\\u0000""#, Limits::DEFAULT).is_ok(), "an escaped backslash begins no escape");
}

#[test]
fn g31_half_of_a_surrogate_pair_is_refused() {
    for half in [r"\ud800", r"\udc00", r"\ud800x", r"\ud800\n", r"\ud800\ud800", r"\udbffA", r"\udc00\ud800"]
    {
        let refused = refusal(format!(r#"{{"a":{{"b":["{half}"]}}}}"#));
        assert_eq!(refused, "$.a.b[0]: the text holds half of a surrogate pair", "{half}");
    }
    assert_eq!(refusal(r#"{"a":{"\ud800":1}}"#), "$.a: the text holds half of a surrogate pair");
    assert_eq!(
        admit(br#""\ud83d\ude00\u20ac""#, Limits::DEFAULT).unwrap().decode::<String>().unwrap(),
        "😀€"
    );
}

#[test]
fn g31_bytes_that_are_no_text_are_refused_where_they_stand() {
    assert_eq!(refusal(b"{\"a\":[1,\"\xff\"]}"), "$.a[1]: invalid UTF-8 at byte 10");
    assert_eq!(refusal(b"{\"a\":\"\xed\xa0\x80\"}"), "$.a: invalid UTF-8 at byte 7", "a surrogate in UTF-8");
    assert_eq!(refusal(b"{\"a\":\"\xc0\x80\"}"), "$.a: invalid UTF-8 at byte 7", "an overlong NUL");
    assert_eq!(refusal(b"\xff\xfe{\0}\0"), "$: invalid UTF-8 at byte 1", "UTF-16");
    assert_eq!(refusal(b"1\xff"), "$: invalid UTF-8 at byte 2");
}

#[test]
fn g32_a_document_that_is_too_large_is_refused_before_it_is_read() {
    let sized = |bytes: usize| format!("\"{}\"", "x".repeat(bytes - 2));
    assert!(admit(sized(1 << 20).as_bytes(), Limits::DEFAULT).is_ok());
    assert_eq!(refusal(sized((1 << 20) + 1)), "$: 1048577 bytes are more than the 1048576 of one document");
    assert_eq!(refusal(vec![0xff; 2 << 20]), "$: 2097152 bytes are more than the 1048576 of one document");
}

#[test]
fn depth_is_bounded_at_the_stated_limit_and_never_by_the_stack() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(admit(nested(64).as_bytes(), Limits::DEFAULT).is_ok());
    assert_eq!(refusal(nested(65)), format!("${}: nested deeper than 64", "[0]".repeat(64)));
    assert!(refusal("[".repeat(1 << 20)).ends_with("nested deeper than 64"));
    let any = |text: &str| check(&Json::parse(text).expect("lenient syntax"), Limits::NONE);
    let deepest = nested(Limits::DEPTH_MAX);
    assert!(any(&deepest).is_ok() && serde_json::from_str::<serde_json::Value>(&deepest).is_ok());
    assert_eq!(any(&nested(100_000)).unwrap_err().reason, Reason::TooDeep { depth_max: Limits::DEPTH_MAX });
}

#[test]
fn numbers_that_do_not_survive_are_refused() {
    for (number, why) in [
        ("18446744073709551616", "the integer 18446744073709551616 is outside -2^63 to 2^64-1"),
        ("-9223372036854775809", "the integer -9223372036854775809 is outside -2^63 to 2^64-1"),
        ("1e400", "the number 1e400 is beyond the range of a double"),
        ("-1.5e309", "the number -1.5e309 is beyond the range of a double"),
        ("1e-400", "the number 1e-400 is beyond the range of a double"),
    ] {
        assert_eq!(refusal(format!(r#"{{"n":[{number}]}}"#)), format!("$.n[0]: {why}"));
    }
    assert!(refusal(format!("1{}", "0".repeat(99))).contains(&format!("integer 1{} is", "0".repeat(39))));
    let good = "[18446744073709551615,-9223372036854775808,-0,0e-400,0.0e999999999,1.50e1,1E+2,5e-324]";
    assert_eq!(admit(good.as_bytes(), Limits::DEFAULT).unwrap().text(), good);
}

#[test]
fn what_is_not_json_is_refused_with_the_place_that_the_reader_reached() {
    for (text, refused) in [
        ("", "$: EOF while parsing a value (byte 0)"),
        ("order 17", "$: expected value (byte 1)"),
        ("nul", "$: EOF while parsing a value (byte 3)"),
        (
            r#"{"order":{"items":[{"sku":"TEA"},{"sku":"#,
            "$.order.items[1].sku: EOF while parsing a value (byte 40)",
        ),
        (r#"{"order":{"id":"O-1",}}"#, "$.order: trailing comma (byte 22)"),
        (r#"{"a":[1,]}"#, "$.a: trailing comma (byte 9)"),
        (r#"{"a":1} {"b":2}"#, "$: trailing characters (byte 9)"),
        ("1 2", "$: trailing characters (byte 3)"),
        ("{1:2}", "$: key must be a string (byte 2)"),
        (r#"{"a" 1}"#, "$: expected `:` (byte 6)"),
        (r#"{"a":1 "b":2}"#, "$: expected `,` or `}` (byte 8)"),
        ("[1 2]", "$: expected `,` or `]` (byte 4)"),
        ("[01]", "$[0]: invalid number (byte 3)"),
        ("[1.]", "$[0]: invalid number (byte 4)"),
        ("[-]", "$[0]: invalid number (byte 3)"),
        ("[NaN]", "$[0]: expected value (byte 2)"),
        ("[\"\t\"]", "$[0]: control character within a string (byte 3)"),
        (r#"["\x"]"#, "$[0]: invalid escape (byte 4)"),
        (r#"["\u00g0"]"#, "$[0]: invalid escape (byte 7)"),
        ("\u{feff}{}", "$: expected value (byte 1)"),
        ("['a']", "$[0]: expected value (byte 2)"),
    ] {
        assert_eq!(refusal(text), refused, "{text}");
    }
}

#[test]
fn a_plain_document_is_kept_as_the_text_that_came() {
    let text = r#"{ "order": {"id":"O-1",	"total": 1.50e1, "b":[ ] , "a":"\u0041"} }"#;
    assert_eq!(admit(format!(" {text}\r\n").as_bytes(), Limits::DEFAULT).unwrap().text(), text);
}

proptest! {
    #[test]
    fn arbitrary_bytes_are_admitted_or_refused_as_the_slow_reader_says(bytes in documents()) {
        let limits = Limits { bytes_max: 300, depth_max: 5 };
        match (admit(&bytes, limits), slow::admissible(&bytes, limits)) {
            (Ok(json), Ok(())) => {
                let text = std::str::from_utf8(&bytes).expect("it was admitted");
                prop_assert_eq!(json.text(), text.trim_matches([' ', '\t', '\n', '\r']));
                prop_assert!(serde_json::from_slice::<serde_json::Value>(&bytes).is_ok());
                prop_assert!(check(&json, limits).is_ok());
                prop_assert!(json.canonical_digest().is_ok());
            }
            (Err(refused), Err(_)) => prop_assert!(refused.path.starts_with('$'), "{}", refused),
            (strict, slow) => prop_assert!(false, "strict: {strict:?}, slow: {slow:?}"),
        }
    }

    #[test]
    fn spelling_and_order_do_not_change_the_digest_and_a_number_does(
        tree in trees(), seeds in any::<[u64; 2]>(), at in any::<prop::sample::Index>(),
    ) {
        let [one, other] = seeds.map(|seed| tree.spelled(seed));
        let digest = |text: &str| {
            let json = admit(text.as_bytes(), Limits::DEFAULT).expect("the tree is sound");
            json.canonical_digest().expect("it was admitted")
        };
        prop_assert_eq!(digest(&one), digest(&other), "{}\n{}", one, other);
        let mut numbers = Vec::new();
        let mut changed = tree;
        changed.numbers(&mut numbers);
        if !numbers.is_empty() {
            let number = at.index(numbers.len());
            let number = &mut *numbers[number];
            *number = if number.contains(['.', 'e']) { "7".to_owned() } else { format!("{number}.0") };
            let changed = changed.spelled(seeds[0]);
            prop_assert_ne!(digest(&one), digest(&changed), "{}\n{}", one, changed);
        }
    }
}

/// Bytes; pieces of JSON in any order; and sound documents with pieces pushed in.
fn documents() -> impl Strategy<Value = Vec<u8>> {
    const PIECES: &[&str] = &[
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\"a\"",
        "\"a\":",
        "\"\\u0061\":",
        "\"b\":1",
        "\\ud83d\\ude00",
        "\\ud800",
        "\\u0000",
        "\0",
        "\\",
        "\\n",
        "é",
        " ",
        "\n",
        "0",
        "-",
        "1",
        "12",
        ".5",
        "e9",
        "E+400",
        "18446744073709551615",
        "18446744073709551616",
        "-9223372036854775809",
        "1e400",
        "1e-400",
        "true",
        "null",
        "nul",
        "{}",
        "[[",
        "]]",
        "[[[[[",
        "\u{feff}",
        "\u{1}",
    ];
    let piece = prop::sample::select(PIECES).prop_map(|piece| piece.as_bytes().to_vec());
    let soup = prop::collection::vec(piece.clone(), 0..24).prop_map(|pieces| pieces.concat());
    let patched = (trees(), any::<u64>(), any::<prop::sample::Index>(), 0..3usize, piece).prop_map(
        |(tree, seed, at, cut, piece)| {
            let mut text = tree.spelled(seed).into_bytes();
            let at = at.index(text.len() + 1);
            text.splice(at..(at + cut).min(text.len()), piece);
            text
        },
    );
    let sound = (trees(), any::<u64>()).prop_map(|(tree, seed)| tree.spelled(seed).into_bytes());
    prop_oneof![
        1 => prop::collection::vec(any::<u8>(), 0..64),
        4 => soup,
        4 => patched,
        2 => sound,
    ]
}

/// A document as what it means.
#[derive(Clone, Debug)]
enum Tree {
    Number(String),
    Text(String),
    Word(&'static str),
    List(Vec<Tree>),
    Object(Vec<(String, Tree)>),
}

fn trees() -> impl Strategy<Value = Tree> {
    let number = prop_oneof![
        any::<i64>().prop_map(|n| n.to_string()),
        any::<u64>().prop_map(|n| n.to_string()),
        any::<f32>().prop_filter("a number", |n| n.is_finite()).prop_map(|n| format!("{n:?}")),
    ];
    let word = prop::sample::select(&["true", "false", "null"][..]);
    let leaf = prop_oneof![
        number.prop_map(Tree::Number),
        "[a-c\"\\\\/é😀\n\u{1}]{0,4}".prop_map(Tree::Text),
        word.prop_map(Tree::Word),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let member = ("[a-c\"\\\\é😀]{0,3}", inner.clone());
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Tree::List),
            prop::collection::vec(member, 0..5).prop_map(|mut members| {
                members.sort_by(|a, b| a.0.cmp(&b.0));
                members.dedup_by(|a, b| a.0 == b.0);
                Tree::Object(members)
            }),
        ]
    })
}

impl Tree {
    /// One of many ways to write it; `seed` says which.
    fn spelled(&self, seed: u64) -> String {
        let mut to = String::new();
        self.spell(&mut Dice(seed), &mut to);
        to
    }

    fn spell(&self, dice: &mut Dice, to: &mut String) {
        dice.space(to);
        match self {
            Self::Number(text) => to.push_str(text),
            Self::Word(word) => to.push_str(word),
            Self::Text(text) => dice.text(text, to),
            Self::List(items) => {
                to.push('[');
                for (n, item) in items.iter().enumerate() {
                    to.push_str(if n > 0 { "," } else { "" });
                    item.spell(dice, to);
                }
                dice.space(to);
                to.push(']');
            }
            Self::Object(members) => {
                to.push('{');
                let first = if members.is_empty() { 0 } else { dice.roll(members.len()) };
                for n in 0..members.len() {
                    let (key, value) = &members[(first + n) % members.len()];
                    to.push_str(if n > 0 { "," } else { "" });
                    dice.space(to);
                    dice.text(key, to);
                    dice.space(to);
                    to.push(':');
                    value.spell(dice, to);
                }
                dice.space(to);
                to.push('}');
            }
        }
        dice.space(to);
    }

    fn numbers<'a>(&'a mut self, to: &mut Vec<&'a mut String>) {
        match self {
            Self::Number(text) => to.push(text),
            Self::Text(_) | Self::Word(_) => {}
            Self::List(items) => items.iter_mut().for_each(|item| item.numbers(to)),
            Self::Object(members) => members.iter_mut().for_each(|(_, value)| value.numbers(to)),
        }
    }
}

/// Chance from a seed, for spellings.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }

    fn space(&mut self, to: &mut String) {
        to.push_str(["", "", "", " ", "\n", "\t\r"][self.roll(6)]);
    }

    fn text(&mut self, text: &str, to: &mut String) {
        to.push('"');
        for character in text.chars() {
            match (character, self.roll(3)) {
                ('"', 0) => to.push_str("\\\""),
                ('\\', 0) => to.push_str("\\\\"),
                ('\n', 0) => to.push_str("\\n"),
                ('/', 0) => to.push_str("\\/"),
                ('"' | '\\' | '\0'..='\u{1f}', _) | (_, 1) => {
                    let mut units = [0; 2];
                    for unit in character.encode_utf16(&mut units) {
                        to.push_str(&format!("\\u{unit:04X}"));
                    }
                }
                _ => to.push(character),
            }
        }
        to.push('"');
    }
}

#[test]
fn a_depth_limit_above_what_readers_read_counts_as_that() {
    let limits = Limits { depth_max: 1_000, ..Limits::DEFAULT };
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(admit(nested(Limits::DEPTH_MAX).as_bytes(), limits).is_ok());
    let refused = admit(nested(Limits::DEPTH_MAX + 1).as_bytes(), limits).expect_err("nobody could read it");
    assert_eq!(refused.reason, Reason::TooDeep { depth_max: Limits::DEPTH_MAX });
}

#[test]
fn documents_that_mean_different_things_have_different_digests() {
    let documents = [
        "[1,2]",
        "[12]",
        "[[1],2]",
        "[1,[2]]",
        "[\"1\",2]",
        "[\"1,2\"]",
        "{\"a\":1,\"b\":2}",
        "{\"a\":12}",
        "{\"a\":{\"b\":2}}",
        "{\"a\":1,\"b\":\"2\"}",
        "{\"a\":\"1,b:2\"}",
        "{}",
        "[]",
        "\"\"",
        "null",
        "\"null\"",
        "100",
        "100.0",
        "1e2",
        "\"100\"",
        "true",
        "\"true\"",
        "{\"\":{}}",
        "[{}]",
    ];
    let digest = |text: &str| Json::parse(text).expect("JSON").canonical_digest().expect("strict JSON");
    let digests: std::collections::BTreeSet<_> = documents.iter().map(|text| digest(text)).collect();
    assert_eq!(digests.len(), documents.len());
}
