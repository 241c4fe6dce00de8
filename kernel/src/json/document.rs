//! A document as the sequence of its tokens. It is valid: `scan` has seen to that.

use super::number::Number;
use super::scan::{Refused, Scan};

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
        let start = self.place(at) + 1;
        let mut end = self.place(at + 1) - 1;
        while self.bytes[end] != b'"' {
            end -= 1;
        }
        (start, end)
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

    #[inline(always)]
    pub fn is_null(&self, at: Cursor) -> bool {
        self.byte(at) == b'n'
    }

    /// The token after the value at a token.
    #[inline(always)]
    pub fn end(&self, at: Cursor) -> Cursor {
        match self.byte(at) {
            b'{' | b'[' => self.ends[at] as usize + 1,
            _ => at + 1,
        }
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

    /// The value of a key.
    #[inline(always)]
    pub fn member(&self, key: Cursor) -> Cursor {
        key + 2
    }
}
