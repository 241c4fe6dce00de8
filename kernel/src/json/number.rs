//! Numbers as JSON writes them.

use super::ends_scalar;
use super::scan::Refused;
use super::short_number::eight_digits;

/// A number in a document, checked.
#[derive(Clone, Copy)]
pub struct Number<'a> {
    pub text: &'a [u8],
    /// It has neither a fraction nor an exponent.
    pub is_integer: bool,
    has_exponent: bool,
    /// All digits but those of the exponent, if they fit; and how many of them there are.
    digits: Digits,
    /// How many of them stand behind the point.
    decimals: usize,
}

/// Digits in a row.
#[derive(Clone, Copy, Default)]
struct Digits {
    /// Right if there are at most 19.
    value: u64,
    count: usize,
}

impl<'a> Number<'a> {
    /// The number that begins at a place, and ends where a scalar may end.
    #[inline(always)]
    pub fn at(document: &'a [u8], start: usize) -> Result<Self, Refused> {
        let byte = |place: usize| document.get(place).copied().unwrap_or(b' ');
        let mut place = start + usize::from(byte(start) == b'-');
        let mut digits = Digits::default();
        let has_leading_zero = byte(place) == b'0';
        digits.read(document, &mut place);
        if digits.count == 0 || (has_leading_zero && digits.count > 1) {
            return Err(Refused);
        }
        let mut decimals = 0;
        if byte(place) == b'.' {
            place += 1;
            let before = digits.count;
            digits.read(document, &mut place);
            decimals = digits.count - before;
            if decimals == 0 {
                return Err(Refused);
            }
        }
        let has_exponent = byte(place) | 0x20 == b'e';
        if has_exponent {
            place = after_exponent(document, place)?;
        }
        if !ends_scalar(byte(place)) {
            return Err(Refused);
        }
        let is_integer = decimals == 0 && !has_exponent;
        Ok(Number { text: &document[start..place], is_integer, has_exponent, digits, decimals })
    }

    #[inline(always)]
    pub fn is_negative(&self) -> bool {
        self.text[0] == b'-'
    }

    /// Its value, if it is an integer of 64 bits.
    #[inline(always)]
    pub fn as_i64(&self) -> Option<i64> {
        let Digits { value, count } = self.digits;
        if !self.is_integer || count > 19 {
            return None; // there are no leading zeros
        }
        if self.is_negative() { 0i64.checked_sub_unsigned(value) } else { value.try_into().ok() }
    }

    /// Its digits, without sign and point, and how many of them stand behind the point; None if
    /// they are too many, or there is an exponent.
    #[inline(always)]
    pub fn as_digits(&self) -> Option<(u64, usize)> {
        let Digits { value, count } = self.digits;
        (count <= 19 && !self.has_exponent).then_some((value, self.decimals))
    }

    /// The nearest double; minus zero only if it is written as a fraction.
    #[inline(always)]
    pub fn as_f64(&self) -> f64 {
        let short = if self.is_integer {
            self.as_i64().map(|integer| integer as f64)
        } else {
            self.short_fraction()
        };
        short.unwrap_or_else(|| self.long())
    }

    /// Of few digits and no exponent: both parts are doubles, and so the quotient is right.
    #[inline(always)]
    fn short_fraction(&self) -> Option<f64> {
        const POWERS: [f64; 20] = [
            1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
            1e16, 1e17, 1e18, 1e19,
        ];
        let Digits { value, count } = self.digits;
        if count > 19 || value > 1 << 53 || self.has_exponent {
            return None;
        }
        let value = value as f64 / POWERS.get(self.decimals)?;
        Some(if self.is_negative() { -value } else { value })
    }

    #[cold]
    fn long(&self) -> f64 {
        let text = std::str::from_utf8(self.text).unwrap_or_default();
        text.parse().unwrap_or(f64::NAN) // whatever is a number for JSON is one for Rust
    }
}

impl Digits {
    /// Appends the digits from a place on, which moves behind them. Eight at a time.
    #[inline(always)]
    fn read(&mut self, document: &[u8], place: &mut usize) {
        const POWERS: [u64; 9] =
            [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];
        while let Some(eight) = document.get(*place..).and_then(|rest| rest.first_chunk()) {
            // Digits become 0 to 9. Adding 0x76 sets the highest bit of what is more; a carry may
            // disturb only bytes after the first that is no digit.
            let word = u64::from_le_bytes(*eight) ^ 0x3030_3030_3030_3030;
            let others = (word.wrapping_add(0x7676_7676_7676_7676) | word) & 0x8080_8080_8080_8080;
            let count = others.trailing_zeros() as usize / 8;
            if count == 0 {
                return;
            }
            // The digits at the end of the word, zeros before them.
            let value = eight_digits(word << (64 - 8 * count));
            self.value = self.value.wrapping_mul(POWERS[count]).wrapping_add(value);
            self.count += count;
            *place += count;
            if count < 8 {
                return;
            }
        }
        while let Some(digit @ b'0'..=b'9') = document.get(*place) {
            self.value = self.value.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            self.count += 1;
            *place += 1;
        }
    }
}

/// What comes after an exponent, the `e` of which is at a place.
fn after_exponent(document: &[u8], mut place: usize) -> Result<usize, Refused> {
    place += 1;
    place += usize::from(matches!(document.get(place), Some(b'+' | b'-')));
    let digits = document[place.min(document.len())..].iter();
    match digits.take_while(|byte| byte.is_ascii_digit()).count() {
        0 => Err(Refused),
        count => Ok(place + count),
    }
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

    /// Wherever the number begins and ends.
    #[test]
    fn digits() {
        for length in 1..=20 {
            let text = &"12345678901234567890"[..length];
            for (before, after) in [("", ""), ("[[[", "]"), ("", "]          ")] {
                let document = format!("{before}{text}{after}");
                let number = Number::at(document.as_bytes(), before.len()).unwrap();
                assert_eq!(number.as_i64(), text.parse().ok(), "{document}");
                let fraction = format!("{before}-0.{text}{after}");
                let number = Number::at(fraction.as_bytes(), before.len()).unwrap();
                let expected: f64 = format!("-0.{text}").parse().unwrap();
                assert_eq!(number.as_f64().to_bits(), expected.to_bits(), "{fraction}");
            }
        }
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
