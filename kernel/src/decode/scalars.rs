//! One JSON value as a value of a scalar column. docs/json.md says what is what.

use std::borrow::Cow;

use super::append::append;
use super::base64;
use super::columns::{Column, Data, Kind, TooMuch, offset};
use super::decimals;
use super::texts;
use super::times::{Found, date, timestamp};
use crate::json::document::{Cursor, Document, Token, Value};
use crate::json::scan::Refused;
use crate::json::text::unescape;

/// Why a payload, or all, is left to the portable kernel.
pub enum Stop {
    /// It is no valid JSON, or it has something uncommon in it.
    Payload,
    /// There is too much for one batch.
    Batch,
}

impl From<Refused> for Stop {
    fn from(_: Refused) -> Self {
        Stop::Payload
    }
}

impl From<TooMuch> for Stop {
    fn from(_: TooMuch) -> Self {
        Stop::Batch
    }
}

/// What has become of a value.
pub enum Pushed {
    Value,
    /// It is null, and nothing was added.
    Null,
    /// It is of another type, and nothing was added.
    Mistyped,
}

/// The text of a string: as it stands there, if it has no escapes.
pub fn text<'a>(document: &Document<'a>, raw: &'a [u8]) -> Result<Cow<'a, [u8]>, Refused> {
    if !document.has_escapes || memchr::memchr(b'\\', raw).is_none() {
        return Ok(Cow::Borrowed(raw));
    }
    let mut out = Vec::with_capacity(raw.len());
    unescape(raw, &mut out)?;
    Ok(Cow::Owned(out))
}

/// Adds the value that a token is to a column, if both are of the types that are met most. Otherwise
/// nothing has happened, and `push` does it. The document has no escapes.
#[inline(always)]
pub fn push_common(
    column: &mut Column,
    document: &Document<'_>,
    token: Token,
    zone: Option<i32>,
) -> Result<bool, Stop> {
    let first = token.first;
    match &mut column.data {
        Data::Text { ends, bytes } if first == b'"' => {
            let (start, end) = document.quoted(token);
            append(bytes, document.bytes, start, end);
            ends.push(offset(bytes.len())?);
        }
        Data::Int64(out) if is_number(first) => match document.short_integer(token) {
            Some(value) => out.push(value),
            None => return Ok(false),
        },
        Data::Int32(out) if is_number(first) => {
            match document.short_integer(token).and_then(|integer| integer.try_into().ok()) {
                Some(value) => out.push(value),
                None => return Ok(false),
            }
        }
        Data::Float64(out) if is_number(first) => match document.short_number(token) {
            Some(number) => out.push(number.as_f64()),
            None => return Ok(false),
        },
        Data::Decimal(out) if is_number(first) => {
            let Kind::Decimal { precision, scale } = column.kind else { return Ok(false) };
            let units = document.short_number(token).and_then(|number| {
                let digits = (number.digits, number.decimals());
                decimals::short(digits, number.is_negative, precision, scale)
            });
            match units {
                Some(units) => out.push(units),
                None => return Ok(false),
            }
        }
        Data::Date(out) if first == b'"' => {
            let (start, end) = document.quoted(token);
            match date(&document.bytes[start..end]) {
                Found::Value(days) => out.push(days),
                _ => return Ok(false),
            }
        }
        Data::Timestamp(out) if first == b'"' => {
            let (start, end) = document.quoted(token);
            match timestamp(&document.bytes[start..end], zone) {
                Found::Value(micros) => out.push(micros),
                _ => return Ok(false),
            }
        }
        Data::Bool(bits) if matches!(first, b't' | b'f') => bits.push(first == b't'),
        _ => return Ok(false),
    }
    column.added();
    Ok(true)
}

/// Does a value with this first byte begin a number? (None begins with a point or slash.)
#[inline(always)]
fn is_number(first: u8) -> bool {
    matches!(first, b'-'..=b'9')
}

