//! Decimals without exponent; the portable kernel knows the others.

use super::times::Found;
use crate::json::number::Number;

/// `12.345` as a whole number of units of the scale, rounded half up.
#[inline]
pub fn of_number(number: &Number<'_>, precision: u8, scale: i8) -> Found<i128> {
    let digits = number.as_digits();
    match digits.and_then(|digits| short(digits, number.is_negative(), precision, scale)) {
        Some(units) => Found::Value(units),
        None => any(number.text, precision, scale),
    }
}

/// The same of a text, which may be no number, or a number that JSON would write differently.
pub fn of_text(text: &[u8], precision: u8, scale: i8) -> Found<i128> {
    match Number::at(text, 0) {
        Ok(number) if number.text.len() == text.len() => of_number(&number, precision, scale),
        _ => any(text, precision, scale),
    }
}

/// Digits, so many of them behind the point, if no rounding is needed and they fit into 64 bits, as
/// nearly all do.
#[inline(always)]
pub fn short(
    (digits, decimals): (u64, usize),
    is_negative: bool,
    precision: u8,
    scale: i8,
) -> Option<i128> {
    let missing = usize::try_from(scale).ok()?.checked_sub(decimals)?;
    let units = digits.checked_mul(*SHORT_POWERS.get(missing)?)?;
    // Whatever has 64 bits has fewer than 20 digits.
    if SHORT_POWERS.get(usize::from(precision)).is_some_and(|limit| units >= *limit) {
        return None;
    }
    let units = i128::from(units);
    Some(if is_negative { -units } else { units })
}

fn any(text: &[u8], precision: u8, scale: i8) -> Found<i128> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    let (whole, fraction) = match memchr::memchr(b'.', digits) {
        Some(point) => (&digits[..point], &digits[point + 1..]),
        None => (digits, &digits[digits.len()..]),
    };
    let all_digits = |part: &[u8]| part.iter().all(u8::is_ascii_digit);
    if whole.is_empty() || !all_digits(whole) || !all_digits(fraction) {
        return Found::Unsure;
    }
    let mut mantissa = 0u128;
    for digit in whole.iter().chain(fraction) {
        if mantissa >= POWERS[37] {
            return Found::Unsure; // more than 38 digits
        }
        mantissa = mantissa * 10 + u128::from(digit - b'0');
    }
    let scale = scale.max(0) as usize;
    let units = match fraction.len().checked_sub(scale) {
        None => POWERS.get(scale - fraction.len()).and_then(|power| mantissa.checked_mul(*power)),
        Some(surplus) => Some(
            POWERS
                .get(surplus)
                .map_or(0, |power| mantissa / power + u128::from(mantissa % power * 2 >= *power)),
        ),
    };
    match units {
        Some(units) if units < POWERS[usize::from(precision).min(38)] => {
            Found::Value(if negative { -(units as i128) } else { units as i128 })
        }
        _ => Found::Mistyped,
    }
}

/// 10 to the power of 0 to 19: those of 64 bits.
static SHORT_POWERS: [u64; 20] = {
    let mut powers = [1; 20];
    let mut exponent = 1;
    while exponent < 20 {
        powers[exponent] = powers[exponent - 1] * 10;
        exponent += 1;
    }
    powers
};

/// 10 to the power of 0 to 38.
static POWERS: [u128; 39] = powers();

const fn powers() -> [u128; 39] {
    let mut powers = [1; 39];
    let mut exponent = 1;
    while exponent < 39 {
        powers[exponent] = powers[exponent - 1] * 10;
        exponent += 1;
    }
    powers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals() {
        let read = |text: &str| of_text(text.as_bytes(), 5, 2);
        for (text, units) in [
            ("1", 100),
            ("-1.005", -101),
            ("1.004999", 100),
            ("999.99", 99_999),
            ("0.000", 0),
            ("5.", 500),
        ] {
            assert_eq!(read(text), Found::Value(units), "{text}");
        }
        for text in ["12.34", "-0.5", "0", "-0.00", "-999.99", "7.1", "1000", "0.001", "-1.00e0"] {
            let number = Number::at(text.as_bytes(), 0).unwrap();
            let slowly = any(text.as_bytes(), 5, 2);
            assert_eq!(of_number(&number, 5, 2), slowly, "{text}");
            let is_short = !["1000", "0.001", "-1.00e0"].contains(&text);
            let digits = number.as_digits();
            let found = digits.and_then(|digits| short(digits, number.is_negative(), 5, 2));
            assert_eq!(found.is_some(), is_short, "{text}");
        }
        assert_eq!(read("1000"), Found::Mistyped);
        assert_eq!(read("999.995"), Found::Mistyped);
        assert_eq!(of_text(&[b'9'; 38], 38, 0), Found::Value(10i128.pow(38) - 1));
        assert_eq!(of_text(&[b'9'; 38], 38, 1), Found::Mistyped);
        assert_eq!(of_text(format!("0.{}", "4".repeat(37)).as_bytes(), 38, 0), Found::Value(0));
        for unsure in ["", "1e3", ".5", "1,000", "x", "-", &"9".repeat(39)] {
            assert_eq!(read(unsure), Found::Unsure, "{unsure}");
        }
    }
}
