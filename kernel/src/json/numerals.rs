//! Numbers, 64 bytes at a time: are they written as JSON wants it?
//!
//! Almost all numbers have the form `-123.45`, of which every part may be missing but the first
//! digits. That a run of bytes has this form is seen by what stands next to what, so it can be
//! told of all numbers of a block at once. A document in which some number has another form - an
//! exponent, or a mistake - is *odd*: its numbers are looked at one by one.

use super::simd::Block;

/// What the blocks before have left open.
#[derive(Default)]
pub struct Numerals {
    last: Last,
    /// A bit is set if some number so far has another form.
    pub odd: u64,
}

/// What the last byte of the block before is: its bit is bit 0.
#[derive(Default)]
struct Last {
    digit: u64,
    minus: u64,
    point: u64,
    /// A zero that must be the only digit before the point.
    leading_zero: u64,
    /// In the digits after a point.
    fraction: bool,
}

impl Numerals {
    /// `scalars` are the bytes of numbers and literals, `starts` the first ones.
    #[inline(always)]
    pub fn step(&mut self, block: &Block, scalars: u64, starts: u64) {
        let last = &self.last;
        let digits = block.digits & scalars;
        let points = block.points & scalars;
        let minuses = block.minuses & scalars;
        let others = scalars & !(digits | points | minuses);
        let after_digit = digits << 1 | last.digit;
        let after_minus = minuses << 1 | last.minus;
        let after_point = points << 1 | last.point;
        let leading_zeros = block.zeros & digits & (starts | after_minus);
        let after_leading_zero = leading_zeros << 1 | last.leading_zero;
        // Adding a bit at the start of a run of ones carries it behind the run: that is how the
        // end of the digits after each point is found.
        let (runs, carried) = digits.overflowing_add(after_point & digits);
        let (runs, carried_on) = runs.overflowing_add(u64::from(last.fraction));
        let after_fraction = runs & !digits;

        self.odd |= (minuses & !starts)
            | ((after_minus | after_point) & !digits)
            | (points & (!after_digit | after_fraction))
            | (after_leading_zero & digits)
            | (others & after_digit); // what follows a minus or point is a digit, see above
        self.last = Last {
            digit: digits >> 63,
            minus: minuses >> 63,
            point: points >> 63,
            leading_zero: leading_zeros >> 63,
            fraction: carried | carried_on,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::super::number::Number;
    use super::super::simd::plain;
    use super::*;

    /// Is a number that begins at a place, with nothing else around it, of the common form?
    fn is_common(number: &str, place: usize) -> bool {
        let mut text = vec![b' '; place];
        text.extend_from_slice(number.as_bytes());
        text.resize(text.len().next_multiple_of(64) + 64, b' ');
        let mut numerals = Numerals::default();
        let mut before = 0;
        for bytes in text.as_chunks::<64>().0 {
            let block = plain::classify(bytes);
            let scalars = !(block.operators | block.spaces);
            numerals.step(&block, scalars, scalars & !(scalars << 1 | before));
            before = scalars >> 63;
        }
        numerals.odd == 0
    }

    #[test]
    fn what_is_common_is_right() {
        let bytes = b"0019.-e";
        let mut common = 0;
        for number in 0..7usize.pow(6) {
            let mut left = number;
            let mut text = String::new();
            while left > 0 {
                text.push(bytes[left % 7] as char);
                left /= 7;
            }
            if text.is_empty() || text.starts_with('e') {
                continue; // begins as no number: whoever walks the tokens sees that
            }
            let is_right = Number::at(text.as_bytes(), 0).is_ok();
            let expected = is_right && !text.contains('e');
            assert_eq!(is_common(&text, 3), expected, "{text}");
            assert_eq!(is_common(&text, 60 + number % 5), expected, "{text}");
            common += u32::from(expected);
        }
        assert!(common > 1000);
    }

    #[test]
    fn literals_are_not_odd() {
        for place in 55..66 {
            for text in ["true", "null", "false", "what ever", "true, 1.5, -0"] {
                assert!(is_common(text, place), "{text}");
            }
            for text in ["1e5", "1true", "1.5.5", "12 01", "-", "-true"] {
                assert!(!is_common(text, place), "{text}");
            }
        }
    }
}
