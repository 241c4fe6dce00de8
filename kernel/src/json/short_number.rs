//! Numbers as they mostly are: up to 16 digits, maybe with a sign and a point among them.
//!
//! The scan has seen that all numbers of a document are written as they must be, and the next token
//! tells where one ends. So its digits are read at once, 16 bytes that end where it does,
//! without asking each what it is: how many there are differs from number to number, and a
//! processor that guesses it wrong could have read three numbers meanwhile.

/// A number in a document: its digits, without sign and point.
#[derive(Clone, Copy)]
pub struct ShortNumber {
    pub digits: u64,
    pub is_negative: bool,
    /// How many digits stand behind the point; `NO_POINT` if there is none.
    after_point: usize,
}

const SIZE: usize = 16;
const NO_POINT: usize = SIZE;
/// What becomes of a point, where digits become 0 to 9.
const POINT: u8 = b'.' ^ b'0';

/// By length: ones in the last so many bytes.
static LAST: [[u8; SIZE]; SIZE + 1] = {
    let mut masks = [[0; SIZE]; SIZE + 1];
    let mut length = 1;
    while length <= SIZE {
        masks[length] = (u128::MAX << (8 * (SIZE - length))).to_le_bytes();
        length += 1;
    }
    masks
};

const POWERS: [f64; SIZE] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

impl ShortNumber {
    /// The number from one place to another, which begins with a byte. None if it is not that short,
    /// has an exponent, is too near the beginning of the document, or followed by white space.
    #[inline(always)]
    pub fn read(document: &[u8], first: u8, start: usize, end: usize) -> Option<Self> {
        let (bytes, mask) = bytes(document, first, start, end)?;
        let (digits, after_point) = digits(bytes, mask)?;
        Some(ShortNumber { digits, is_negative: first == b'-', after_point })
    }

    /// Its value, if it is an integer.
    #[inline(always)]
    pub fn as_i64(&self) -> Option<i64> {
        let value = self.digits as i64; // below 10^16
        (self.after_point == NO_POINT).then_some(if self.is_negative { -value } else { value })
    }

    /// How many digits stand behind the point.
    #[inline(always)]
    pub fn decimals(&self) -> usize {
        self.after_point % NO_POINT
    }

    /// The nearest double; minus zero only if it is written as a fraction.
    #[inline(always)]
    pub fn as_f64(&self) -> f64 {
        if let Some(integer) = self.as_i64() {
            return integer as f64;
        }
        // At most 15 digits: both are doubles, and so the quotient is right.
        let value = self.digits as i64 as f64 / POWERS[self.decimals()];
        if self.is_negative { -value } else { value }
    }
}

/// The value of such a number, if it is an integer.
#[inline(always)]
pub fn short_integer(document: &[u8], first: u8, start: usize, end: usize) -> Option<i64> {
    let (bytes, mask) = bytes(document, first, start, end)?;
    let value = whole_digits(bytes, mask)? as i64; // below 10^16
    Some(if first == b'-' { -value } else { value })
}

/// The bytes before the end of a number, and a mask of those that are its own, the sign aside.
#[inline(always)]
fn bytes(
    document: &[u8],
    first: u8,
    start: usize,
    end: usize,
) -> Option<(&[u8; SIZE], &'static [u8; SIZE])> {
    let bytes = document.get(..end)?.last_chunk()?;
    let length = end.wrapping_sub(start + usize::from(first == b'-'));
    Some((bytes, LAST.get(length)?))
}

/// The digits of the last bytes, which the mask tells, and how many of them stand behind a point.
/// None if something else is among them.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn digits(bytes: &[u8; SIZE], mask: &[u8; SIZE]) -> Option<(u64, usize)> {
    use std::arch::x86_64::*;
    // SAFETY: all of this needs nothing but SSE2, which every x86-64 has.
    unsafe {
        let (bytes, others) = sse2::bytes(bytes, mask);
        let points = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(POINT as i8))) as u32;
        if others != points {
            return None;
        }
        let after_point = SIZE - (points << 1 | 1).ilog2() as usize;
        // What stands before the point moves one byte on, onto the point.
        let fraction = sse2::load(&LAST[after_point]);
        let whole = _mm_andnot_si128(fraction, _mm_slli_si128::<1>(bytes));
        let digits = _mm_or_si128(_mm_and_si128(fraction, bytes), whole);
        Some((sse2::value(digits), after_point))
    }
}

