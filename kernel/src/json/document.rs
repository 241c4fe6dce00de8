//! A document as the sequence of its tokens. It is valid: `scan` has seen to that.

use super::number::Number;
use super::scan::{Refused, Scan};
use super::short_number::{ShortNumber, short_integer};

#[derive(Clone, Copy)]
pub struct Document<'a> {
    pub bytes: &'a [u8],
    tokens: &'a [u32],
    firsts: &'a [u8],
    ends: &'a [u32],
    pub has_escapes: bool,
}

/// A value.
pub enum Value<'a> {
    Null,
    Bool(bool),
    Number(Number<'a>),
    /// What stands between the quotes.
    Text(&'a [u8]),
    Object,
    Array,
}

/// A member that is no object or array and not the last one has four: key, colon, value, comma.
const TOKENS: usize = 4;
/// The first bytes of these, and of which of them one can tell.
const PLAIN: u32 = u32::from_le_bytes([b'"', b':', 0, b',']);
const TOLD: u32 = u32::from_le_bytes([!0, !0, 0, !0]);

/// A token, and where the next one begins.
#[derive(Clone, Copy)]
pub struct Token {
    pub first: u8,
    pub place: usize,
    pub next: usize,
}

/// A member of an object: its key, a colon, its value, and what comes after the first token of that.
#[derive(Clone, Copy)]
pub struct Member {
    firsts: [u8; TOKENS],
    places: [u32; TOKENS],
}

impl Member {
    /// Where the key begins, quote aside.
    #[inline(always)]
    pub fn key(&self) -> usize {
        self.places[0] as usize + 1
    }

    #[inline(always)]
    pub fn value(&self) -> Token {
        Token {
            first: self.firsts[2],
            place: self.places[2] as usize,
            next: self.places[3] as usize,
        }
    }
}

/// Does a token begin an object or array?
#[inline(always)]
fn is_open(first: u8) -> bool {
    first | 0x20 == b'{' // `[` has all bits of `{` but this one
}

/// The number of a token, at which the next thing is to be read.
pub type Cursor = usize;

impl<'a> Document<'a> {
    pub fn new(bytes: &'a [u8], scan: &'a Scan) -> Self {
        Document {
            bytes,
            tokens: scan.tokens(),
            firsts: scan.firsts(),
            ends: scan.ends(),
            has_escapes: scan.has_escapes,
        }
    }

    /// The first byte of a token; 0, which begins no token, after the last.
    #[inline(always)]
    pub fn byte(&self, at: Cursor) -> u8 {
        self.firsts[at]
    }

    #[inline(always)]
    pub fn place(&self, at: Cursor) -> usize {
        self.tokens[at] as usize
    }

    #[inline(always)]
    pub fn token(&self, at: Cursor) -> Token {
        Token { first: self.byte(at), place: self.place(at), next: self.place(at + 1) }
    }

    /// What stands between the quotes of the string at a token.
    ///
    /// Between a string's closing quote and the next token there is nothing but white space.
    #[inline(always)]
    pub fn text(&self, at: Cursor) -> &'a [u8] {
        let (start, end) = self.text_range(at);
        &self.bytes[start..end]
    }

    #[inline(always)]
    pub fn text_range(&self, at: Cursor) -> (usize, usize) {
        self.quoted(self.token(at))
    }

    /// From where to where the text of a string goes.
    #[inline(always)]
    pub fn quoted(&self, string: Token) -> (usize, usize) {
        let mut end = string.next - 1;
        while self.bytes[end] != b'"' {
            end -= 1;
        }
        (string.place + 1, end)
    }

    /// The value at a token.
    #[inline(always)]
    pub fn value(&self, at: Cursor) -> Result<Value<'a>, Refused> {
        Ok(match self.byte(at) {
            b'"' => Value::Text(self.text(at)),
            b'{' => Value::Object,
            b'[' => Value::Array,
            b't' => Value::Bool(true),
            b'f' => Value::Bool(false),
            b'n' => Value::Null,
            _ => Value::Number(Number::at(self.bytes, self.place(at))?),
        })
    }

    /// A number, if it is written as most are.
    #[inline(always)]
    pub fn short_number(&self, number: Token) -> Option<ShortNumber> {
        ShortNumber::read(self.bytes, number.first, number.place, number.next)
    }

    /// Its value, if it is an integer.
    #[inline(always)]
    pub fn short_integer(&self, number: Token) -> Option<i64> {
        short_integer(self.bytes, number.first, number.place, number.next)
    }

    #[inline(always)]
    pub fn is_null(&self, at: Cursor) -> bool {
        self.byte(at) == b'n'
    }

    /// The token after the value at a token.
    #[inline(always)]
    pub fn end(&self, at: Cursor) -> Cursor {
        if is_open(self.byte(at)) { self.ends[at] as usize + 1 } else { at + 1 }
    }

    /// The first key or element of the object or array at a token.
    #[inline(always)]
    pub fn first(&self, at: Cursor) -> Option<Cursor> {
        let first = at + 1;
        if matches!(self.byte(first), b'}' | b']') { None } else { Some(first) }
    }

    /// The key or element after the value at a token.
    #[inline(always)]
    pub fn next(&self, at: Cursor) -> Option<Cursor> {
        let end = self.end(at);
        if self.byte(end) == b',' { Some(end + 1) } else { None }
    }

    /// The member whose key is at a token.
    #[inline(always)]
    pub fn whole_member(&self, key: Cursor) -> Member {
        // Of 32 bits, as tokens are counted: then the compiler knows that the sum is greater.
        let (from, to) = (key as u32 as usize, key as u32 as usize + TOKENS);
        let firsts = self.firsts.get(from..to).and_then(|firsts| firsts.first_chunk());
        let places = self.tokens.get(from..to).and_then(|places| places.first_chunk());
        match (firsts, places) {
            (Some(firsts), Some(places)) => Member { firsts: *firsts, places: *places },
            _ => Member { firsts: [0; TOKENS], places: [0; TOKENS] }, // there is no such token
        }
    }

    /// The key after a member, whose key is at a token.
    #[inline(always)]
    pub fn after(&self, key: Cursor, member: &Member) -> Option<Cursor> {
        if is_open(member.firsts[2]) {
            return self.next(self.member(key));
        }
        (member.firsts[3] == b',').then_some(key + TOKENS)
    }

    /// Where the keys of members begin, quotes aside, from the key at a token on, up to the first
    /// member that is an object or array or the last one. (After a bracket there is no comma.)
    #[inline(always)]
    pub fn plain_members(&self, at: Cursor) -> impl Iterator<Item = usize> {
        let firsts = self.firsts.get(at..).unwrap_or_default().as_chunks::<TOKENS>().0;
        let places = self.tokens.get(at..).unwrap_or_default().as_chunks::<TOKENS>().0;
        let members = firsts.iter().zip(places);
        members
            .take_while(|(firsts, _)| u32::from_le_bytes(**firsts) & TOLD == PLAIN)
            .map(|(_, places)| places[0] as usize + 1)
    }

    /// The token after so many of these members.
    #[inline(always)]
    pub fn after_plain_members(&self, at: Cursor, count: usize) -> Cursor {
        at + count * TOKENS
    }

    /// The value of a key.
    #[inline(always)]
    pub fn member(&self, key: Cursor) -> Cursor {
        key + 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with<T>(text: &str, look: impl FnOnce(Document) -> T) -> T {
        let mut scan = Scan::default();
        scan.run(text.as_bytes()).expect(text);
        look(Document::new(text.as_bytes(), &scan))
    }

    /// The value at a token, written without white space: whoever steps wrongly misses something.
    fn walked(document: &Document, at: Cursor) -> String {
        let listed = |key: bool| {
            let mut parts = Vec::new();
            let mut next = document.first(at);
            while let Some(part) = next {
                let member = if key { document.member(part) } else { part };
                let name = if key { format!("{}:", walked(document, part)) } else { String::new() };
                parts.push(name + &walked(document, member));
                next = document.next(member);
            }
            parts.join(",")
        };
        match document.value(at).expect("a value") {
            Value::Null => "null".into(),
            Value::Bool(value) => value.to_string(),
            Value::Number(number) => String::from_utf8_lossy(number.text).into(),
            Value::Text(text) => format!("\"{}\"", String::from_utf8_lossy(text)),
            Value::Object => format!("{{{}}}", listed(true)),
            Value::Array => format!("[{}]", listed(false)),
        }
    }

    #[test]
    fn a_walk_sees_everything_once() {
        let one =
            r#"{"a":[],"b":{},"c":[{"d":"x\"}"},[[-0.5e3,true]],null],"e":{"f":{"g":false}}}"#;
        // Long enough that brackets are opened in one step of the grammar and closed in another.
        for count in [1, 2, 7, 40] {
            let text = format!("[{}]", vec![one; count].join(","));
            assert_eq!(with(&text, |document| walked(&document, 0)), text);
            let spaced = text.replace(':', " :\t").replace(',', "\n, ").replace(']', " ]");
            assert_eq!(with(&spaced, |document| walked(&document, 0)), text);
        }
    }

    #[test]
    fn a_value_is_stepped_over_whatever_is_in_it() {
        for inner in ["1", "\"]\"", "[]", "[[1,[2]],{\"b\":[3]}]", "{\"b\":{\"c\":[]},\"d\":\"}\"}"]
        {
            let text = format!("[{inner},7,{inner}]");
            with(&text, |document| {
                let second = document.next(document.first(0).unwrap()).unwrap();
                assert_eq!(walked(&document, second), "7", "{text}");
                let third = document.next(second).unwrap();
                assert_eq!(document.next(third), None, "{text}");
            });
        }
    }

    #[test]
    fn behind_the_last_token_there_is_nothing() {
        with("{} ", |document| {
            assert_eq!(document.first(0), None);
            assert_eq!(document.end(0), 2);
            assert_eq!(document.byte(2), 0);
        });
    }
}
