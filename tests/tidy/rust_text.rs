//! Just enough of Rust's lexical grammar to tell code from comments and literals.

/// The source with comments, and what stands inside string and character literals, replaced by
/// spaces. Lines stay where they are.
pub(crate) fn code_only(source: &str) -> String {
    let mut rest = source;
    let mut code = String::with_capacity(source.len());
    let mut after_word = false;
    while let Some(first) = rest.chars().next() {
        let taken = if rest.starts_with("//") {
            blank(&mut code, &rest[..rest.find('\n').unwrap_or(rest.len())])
        } else if rest.starts_with("/*") {
            blank(&mut code, &rest[..block_comment(rest)])
        } else if let Some(length) = literal(rest, after_word) {
            code.push('"');
            let inside = blank(&mut code, &rest[1..length]) + 1;
            code.push('"');
            inside
        } else {
            code.push(first);
            first.len_utf8()
        };
        after_word = first.is_alphanumeric() || first == '_';
        rest = &rest[taken..];
    }
    code
}

fn blank(code: &mut String, text: &str) -> usize {
    code.extend(text.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
    text.len()
}

fn block_comment(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// The length of the string or character literal that the text begins with. A quote that follows a
/// word directly belongs to it (`r"…"` begins at its `r`), a lifetime is no literal.
fn literal(text: &str, after_word: bool) -> Option<usize> {
    if !after_word {
        let prefix = text.len() - text.trim_start_matches(['b', 'c', 'r']).len();
        let hashes = text[prefix..].bytes().take_while(|&b| b == b'#').count();
        let raw = text[..prefix].contains('r');
        let open = prefix + hashes;
        if prefix <= 2 && raw && text[open..].starts_with('"') {
            let close = format!("\"{}", "#".repeat(hashes));
            return Some(text[open + 1..].find(&close).map_or(text.len(), |at| open + 1 + at + close.len()));
        }
        if prefix == 1 && !raw && hashes == 0 && text[1..].starts_with(['"', '\'']) {
            return quoted(&text[1..]).map(|length| length + 1);
        }
    }
    quoted(text)
}

fn quoted(text: &str) -> Option<usize> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let mut inside = text.char_indices().skip(1);
    if quote == '\'' {
        // 'x' and '\…' are characters, 'x followed by anything else is a lifetime.
        let mut ahead = text.chars().skip(1);
        let (content, close) = (ahead.next()?, ahead.next());
        if content != '\\' && close != Some('\'') {
            return None;
        }
    }
    while let Some((at, c)) = inside.next() {
        if c == '\\' {
            inside.next();
        } else if c == quote {
            return Some(at + quote.len_utf8());
        }
    }
    Some(text.len())
}

/// The line, counted from 1, on which a byte of the text stands.
pub(crate) fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// The places where a whole word (or a path such as `std::fs`) stands in code.
pub(crate) fn words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word)
        .map(|(at, _)| at)
        .filter(move |&at| !code[..at].ends_with(in_word) && !code[at + word.len()..].starts_with(in_word))
}

#[test]
fn comments_and_literals_are_not_code() {
    let source = "a // todo!()\nb /* x /* y */ \n z */ c \"str \\\" // s\" d r#\"raw \" one\"# e 'q' '\\'' f::<'life> b\"by\" g";
    let code = code_only(source);
    let seen: Vec<&str> =
        code.split(|c: char| c.is_whitespace() || c == '"').filter(|s| !s.is_empty()).collect();
    assert_eq!(seen, ["a", "b", "c", "d", "e", "f::<'life>", "g"]);
    assert_eq!(code.matches('\n').count(), source.matches('\n').count(), "lines stay where they are");
}

#[test]
fn a_word_is_found_whole_and_nowhere_inside_another() {
    assert_eq!(words("tokio::x tokio_util my_tokio (tokio)", "tokio").count(), 2);
    assert_eq!(line_of("a\nb\nc", 4), 3);
}
