//! The strict reader: text in, a tree out, or the place where two readers could disagree.
//!
//! It reads the text once. A refusal is made where the fault is, and learns its path on the way out.

use std::borrow::Cow;

use super::{Limits, Reason, Refused};

type Read<T> = Result<T, Refused>;

/// How much of an absurd number a refusal shows.
const NUMBER_CHARS_SHOWN: usize = 40;

/// A document that was read.
pub(super) enum Value<'a> {
    /// Sorted by key; no key comes twice.
    Object(Vec<(Cow<'a, str>, Value<'a>)>),
    Array(Vec<Value<'a>>),
    /// Unescaped.
    Text(Cow<'a, str>),
    /// A number, `true`, `false` or `null`, as written.
    Plain(&'a str),
}

/// Reads `text`, which must be one document.
pub(super) fn read(text: &str, depth_max: usize) -> Read<Value<'_>> {
    let mut reader = Reader { text, at: 0, depth_max: depth_max.min(Limits::DEPTH_MAX) };
    let value = reader.value(0)?;
    reader.skip_white_space();
    match reader.peek() {
        None => Ok(value),
        Some(_) => Err(Refused::whole(Reason::Trailing { at: reader.at + 1 })),
    }
}

struct Reader<'a> {
    text: &'a str,
    /// Always on a character boundary: only ASCII is stepped over byte by byte, and whole texts at their end.
    at: usize,
    depth_max: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_white_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn syntax<T>(&self, problem: &'static str) -> Read<T> {
        Err(Refused::whole(Reason::Syntax { problem, at: self.at + 1 }))
    }

    /// What stands here is not what should; or nothing does.
    fn unexpected<T>(&self, problem: &'static str, within: &'static str) -> Read<T> {
        match self.peek() {
            Some(_) => self.syntax(problem),
            None => self.ended(within),
        }
    }

    fn ended<T>(&self, within: &'static str) -> Read<T> {
        Err(Refused::whole(Reason::Ended { within, at: self.at }))
    }

    /// `depth` arrays and objects are open.
    fn value(&mut self, depth: usize) -> Read<Value<'a>> {
        self.skip_white_space();
        match self.peek() {
            Some(b'{' | b'[') if depth >= self.depth_max => {
                Err(Refused::whole(Reason::TooDeep { depth_max: self.depth_max }))
            }
            Some(b'{') => self.object(depth + 1),
            Some(b'[') => self.array(depth + 1),
            Some(b'"') => match self.string()? {
                text if text.contains('\0') => Err(Refused::whole(Reason::Nul)),
                text => Ok(Value::Text(text)),
            },
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true"),
            Some(b'f') => self.word("false"),
            Some(b'n') => self.word("null"),
            _ => self.unexpected("expected value", "a value"),
        }
    }

    fn object(&mut self, depth: usize) -> Read<Value<'a>> {
        let mut members = Vec::new();
        self.at += 1;
        self.skip_white_space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Value::Object(members));
        }
        loop {
            members.push(self.member(depth)?);
            self.skip_white_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                _ => return self.unexpected("expected `,` or `}`", "an object"),
            }
            self.skip_white_space();
            if self.peek() == Some(b'}') {
                return self.syntax("trailing comma");
            }
        }
        self.at += 1;
        members.sort_by(|(a, _), (b, _)| a.cmp(b));
        match members.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            None => Ok(Value::Object(members)),
            Some(pair) => Err(Refused::whole(Reason::DuplicateKey).in_member(&pair[0].0)),
        }
    }

    fn member(&mut self, depth: usize) -> Read<(Cow<'a, str>, Value<'a>)> {
        if self.peek() != Some(b'"') {
            return self.unexpected("key must be a string", "an object");
        }
        let key = self.string()?;
        self.skip_white_space();
        if self.peek() != Some(b':') {
            return self.unexpected("expected `:`", "an object");
        }
        self.at += 1;
        if key.contains('\0') {
            return Err(Refused::whole(Reason::Nul).in_member(&key));
        }
        let value = self.value(depth).map_err(|refused| refused.in_member(&key))?;
        Ok((key, value))
    }

    fn array(&mut self, depth: usize) -> Read<Value<'a>> {
        let mut items = Vec::new();
        self.at += 1;
        self.skip_white_space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Value::Array(items));
        }
        loop {
            let item = self.value(depth).map_err(|refused| refused.in_item(items.len()))?;
            items.push(item);
            self.skip_white_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => break,
                _ => return self.unexpected("expected `,` or `]`", "a list"),
            }
            self.skip_white_space();
            if self.peek() == Some(b']') {
                return self.syntax("trailing comma");
            }
        }
        self.at += 1;
        Ok(Value::Array(items))
    }

    /// A text without its quotes and escapes. Borrowed when it has no escapes.
    fn string(&mut self) -> Read<Cow<'a, str>> {
        self.at += 1;
        let mut unescaped: Option<String> = None;
        let mut from = self.at;
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    let text = unescaped.get_or_insert_default();
                    text.push_str(&self.text[from..self.at]);
                    text.push(self.escape()?);
                    from = self.at;
                }
                Some(0) => return Err(Refused::whole(Reason::Nul)),
                Some(0x01..=0x1f) => return self.syntax("control character within a string"),
                Some(_) => self.at += 1,
                None => return self.ended("a string"),
            }
        }
        let rest = &self.text[from..self.at];
        self.at += 1;
        Ok(match unescaped {
            None => Cow::Borrowed(rest),
            Some(text) => Cow::Owned(text + rest),
        })
    }

    /// The character that an escape stands for.
    fn escape(&mut self) -> Read<char> {
        self.at += 1;
        let character = match self.peek() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(),
            _ => return self.unexpected("invalid escape", "a string"),
        };
        self.at += 1;
        Ok(character)
    }

    /// `u` and four digits, or a pair of such escapes.
    fn unicode(&mut self) -> Read<char> {
        let lone = || Refused::whole(Reason::LoneSurrogate);
        let first = self.unit()?;
        if !(0xd800..0xdc00).contains(&first) {
            return char::from_u32(first).ok_or_else(lone);
        }
        if !self.text[self.at..].starts_with("\\u") {
            return Err(lone());
        }
        self.at += 1;
        let second = self.unit()?;
        if !(0xdc00..0xe000).contains(&second) {
            return Err(lone());
        }
        char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)).ok_or_else(lone)
    }

    fn unit(&mut self) -> Read<u32> {
        self.at += 1;
        let mut unit = 0;
        for _ in 0..4 {
            let Some(digit) = self.peek().and_then(|byte| char::from(byte).to_digit(16)) else {
                return self.unexpected("invalid escape", "a string");
            };
            unit = unit * 16 + digit;
            self.at += 1;
        }
        Ok(unit)
    }

    fn word(&mut self, word: &'static str) -> Read<Value<'a>> {
        let from = self.at;
        for byte in word.bytes() {
            if self.peek() != Some(byte) {
                return self.unexpected("expected value", "a value");
            }
            self.at += 1;
        }
        Ok(Value::Plain(&self.text[from..self.at]))
    }

    fn number(&mut self) -> Read<Value<'a>> {
        let from = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
            if self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                return self.syntax("invalid number");
            }
        } else {
            self.digits()?;
        }
        let mut integer = true;
        if self.peek() == Some(b'.') {
            integer = false;
            self.at += 1;
            self.digits()?;
        }
        let digits = &self.text[from..self.at];
        if let Some(b'e' | b'E') = self.peek() {
            integer = false;
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        let text = &self.text[from..self.at];
        let zero = digits.bytes().all(|byte| !(b'1'..=b'9').contains(&byte));
        survives(text, integer, zero).map_err(Refused::whole)?;
        Ok(Value::Plain(text))
    }

    /// One digit or more.
    fn digits(&mut self) -> Read<()> {
        let from = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at > from { Ok(()) } else { self.unexpected("invalid number", "a number") }
    }
}

/// Does every reader see the number that was written, or one next to it?
fn survives(text: &str, integer: bool, zero: bool) -> Result<(), Reason> {
    let shown = || text.chars().take(NUMBER_CHARS_SHOWN).collect();
    if integer {
        let fits = text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok();
        return if fits { Ok(()) } else { Err(Reason::Integer { text: shown() }) };
    }
    // The reader of payloads rounds less carefully and finds some of the largest doubles infinite.
    let fits = serde_json::from_str::<f64>(text).is_ok()
        && text.parse::<f64>().is_ok_and(|number| zero || number != 0.0);
    if fits { Ok(()) } else { Err(Reason::Number { text: shown() }) }
}
