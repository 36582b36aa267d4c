//! Text that came from outside, made safe to print.

use std::borrow::Cow;

/// The text with everything that acts on a terminal or forges a line written out: control characters (`\n`,
/// `\u{1b}`), line separators, and the marks that turn the direction of writing. Nothing else changes.
///
/// Keys, codes and payloads are other people's text. Whatever shows one of them in a log or a picture shows
/// it through this.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(acts) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if acts(c) { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    Cow::Owned(shown)
}

fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn what_acts_on_a_terminal_is_written_out_and_the_rest_stays() {
        assert_eq!(visible("Bestellung 42 ✓ \"é\""), "Bestellung 42 ✓ \"é\"");
        assert_eq!(visible("a\nb\u{1b}[31m\u{7f}\u{85}"), r"a\nb\u{1b}[31m\u{7f}\u{85}");
        assert_eq!(visible("\u{202e}drow\u{2066}"), r"\u{202e}drow\u{2066}");
    }
}