/// The same where there must not be a point.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn whole_digits(bytes: &[u8; SIZE], mask: &[u8; SIZE]) -> Option<u64> {
    // SAFETY: as above.
    unsafe {
        let (digits, others) = sse2::bytes(bytes, mask);
        (others == 0).then(|| sse2::value(digits))
    }
}

#[cfg(target_arch = "x86_64")]
mod sse2 {
    use super::SIZE;
    use std::arch::x86_64::*;

    #[target_feature(enable = "sse2")]
    #[inline]
    pub fn load(bytes: &[u8; SIZE]) -> __m128i {
        // SAFETY: the load is of the 16 bytes, and needs no alignment.
        unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
    }

    /// The bytes, digits as 0 to 9, and a bit for each that is none. What the mask has not is 0.
    #[target_feature(enable = "sse2")]
    #[inline]
    pub fn bytes(bytes: &[u8; SIZE], mask: &[u8; SIZE]) -> (__m128i, u32) {
        let zeros = _mm_set1_epi8(b'0' as i8);
        let bytes = _mm_and_si128(_mm_xor_si128(load(bytes), zeros), load(mask));
        (bytes, _mm_movemask_epi8(_mm_cmpgt_epi8(bytes, _mm_set1_epi8(9))) as u32)
    }

    /// The number that 16 bytes from 0 to 9 stand for, the first one in the lowest byte.
    #[target_feature(enable = "sse2")]
    #[inline]
    pub fn value(digits: __m128i) -> u64 {
        // Twos, then fours and eights: what is in the lower bytes counts more.
        let tens = _mm_mullo_epi16(digits, _mm_set1_epi16(10));
        let twos = _mm_add_epi16(tens, _mm_srli_epi16::<8>(digits));
        let twos = _mm_and_si128(twos, _mm_set1_epi16(0xff));
        let fours = _mm_madd_epi16(twos, _mm_set1_epi32(100 | 1 << 16));
        let fours = _mm_packs_epi32(fours, fours);
        let eights = _mm_madd_epi16(fours, _mm_set1_epi32(10_000 | 1 << 16));
        let eights = _mm_cvtsi128_si64(eights) as u64;
        (eights & 0xffff_ffff) * 100_000_000 + (eights >> 32)
    }
}

#[cfg(not(target_arch = "x86_64"))]
use digits_plainly as digits;

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn whole_digits(bytes: &[u8; SIZE], mask: &[u8; SIZE]) -> Option<u64> {
    digits(bytes, mask).filter(|(_, after_point)| *after_point == NO_POINT).map(|(value, _)| value)
}

/// The same without SSE2.
#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline(always)]
fn digits_plainly(bytes: &[u8; SIZE], mask: &[u8; SIZE]) -> Option<(u64, usize)> {
    let all = |byte: u8| u128::from_le_bytes([byte; SIZE]);
    let word = (u128::from_le_bytes(*bytes) ^ all(b'0')) & u128::from_le_bytes(*mask);
    // Bytes that are more than 9, all of which are ASCII, and those that are no point.
    let others = (word + all(0x80 - 10)) & all(0x80);
    let no_points = ((word ^ all(POINT)) + all(0x7f)) & all(0x80);
    if others & no_points != 0 {
        return None;
    }
    let after_point = others.leading_zeros() as usize / 8;
    let fraction = u128::from_le_bytes(LAST[after_point]);
    let word = (word & fraction) | (word << 8 & !fraction);
    let eights = (eight_digits(word as u64), eight_digits((word >> 64) as u64));
    Some((eights.0 * 100_000_000 + eights.1, after_point))
}

