//! What is printed, and how. Nothing that came from outside reaches a terminal as it came, and nobody who stops
//! listening stops the shop.

use std::fmt::{self, Write as _};
use std::io::{self, IsTerminal, Write as _};

/// Whether what is printed there is coloured: for people only, and not against `NO_COLOR`.
pub fn coloured(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty())
}

/// One line: a control character is shown as its number, so that it cannot move a cursor, colour a screen or
/// make two lines of one; and so are the marks that turn the direction of writing.
pub fn shown(text: &str) -> String {
    escaped(text, acts)
}

/// A page, whose lines stay lines.
pub fn shown_page(text: &str) -> String {
    escaped(text, |c| acts(c) && c != '\n')
}

/// What acts on a terminal instead of being seen.
fn acts(c: char) -> bool {
    let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

fn escaped(text: &str, is_bad: impl Fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_bad(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// The line, broken between words so that it fits `width`; what follows the first break is indented by `hang`.
/// A word that would not fit on a line of its own stays whole, where it is.
pub fn wrapped(line: &str, width: Option<usize>, hang: usize) -> String {
    let Some(width) = width.filter(|width| line.chars().count() > *width) else { return line.to_owned() };
    let mut page = String::with_capacity(line.len() + 16);
    let mut column = 0;
    let mut begun = false;
    for word in line.split_inclusive(' ') {
        let length = word.trim_end_matches(' ').chars().count();
        let fits = column + length <= width || hang + length > width;
        if begun && length > 0 && !fits {
            page.truncate(page.trim_end_matches(' ').len());
            page.push('\n');
            page.extend(std::iter::repeat_n(' ', hang));
            column = hang;
        }
        begun |= length > 0;
        page.push_str(word);
        column += word.chars().count();
    }
    page.truncate(page.trim_end_matches(' ').len());
    page
}

/// `1 call`, `2 calls`.
pub fn counted(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// Says something to the person at the terminal, on standard error. If nobody can hear it, the work goes on.
pub fn say(line: impl fmt::Display) {
    let mut text = String::new();
    // A `Display` that fails has said what it could.
    let _ = write!(text, "{line}");
    let _ = writeln!(io::stderr(), "{}", shown_page(&text));
}

/// Prints a page. Whoever reads it through `head` may stop early.
///
/// # Errors
/// When standard output takes nothing, as a full disk does.
pub fn print(page: &str) -> io::Result<()> {
    let mut out = io::stdout();
    match out.write_all(page.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// How wide the terminal on standard output is, if there is one.
pub fn width() -> Option<usize> {
    comfy_table::Table::new().width().map(usize::from).filter(|width| *width > 0)
}
