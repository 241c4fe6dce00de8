//! Numbers as JSON writes them.

use super::ends_scalar;
use super::scan::Refused;

/// A number in a document, checked.
#[derive(Clone, Copy)]
pub struct Number<'a> {
    pub text: &'a [u8],
    /// It has neither a fraction nor an exponent.
    pub is_integer: bool,
}

impl<'a> Number<'a> {
    /// The number that begins at a place, and ends where a scalar may end.
    #[inline(always)]
    pub fn at(document: &'a [u8], start: usize) -> Result<Self, Refused> {
        let byte = |place: usize| document.get(place).copied().unwrap_or(b' ');
        let mut place = start;
        if byte(place) == b'-' {
            place += 1;
        }
        match byte(place) {
            b'0' => place += 1,
            b'1'..=b'9' => place = after_digits(document, place + 1),
            _ => return Err(Refused),
        }
        let mut is_integer = true;
        if byte(place) == b'.' {
            is_integer = false;
            let fraction = place + 1;
            place = after_digits(document, fraction);
            if place == fraction {
                return Err(Refused);
            }
        }
        if byte(place) | 0x20 == b'e' {
            is_integer = false;
            place += 1;
            if matches!(byte(place), b'+' | b'-') {
                place += 1;
            }
            let exponent = place;
            place = after_digits(document, exponent);
            if place == exponent {
                return Err(Refused);
            }
        }
        if !ends_scalar(byte(place)) {
            return Err(Refused);
        }
        Ok(Number { text: &document[start..place], is_integer })
    }

    /// Its value, if it is an integer of 64 bits.
    #[inline]
    pub fn as_i64(&self) -> Option<i64> {
        if !self.is_integer {
            return None;
        }
        let (negative, digits) = match self.text {
            [b'-', digits @ ..] => (true, digits),
            digits => (false, digits),
        };
        if digits.len() > 19 {
            return None; // there are no leading zeros
        }
        let mut value = 0u64; // 19 digits fit
        for digit in digits {
            value = value * 10 + u64::from(digit - b'0');
        }
        if negative { 0i64.checked_sub_unsigned(value) } else { value.try_into().ok() }
    }

    /// The nearest double; minus zero only if it is written as a fraction.
    #[inline]
    pub fn as_f64(&self) -> f64 {
        let short = if self.is_integer {
            self.as_i64().map(|integer| integer as f64)
        } else {
            self.short_fraction()
        };
        if let Some(value) = short {
            return value;
        }
        let text = std::str::from_utf8(self.text).unwrap_or_default();
        text.parse().unwrap_or(f64::NAN) // whatever is a number for JSON is one for Rust
    }

    /// Of few digits and no exponent: both parts are doubles, and so the quotient is right.
    fn short_fraction(&self) -> Option<f64> {
        if self.text.len() > 17 {
            return None;
        }
        let mut mantissa = 0u64;
        let mut decimals = None;
        let negative = self.text[0] == b'-';
        for (place, byte) in self.text.iter().enumerate().skip(usize::from(negative)) {
            match byte {
                b'0'..=b'9' => mantissa = mantissa * 10 + u64::from(byte - b'0'),
                b'.' => decimals = Some(self.text.len() - place - 1),
                _ => return None,
            }
        }
        const POWERS: [f64; 18] = [
            1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
            1e16, 1e17,
        ];
        if mantissa > 1 << 53 {
            return None;
        }
        let value = mantissa as f64 / POWERS.get(decimals?)?;
        Some(if negative { -value } else { value })
    }
}

/// The first place from here on without a digit.
#[inline(always)]
fn after_digits(document: &[u8], mut place: usize) -> usize {
    while let Some(eight) = document.get(place..place + 8) {
        let word = u64::from_le_bytes(eight.try_into().expect("eight bytes"));
        // Digits become 0 to 9. Adding 0x76 sets the highest bit of what is more; a carry may
        // disturb only bytes after the first that is no digit.
        let word = word ^ 0x3030_3030_3030_3030;
        let others = (word.wrapping_add(0x7676_7676_7676_7676) | word) & 0x8080_8080_8080_8080;
        if others != 0 {
            return place + others.trailing_zeros() as usize / 8;
        }
        place += 8;
    }
    while document.get(place).is_some_and(u8::is_ascii_digit) {
        place += 1;
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_a_number() {
        for right in ["0", "-0", "10", "1.5", "-0.0", "1e5", "1E+5", "12345678901.25e-7", "0e0"] {
            let number = Number::at(right.as_bytes(), 0).expect(right);
            assert_eq!(number.text, right.as_bytes());
            assert_eq!(number.is_integer, !right.contains(['.', 'e', 'E']));
        }
        for wrong in [
            "", "-", "01", "1.", ".5", "+1", "1e", "1e+", "1a", "1\"", "--1", "1.e5", "1\x0c",
            "NaN", "0x1",
        ] {
            assert!(Number::at(wrong.as_bytes(), 0).is_err(), "{wrong}");
        }
    }

    #[test]
    fn integers() {
        let read = |text: &str| Number::at(text.as_bytes(), 0).unwrap().as_i64();
        assert_eq!(read("9223372036854775807"), Some(i64::MAX));
        assert_eq!(read("-9223372036854775808"), Some(i64::MIN));
        assert_eq!(read("9223372036854775808"), None);
        assert_eq!(read("-9223372036854775809"), None);
        assert_eq!(read("99999999999999999999"), None);
        assert_eq!(read("-0"), Some(0));
        assert_eq!(read("1.0"), None);
    }

    #[test]
    fn doubles() {
        let read = |text: &str| Number::at(text.as_bytes(), 0).unwrap().as_f64();
        for text in [
            "0.1",
            "1234.5678",
            "-0.0",
            "1e400",
            "5e-324",
            "9007199254740993.0",
            "0.30000000000000004",
        ] {
            assert_eq!(read(text).to_bits(), text.parse::<f64>().unwrap().to_bits(), "{text}");
        }
        assert_eq!(read("-0").to_bits(), 0);
        assert_eq!(read("123456789012345678901234567890"), 123456789012345678901234567890.0);
    }
}
