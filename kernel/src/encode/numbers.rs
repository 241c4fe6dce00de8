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
    if !value.is_finite() {
        return unusual(value, out);
    }
    let mut buffer = [0; ROOM];
    let scientific = Scientific::of(written(&mut buffer, format_args!("{value:e}")));
    if scientific.may_be_one_of_two(value, 16) {
        let exact = scientific.exact(value);
        if exact.parse() == Ok(value) {
            return Scientific::of(exact.as_bytes()).write(out);
        }
    }
    scientific.write(out);
}

/// Are there perhaps two shortest texts of a double, equally near to it?
pub fn may_have_two_texts(value: f64) -> bool {
    let mut buffer = [0; ROOM];
    let text = written(&mut buffer, format_args!("{value:e}"));
    Scientific::of(text).may_be_one_of_two(value, 16)
}

/// The same for a float of 32 bits, which needs fewer digits.
pub fn float(value: f32, out: &mut Vec<u8>) {
    if !value.is_finite() {
        return unusual(value.into(), out);
    }
    let mut buffer = [0; ROOM];
    let scientific = Scientific::of(written(&mut buffer, format_args!("{value:e}")));
    if scientific.may_be_one_of_two(value.into(), 7) {
        let exact = scientific.exact(value.into());
        if exact.parse() == Ok(value) {
            return Scientific::of(exact.as_bytes()).write(out);
        }
    }
    scientific.write(out);
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

/// 17 digits, signs, point, e and exponent are less.
const ROOM: usize = 32;

/// A float as Rust writes it, `-1.25e-7`, taken apart.
struct Scientific<'a> {
    is_negative: bool,
    first: u8,
    others: &'a [u8],
    exponent: i32,
}

impl<'a> Scientific<'a> {
    fn of(text: &'a [u8]) -> Self {
        let (mantissa, exponent) = match memchr::memchr(b'e', text) {
            Some(place) => (&text[..place], small(&text[place + 1..])),
            None => (text, 0),
        };
        let (is_negative, mantissa) = match mantissa {
            [b'-', rest @ ..] => (true, rest),
            rest => (false, rest),
        };
        let (first, others) = match mantissa {
            [first, b'.', others @ ..] => (*first, others),
            [first, ..] => (*first, &b""[..]),
            [] => (b'0', &b""[..]),
        };
        Scientific { is_negative, first, others, exponent }
    }

    /// Does the value perhaps lie in the very middle between two numbers of so many digits, both of
    /// which read back as it? Then we want the even one, and Rust takes the greater. Numbers of
    /// fewer than `least` digits all read back as different values.
    fn may_be_one_of_two(&self, value: f64, least: usize) -> bool {
        let count = self.others.len() + 1;
        if count < least {
            return false;
        }
        let bits = value.to_bits();
        let exponent = (bits >> 52 & 0x7ff) as i32;
        let fraction = bits & ((1 << 52) - 1);
        let mantissa = if exponent == 0 { fraction } else { fraction | 1 << 52 };
        let lowest = exponent.max(1) - 1075 + mantissa.trailing_zeros() as i32;
        // If 2^-n is the lowest bit, there are n digits behind the point: in the middle, one more
        // than are written.
        lowest >= 0 || -lowest == count as i32 - self.exponent
    }

    /// The nearest number of as many digits, the even one of two.
    fn exact(&self, value: f64) -> String {
        format!("{value:.*e}", self.others.len())
    }

    /// Appends it in our form.
    fn write(&self, out: &mut Vec<u8>) {
        let Scientific { is_negative, first, others, exponent } = *self;
        if is_negative {
            out.push(b'-');
        }
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
    #[allow(clippy::excessive_precision)] // they lie in the very middle between two others
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
            (189_377_213_700_075.625, "1.8937721370007562e+14"),
            (189_377_213_700_075.875, "1.8937721370007588e+14"),
            (-1_234_567.000_488_281_25, "-1234567.0004882812"),
            (9_007_199_254_740_993.0, "9.007199254740992e+15"),
            (1.125_899_906_842_624e15, "1.125899906842624e+15"),
            (0.1 + 0.2, "0.30000000000000004"),
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