/// The number that eight bytes from 0 to 9 stand for, the first one in the lowest byte.
#[inline(always)]
pub fn eight_digits(word: u64) -> u64 {
    // Twos, then fours and eights: what is in the lower bytes counts more.
    let twos = word.wrapping_mul(10).wrapping_add(word >> 8);
    let first = (twos & 0x0000_00ff_0000_00ff).wrapping_mul(100 + (1_000_000 << 32));
    let second = (twos >> 16 & 0x0000_00ff_0000_00ff).wrapping_mul(1 + (10_000 << 32));
    first.wrapping_add(second) >> 32
}

#[cfg(test)]
mod tests {
    use super::super::number::Number;
    use super::*;

    fn read(before: &str, number: &str, after: &str) -> Option<ShortNumber> {
        let document = format!("{before}{number}{after}");
        let first = number.as_bytes()[0];
        ShortNumber::read(document.as_bytes(), first, before.len(), document.len())
    }

    /// What is read is what `Number` reads, wherever there is a point.
    #[test]
    fn all_lengths() {
        let before = "[0123456789.123456,";
        for length in 1..=18 {
            for point in 0..length {
                for (sign, of) in [("", "9876543210987654321"), ("-", "1000000000000000009")] {
                    let mut text = format!("{sign}{}", &of[..length]);
                    if point > 0 {
                        text.insert(sign.len() + point, '.');
                    }
                    let expected = Number::at(text.as_bytes(), 0).unwrap();
                    let found = read(before, &text, "");
                    let last = |text: &str| *text.as_bytes().last_chunk().unwrap();
                    let bytes = last(&format!("{before}{text}"));
                    let mask = &LAST[(text.len() - sign.len()).min(SIZE)];
                    assert_eq!(digits(&bytes, mask), digits_plainly(&bytes, mask), "{text}");
                    assert_eq!(found.is_some(), text.len() - sign.len() <= SIZE, "{text}");
                    let Some(found) = found else { continue };
                    assert_eq!(found.as_i64(), expected.as_i64(), "{text}");
                    let document = format!("{before}{text}");
                    let (first, place) = (text.as_bytes()[0], before.len());
                    let integer = short_integer(document.as_bytes(), first, place, document.len());
                    assert_eq!(integer, expected.as_i64(), "{text}");
                    assert_eq!(found.as_f64().to_bits(), expected.as_f64().to_bits(), "{text}");
                    let digits = (found.digits, found.decimals());
                    assert_eq!(Some(digits), expected.as_digits(), "{text}");
                    assert_eq!(found.is_negative, expected.is_negative());
                }
            }
        }
    }

    #[test]
    fn zeros() {
        let before = "[\"0123456789012\",";
        let double = |text| read(before, text, "").unwrap().as_f64().to_bits();
        assert_eq!(double("-0"), 0);
        assert_eq!(double("-0.0"), (-0.0f64).to_bits());
        assert_eq!(double("0.000"), 0);
        assert_eq!(read(before, "-0", "").unwrap().as_i64(), Some(0));
    }

    #[test]
    fn what_is_not_read() {
        let before = "[\"0123456789012\",";
        for space in [" ", "\t", "\n", "\r", "  \r\n"] {
            assert!(read(before, "12.5", space).is_none());
            assert!(read(before, "7", space).is_none());
        }
        assert!(read("[", "12", "").is_none()); // too near the beginning
        assert!(ShortNumber::read(b"[1234567890123456", b'3', 3, 2).is_none());
        assert!(ShortNumber::read(b"[1234567890123456", b'3', 3, 99).is_none());
        for exponent in ["1e5", "1.5e5", "1.5E5", "1e-5", "1E+5", "-12.25e+10"] {
            assert!(read(before, exponent, "").is_none());
            let bytes = *format!("{before}{exponent}").as_bytes().last_chunk().unwrap();
            assert_eq!(digits_plainly(&bytes, &LAST[exponent.len()]), None);
        }
    }
}
