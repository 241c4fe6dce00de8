//! Numbers: integers, the shortest digits of floats, decimals.

use std::io::Write;

/// Appends an integer.
#[inline]
pub fn integer(value: impl Into<i128>, out: &mut Vec<u8>) {
    let value: i128 = value.into();
    match u64::try_from(value.unsigned_abs()) {
        Ok(size) => {
            if value < 0 {
                out.push(b'-');
            }
            unsigned(size, out);
        }
        Err(_) => show(out, format_args!("{value}")),
    }
}

fn unsigned(mut value: u64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut place = digits.len();
    loop {
        place -= 1;
        digits[place] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[place..]);
}

/// Appends the shortest digits that read back as the same double: `1.0`, `0.000001`, `1e+10`,
/// `1.5e-7`; NaN and infinities as texts.
pub fn double(value: f64, out: &mut Vec<u8>) {
    if value.is_finite() { digits(format_args!("{value:e}"), out) } else { unusual(value, out) }
}

/// The same for a float of 32 bits, which needs fewer digits.
pub fn float(value: f32, out: &mut Vec<u8>) {
    if value.is_finite() {
        digits(format_args!("{value:e}"), out);
    } else {
        unusual(value.into(), out);
    }
}

fn unusual(value: f64, out: &mut Vec<u8>) {
    let text: &[u8] = if value.is_nan() {
        b"\"NaN\""
    } else if value < 0.0 {
        b"\"-Infinity\""
    } else {
        b"\"Infinity\""
    };
    out.extend_from_slice(text);
}

/// The exponents for which a float is written without one.
const PLAIN: std::ops::Range<i32> = -6..10;

/// Brings `-1.25e-7`, Rust's form, into ours.
fn digits(scientific: std::fmt::Arguments<'_>, out: &mut Vec<u8>) {
    let mut buffer = [0; 32]; // 17 digits, signs, point, e and exponent are less
    let text = written(&mut buffer, scientific);
    let (mantissa, exponent) = match memchr::memchr(b'e', text) {
        Some(place) => (&text[..place], small(&text[place + 1..])),
        None => (text, 0),
    };
    let (sign, mantissa) = match mantissa {
        [b'-', rest @ ..] => (&b"-"[..], rest),
        rest => (&b""[..], rest),
    };
    let (first, others) = match mantissa {
        [first, b'.', others @ ..] => (*first, others),
        [first, ..] => (*first, &b""[..]),
        [] => (b'0', &b""[..]),
    };
    out.extend_from_slice(sign);
    if !PLAIN.contains(&exponent) {
        out.push(first);
        if !others.is_empty() {
            out.push(b'.');
            out.extend_from_slice(others);
        }
        out.extend_from_slice(if exponent < 0 { b"e" } else { b"e+" });
        integer(exponent, out);
    } else if exponent < 0 {
        out.extend_from_slice(b"0.");
        out.extend(std::iter::repeat_n(b'0', exponent.unsigned_abs() as usize - 1));
        out.push(first);
        out.extend_from_slice(others);
    } else {
        let whole = exponent as usize;
        out.push(first);
        out.extend_from_slice(&others[..whole.min(others.len())]);
        out.extend(std::iter::repeat_n(b'0', whole.saturating_sub(others.len())));
        out.push(b'.');
        match others.get(whole..) {
            Some(fraction @ [_, ..]) => out.extend_from_slice(fraction),
            _ => out.push(b'0'),
        }
    }
}

fn small(text: &[u8]) -> i32 {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let size = digits.iter().fold(0, |value, digit| value * 10 + i32::from(digit - b'0'));
    if negative { -size } else { size }
}

/// Appends a decimal with as many places as its type has; tiny ones have an exponent, as in Java.
pub fn decimal(units: i128, scale: i8, out: &mut Vec<u8>) {
    let mut buffer = [0; 40]; // 128 bits have at most 39 digits
    let digits = written(&mut buffer, format_args!("{}", units.unsigned_abs()));
    if units < 0 {
        out.push(b'-');
    }
    let scale = i32::from(scale);
    let count = digits.len() as i32;
    let exponent = count - 1 - scale;
    if scale < 0 || exponent < -6 {
        out.push(digits[0]);
        if count > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits[1..]);
        }
        out.extend_from_slice(if exponent < 0 { b"E" } else { b"E+" });
        integer(exponent, out);
    } else if scale == 0 {
        out.extend_from_slice(digits);
    } else if scale < count {
        let (whole, fraction) = digits.split_at((count - scale) as usize);
        out.extend_from_slice(whole);
        out.push(b'.');
        out.extend_from_slice(fraction);
    } else {
        out.extend_from_slice(b"0.");
        out.extend(std::iter::repeat_n(b'0', (scale - count) as usize));
        out.extend_from_slice(digits);
    }
}

fn written<'a>(buffer: &'a mut [u8], text: std::fmt::Arguments<'_>) -> &'a [u8] {
    let size = buffer.len();
    let mut left = &mut *buffer;
    let fits = left.write_fmt(text).is_ok();
    debug_assert!(fits, "the buffers are as large as the longest numbers");
    let length = size - left.len();
    &buffer[..length]
}

fn show(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    let fits = out.write_fmt(text).is_ok();
    debug_assert!(fits, "a vector has room");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn integers() {
        for value in [0, 7, -1, i64::MAX, i64::MIN] {
            assert_eq!(text(|out| integer(value, out)), value.to_string());
        }
        assert_eq!(text(|out| integer(u64::MAX, out)), u64::MAX.to_string());
        assert_eq!(text(|out| integer(i128::MIN, out)), i128::MIN.to_string());
    }

    #[test]
    fn floats() {
        for (value, expected) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (-12.5, "-12.5"),
            (0.1, "0.1"),
            (1e9, "1000000000.0"),
            (9_999_999_999.0, "9999999999.0"),
            (1e10, "1e+10"),
            (123_456_789_012.5, "1.234567890125e+11"),
            (1e-6, "0.000001"),
            (1.234e-6, "0.000001234"),
            (1.5e-7, "1.5e-7"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (f64::NAN, "\"NaN\""),
            (f64::NEG_INFINITY, "\"-Infinity\""),
        ] {
            assert_eq!(text(|out| double(value, out)), expected);
        }
        assert_eq!(text(|out| float(0.1, out)), "0.1");
        assert_eq!(text(|out| float(16_777_216.0, out)), "16777216.0");
    }

    #[test]
    fn decimals() {
        for (units, scale, expected) in [
            (-12_340, 3, "-12.340"),
            (0, 0, "0"),
            (0, 7, "0E-7"),
            (1, 7, "1E-7"),
            (12_345, 10, "0.0000012345"),
            (1, 6, "0.000001"),
            (-1, 2, "-0.01"),
            (12_345_678, 38, "1.2345678E-31"),
            (12, -2, "1.2E+3"),
            (i128::MIN, 0, "-170141183460469231731687303715884105728"),
        ] {
            assert_eq!(text(|out| decimal(units, scale, out)), expected);
        }
    }
}
