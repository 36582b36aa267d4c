//! The same rules, written for nobody's speed: level by level with `serde_json`, brackets counted by hand.

use amends_core::admission::Limits;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Is `bytes` one document that every reader reads alike?
pub(super) fn admissible(bytes: &[u8], limits: Limits) -> Result<(), String> {
    if bytes.len() > limits.bytes_max {
        return Err("large".into());
    }
    let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
    if text.contains('\0') {
        return Err("NUL".into());
    }
    let raw: &RawValue = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if depth(text) > limits.depth_max {
        return Err("deep".into());
    }
    value(raw.get())
}

/// The deepest nesting of a document whose syntax is right.
fn depth(text: &str) -> usize {
    let (mut open, mut deepest, mut quoted, mut escaped) = (0_usize, 0, false, false);
    for character in text.chars() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = quoted,
            '"' => quoted = !quoted,
            _ if quoted => {}
            '[' | '{' => open += 1,
            ']' | '}' => open -= 1,
            _ => {}
        }
        deepest = deepest.max(open);
    }
    deepest
}

fn value(text: &str) -> Result<(), String> {
    let bad = |error: serde_json::Error| error.to_string();
    match text.as_bytes()[0] {
        b'{' => {
            let Members(members) = serde_json::from_str(text).map_err(bad)?;
            for (n, (key, member)) in members.iter().enumerate() {
                if members[..n].iter().any(|(before, _)| before == key) {
                    return Err(format!("{key} comes twice"));
                }
                no_nul(key)?;
                value(member.get())?;
            }
            Ok(())
        }
        b'[' => {
            let items: Vec<&RawValue> = serde_json::from_str(text).map_err(bad)?;
            items.into_iter().try_for_each(|item| value(item.get()))
        }
        b'"' => no_nul(&serde_json::from_str::<String>(text).map_err(bad)?),
        b't' | b'f' | b'n' => Ok(()),
        _ => number(text),
    }
}

fn no_nul(text: &str) -> Result<(), String> {
    if text.contains('\0') { Err("NUL".into()) } else { Ok(()) }
}

fn number(text: &str) -> Result<(), String> {
    let lost = || Err(format!("{text} is lost"));
    if text.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit()) {
        let Ok(number) = text.parse::<i128>() else { return lost() };
        return if (-(1 << 63)..1 << 64).contains(&number) { Ok(()) } else { lost() };
    }
    let number: f64 = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    let is_zero = mantissa.chars().all(|digit| "-0.".contains(digit));
    if number.is_finite() && (number == 0.0) == is_zero { Ok(()) } else { lost() }
}

/// All members of an object, keys unescaped, those that come twice included.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}
