//! The text of one scalar: that of the document, wherever it is what we would write.

use crate::decode::columns::Kind;
use crate::decode::scalars::{
    Stop, as_date, as_decimal, as_double, as_timestamp, push_binary, push_text,
};
use crate::encode::Left;
use crate::encode::numbers::{decimal, double, float, integer};
use crate::encode::strings::{base64, has_our_escapes, quoted};
use crate::encode::times::{Zone, date, timestamp};
use crate::json::document::{Cursor, Document, Value};
use crate::json::number::Number;

/// What has become of a value.
pub enum Made {
    Null,
    /// It is of another type.
    Mistyped,
    /// It may be copied: so many bytes from its token on.
    Same(usize),
    /// Its text was appended.
    Written,
}

impl From<Left> for Stop {
    fn from(_: Left) -> Self {
        Stop::Payload
    }
}

/// The text of the value at a token.
#[inline]
pub fn scalar(
    kind: &Kind,
    document: &Document<'_>,
    at: Cursor,
    zone: Option<i32>,
    out: &mut Vec<u8>,
    plain: &mut Vec<u8>,
) -> Result<Made, Stop> {
    let value = document.value(at)?;
    let made = match (kind, &value) {
        (_, Value::Null) => Made::Null,
        (Kind::Text, Value::Text(raw)) if !document.has_escapes || has_our_escapes(raw) => {
            Made::Same(raw.len() + 2)
        }
        (Kind::Text, _) => {
            plain.clear();
            push_text(plain, document, &value, at)?;
            quoted(plain, out);
            Made::Written
        }
        (Kind::Int64, Value::Number(number)) => whole::<i64>(number, out),
        (Kind::Int32, Value::Number(number)) => whole::<i32>(number, out),
        (Kind::Int16, Value::Number(number)) => whole::<i16>(number, out),
        (Kind::Int8, Value::Number(number)) => whole::<i8>(number, out),
        (Kind::Bool, Value::Bool(bit)) => Made::Same(if *bit { 4 } else { 5 }),
        (Kind::Float64, Value::Number(number)) if is_shortest_double(number.text) => {
            Made::Same(number.text.len())
        }
        (Kind::Float64, _) => written(as_double(document, &value)?, |value| {
            double(value, out);
            Ok(())
        })?,
        (Kind::Float32, _) => written(as_double(document, &value)?, |value| {
            float(value as f32, out);
            Ok(())
        })?,
        (Kind::Date, _) => written(as_date(document, &value)?, |days| date(days, out))?,
        (Kind::Timestamp, _) => {
            let shown = Zone::Fixed(zone.ok_or(Stop::Payload)?);
            written(as_timestamp(document, &value, zone)?, |time| timestamp(time, shown, out))?
        }
        (Kind::Decimal { scale, .. }, _) => {
            written(as_decimal(document, &value, kind)?, |units| {
                decimal(units, *scale, out);
                Ok(())
            })?
        }
        (Kind::Binary, _) => {
            plain.clear();
            if push_binary(plain, document, &value)? {
                base64(plain, out);
                Made::Written
            } else {
                Made::Mistyped
            }
        }
        _ => Made::Mistyped,
    };
    Ok(made)
}

fn written<T>(value: Option<T>, write: impl FnOnce(T) -> Result<(), Left>) -> Result<Made, Left> {
    match value {
        Some(value) => write(value).map(|()| Made::Written),
        None => Ok(Made::Mistyped),
    }
}

#[inline(always)]
fn whole<T: TryFrom<i64>>(number: &Number<'_>, out: &mut Vec<u8>) -> Made {
    match number.as_i64() {
        Some(value) if T::try_from(value).is_err() => Made::Mistyped,
        Some(0) => {
            integer(0i64, out); // it may be `-0`
            Made::Written
        }
        Some(_) => Made::Same(number.text.len()), // JSON has no leading zeros
        None => Made::Mistyped,
    }
}

/// Is a number surely written as we would write the nearest double?
///
/// Different decimals of at most 15 digits are different doubles. So the shortest digits of the
/// nearest double are these, and what is left is the form: a point, no needless zeros, and a size
/// that is written without an exponent.
fn is_shortest_double(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    if digits.len() > 16 {
        return false;
    }
    let Some(point) = memchr::memchr(b'.', digits) else { return false };
    let (before, after) = (&digits[..point], &digits[point + 1..]);
    let small = match (before, after) {
        (b"0", [first, ..]) => *first != b'0' || after == b"0",
        _ => before.len() <= 10,
    };
    small
        && after.iter().all(u8::is_ascii_digit)
        && (after == b"0" || after.last().is_some_and(|last| *last != b'0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_that_may_be_copied() {
        for same in
            ["0.0", "-0.0", "1.0", "-12.5", "0.1", "1234567890.5", "0.12345678901234", "10.0"]
        {
            assert!(is_shortest_double(same.as_bytes()), "{same}");
            let mut out = Vec::new();
            double(same.parse().unwrap(), &mut out);
            assert_eq!(out, same.as_bytes());
        }
        for other in
            ["1", "1.50", "1.5e3", "0.05", "12345678901.5", "0.1234567890123456", "1.00", "0.00"]
        {
            assert!(!is_shortest_double(other.as_bytes()), "{other}");
        }
    }
}
