//! The one form in which documents that mean the same are the same: keys sorted, no white space, texts escaped
//! anew, numbers as they were written.

use super::read::Value;

/// Appends the canonical form of `value`.
pub(super) fn write(value: &Value<'_>, to: &mut String) {
    match value {
        Value::Object(members) => {
            to.push('{');
            for (n, (key, value)) in members.iter().enumerate() {
                if n > 0 {
                    to.push(',');
                }
                write_text(key, to);
                to.push(':');
                write(value, to);
            }
            to.push('}');
        }
        Value::Array(items) => {
            to.push('[');
            for (n, item) in items.iter().enumerate() {
                if n > 0 {
                    to.push(',');
                }
                write(item, to);
            }
            to.push(']');
        }
        Value::Text(text) => write_text(text, to),
        Value::Plain(text) => to.push_str(text),
    }
}

fn write_text(text: &str, to: &mut String) {
    to.push_str(&serde_json::to_string(text).expect("a text is always JSON"));
}
