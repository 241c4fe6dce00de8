//! A document as the sequence of its tokens, and how to step over values while checking them.

use super::number::Number;
use super::scan::{Refused, Scan, ends_scalar};

/// As deep as a document may be nested, here and in the portable kernel.
pub const MAX_DEPTH: usize = 1024;

#[derive(Clone, Copy)]
pub struct Document<'a> {
    pub bytes: &'a [u8],
    tokens: &'a [u32],
    firsts: &'a [u8],
    pub has_escapes: bool,
}

/// A value, scalars checked.
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

    /// Is this behind the last token?
    pub fn is_end(&self, at: Cursor) -> bool {
        self.place(at) >= self.bytes.len()
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

    #[inline(always)]
    pub fn value(&self, at: Cursor) -> Result<Value<'a>, Refused> {
        Ok(match self.byte(at) {
            b'"' => Value::Text(self.text(at)),
            b'{' => Value::Object,
            b'[' => Value::Array,
            b't' => self.literal(at, b"true").map(|()| Value::Bool(true))?,
            b'f' => self.literal(at, b"false").map(|()| Value::Bool(false))?,
            b'n' => self.literal(at, b"null").map(|()| Value::Null)?,
            _ => Value::Number(Number::at(self.bytes, self.place(at))?),
        })
    }

    #[inline(always)]
    pub fn is_null(&self, at: Cursor) -> Result<bool, Refused> {
        if self.byte(at) == b'n' {
            return self.literal(at, b"null").map(|()| true);
        }
        Ok(false)
    }

    #[inline(always)]
    fn literal(&self, at: Cursor, word: &[u8]) -> Result<(), Refused> {
        let rest = self.bytes[self.place(at)..].strip_prefix(word).ok_or(Refused)?;
        match rest.first() {
            Some(byte) if !ends_scalar(*byte) => Err(Refused),
            _ => Ok(()),
        }
    }

    /// Steps over a value. `depth` is that of what the value stands in.
    #[inline(always)]
    pub fn skip(&self, at: Cursor, depth: usize) -> Result<Cursor, Refused> {
        match self.byte(at) {
            b'"' => Ok(at + 1),
            b'{' => self.skip_object(at + 1, depth + 1),
            b'[' => self.skip_array(at + 1, depth + 1),
            b't' => self.literal(at, b"true").map(|()| at + 1),
            b'f' => self.literal(at, b"false").map(|()| at + 1),
            b'n' => self.literal(at, b"null").map(|()| at + 1),
            _ => Number::at(self.bytes, self.place(at)).map(|_| at + 1),
        }
    }

    /// Steps over the members of an object, from the token after its `{` on.
    fn skip_object(&self, at: Cursor, depth: usize) -> Result<Cursor, Refused> {
        check_depth(depth)?;
        if self.byte(at) == b'}' {
            return Ok(at + 1);
        }
        self.skip_members(at, depth)
    }

    /// Steps over a member and all after it.
    pub fn skip_members(&self, mut at: Cursor, depth: usize) -> Result<Cursor, Refused> {
        loop {
            self.check_key(at)?;
            at = self.skip(at + 2, depth)?;
            match self.byte(at) {
                b',' => at += 1,
                b'}' => return Ok(at + 1),
                _ => return Err(Refused),
            }
        }
    }

    #[inline(always)]
    pub fn check_key(&self, at: Cursor) -> Result<(), Refused> {
        if self.byte(at) == b'"' && self.byte(at + 1) == b':' { Ok(()) } else { Err(Refused) }
    }

    fn skip_array(&self, at: Cursor, depth: usize) -> Result<Cursor, Refused> {
        check_depth(depth)?;
        if self.byte(at) == b']' {
            return Ok(at + 1);
        }
        self.skip_elements(at, depth)
    }

    /// Steps over an element and all after it.
    pub fn skip_elements(&self, mut at: Cursor, depth: usize) -> Result<Cursor, Refused> {
        loop {
            at = self.skip(at, depth)?;
            match self.byte(at) {
                b',' => at += 1,
                b']' => return Ok(at + 1),
                _ => return Err(Refused),
            }
        }
    }
}

#[inline(always)]
pub fn check_depth(depth: usize) -> Result<(), Refused> {
    if depth > MAX_DEPTH { Err(Refused) } else { Ok(()) }
}