/// Adds the value at a token to a column, if it is one of the column's type.
pub fn push(
    column: &mut Column,
    document: &Document<'_>,
    at: Cursor,
    zone: Option<i32>,
) -> Result<Pushed, Stop> {
    let value = document.value(at)?;
    if let Value::Null = value {
        return Ok(Pushed::Null);
    }
    let fits = match &mut column.data {
        Data::Int64(out) => integer(out, &value),
        Data::Text { ends, bytes } => {
            push_text(bytes, document, &value, at)?;
            ends.push(offset(bytes.len())?);
            true
        }
        Data::Float64(out) => keep(out, as_double(document, &value)?),
        Data::Bool(out) => match value {
            Value::Bool(bit) => {
                out.push(bit);
                true
            }
            _ => false,
        },
        Data::Timestamp(out) => keep(out, as_timestamp(document, &value, zone)?),
        Data::Int32(out) => integer(out, &value),
        Data::Int16(out) => integer(out, &value),
        Data::Int8(out) => integer(out, &value),
        Data::Date(out) => keep(out, as_date(document, &value)?),
        Data::Float32(out) => keep(out, as_double(document, &value)?.map(|double| double as f32)),
        Data::Decimal(out) => keep(out, as_decimal(document, &value, &column.kind)?),
        Data::Binary { ends, bytes } => {
            let fits = push_binary(bytes, document, &value)?;
            if fits {
                ends.push(offset(bytes.len())?);
            }
            fits
        }
        Data::Ends(_) | Data::Nothing => false, // a program's scalars are checked to be none
    };
    if !fits {
        return Ok(Pushed::Mistyped);
    }
    column.added();
    Ok(Pushed::Value)
}

#[inline(always)]
fn keep<T>(out: &mut Vec<T>, value: Option<T>) -> bool {
    match value {
        Some(value) => {
            out.push(value);
            true
        }
        None => false,
    }
}

#[inline(always)]
fn integer<T: TryFrom<i64>>(out: &mut Vec<T>, value: &Value<'_>) -> bool {
    let integer = match value {
        Value::Number(number) => number.as_i64(),
        _ => None,
    };
    keep(out, integer.and_then(|integer| integer.try_into().ok()))
}

fn sure<T>(found: Found<T>) -> Result<Option<T>, Refused> {
    match found {
        Found::Value(value) => Ok(Some(value)),
        Found::Mistyped => Ok(None),
        Found::Unsure => Err(Refused),
    }
}

pub fn as_double(document: &Document<'_>, value: &Value<'_>) -> Result<Option<f64>, Refused> {
    Ok(match value {
        Value::Number(number) => Some(number.as_f64()),
        Value::Text(raw) => match &*text(document, raw)? {
            b"NaN" => Some(f64::NAN),
            b"Infinity" | b"+Infinity" | b"+INF" => Some(f64::INFINITY),
            b"-Infinity" | b"-INF" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    })
}

pub fn as_date(document: &Document<'_>, value: &Value<'_>) -> Result<Option<i32>, Refused> {
    match value {
        Value::Text(raw) => sure(date(&text(document, raw)?)),
        _ => Ok(None),
    }
}

pub fn as_timestamp(
    document: &Document<'_>,
    value: &Value<'_>,
    zone: Option<i32>,
) -> Result<Option<i64>, Refused> {
    match value {
        Value::Text(raw) => sure(timestamp(&text(document, raw)?, zone)),
        Value::Number(number) => {
            Ok(number.as_i64().and_then(|seconds| seconds.checked_mul(1_000_000)))
        }
        _ => Ok(None),
    }
}

pub fn as_decimal(
    document: &Document<'_>,
    value: &Value<'_>,
    kind: &Kind,
) -> Result<Option<i128>, Refused> {
    let &Kind::Decimal { precision, scale } = kind else { return Ok(None) };
    match value {
        Value::Number(number) => sure(decimals::of_number(number, precision, scale)),
        Value::Text(raw) => sure(decimals::of_text(&text(document, raw)?, precision, scale)),
        _ => Ok(None),
    }
}

#[inline(always)]
pub fn push_text(
    bytes: &mut Vec<u8>,
    document: &Document<'_>,
    value: &Value<'_>,
    at: Cursor,
) -> Result<(), Refused> {
    match value {
        Value::Text(raw) if !document.has_escapes => bytes.extend_from_slice(raw),
        Value::Text(raw) => unescape(raw, bytes)?,
        Value::Number(number) => texts::number(number, bytes)?,
        Value::Bool(true) => bytes.extend_from_slice(b"true"),
        Value::Bool(false) => bytes.extend_from_slice(b"false"),
        Value::Null => {}
        Value::Object | Value::Array => texts::compact(document, at, bytes)?,
    }
    Ok(())
}

pub fn push_binary(
    bytes: &mut Vec<u8>,
    document: &Document<'_>,
    value: &Value<'_>,
) -> Result<bool, Refused> {
    match value {
        Value::Text(raw) if base64::decode(&text(document, raw)?, bytes) => Ok(true),
        Value::Text(_) => Err(Refused),
        _ => Ok(false),
    }
}
