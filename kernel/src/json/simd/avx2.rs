//! With AVX2.

use std::arch::x86_64::*;

use super::{BLOCK, Block, Kinds, Shape, Way, plain};
use crate::json::scan::{Refused, Scan, scan_with};

pub fn is_there() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("pclmulqdq")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("popcnt")
}

#[target_feature(enable = "avx2,pclmulqdq,bmi1,popcnt")]
pub fn scan(out: &mut Scan, document: &[u8]) -> Result<(), Refused> {
    let way = Way {
        classify: |bytes: &_| classify(bytes),
        beyond_ascii: |bytes: &_| beyond_ascii(bytes),
        kinds: |firsts: &_| kinds(firsts),
        shape: |firsts: &_| shape(firsts),
        prefix_xor: |bits| prefix_xor(bits),
        push: plain::push,
        tail: plain::tail,
    };
    scan_with(out, document, &way)
}

#[target_feature(enable = "pclmulqdq")]
pub fn prefix_xor(bits: u64) -> u64 {
    // A product without carries with all ones: each bit is added to all bits above it.
    let product = _mm_clmulepi64_si128::<0>(_mm_set_epi64x(0, bits as i64), _mm_set1_epi8(-1));
    _mm_cvtsi128_si64(product) as u64
}

type Two = (__m256i, __m256i);

#[target_feature(enable = "avx2")]
fn load(bytes: &[u8; BLOCK]) -> Two {
    // SAFETY: both loads lie within the 64 bytes, and need no alignment.
    unsafe {
        let start = bytes.as_ptr();
        (_mm256_loadu_si256(start.cast()), _mm256_loadu_si256(start.add(32).cast()))
    }
}

#[target_feature(enable = "avx2")]
fn classify(bytes: &[u8; BLOCK]) -> Block {
    let (low, high) = load(bytes);
    let (low_kinds, high_kinds) = (operators_and_spaces(low), operators_and_spaces(high));
    let equal = |byte| join(equal(low, byte), equal(high, byte));
    Block {
        quotes: equal(b'"'),
        backslashes: equal(b'\\'),
        operators: join(low_kinds.0, high_kinds.0),
        spaces: join(low_kinds.1, high_kinds.1),
        special: join(special(low), special(high)),
        digits: join(digits(low), digits(high)),
        zeros: equal(b'0'),
        points: equal(b'.'),
        minuses: equal(b'-'),
    }
}

#[target_feature(enable = "avx2")]
fn kinds(firsts: &[u8; BLOCK]) -> Kinds {
    let (low, high) = load(firsts);
    let equal = |byte| join(equal(low, byte), equal(high, byte));
    Kinds {
        open_objects: equal(b'{'),
        close_objects: equal(b'}'),
        open_arrays: equal(b'['),
        close_arrays: equal(b']'),
        colons: equal(b':'),
        commas: equal(b','),
        strings: equal(b'"'),
    }
}

#[target_feature(enable = "avx2")]
fn shape(firsts: &[u8; BLOCK]) -> Shape {
    let (low, high) = load(firsts);
    let told = |firsts| _mm256_or_si256(operators_and_spaces(firsts).0, equal(firsts, b'"'));
    let (low_told, high_told) =
        (_mm256_and_si256(told(low), low), _mm256_and_si256(told(high), high));
    let mut firsts = [0; BLOCK];
    // SAFETY: both stores lie within the 64 bytes, and need no alignment.
    unsafe {
        let start = firsts.as_mut_ptr();
        _mm256_storeu_si256(start.cast(), low_told);
        _mm256_storeu_si256(start.add(32).cast(), high_told);
    }
    Shape { firsts, literals: join(literals(low), literals(high)) }
}

/// Which tokens begin with neither an operator, nor a quote, a digit or a minus.
#[target_feature(enable = "avx2")]
fn literals(firsts: __m256i) -> __m256i {
    let (operators, _) = operators_and_spaces(firsts);
    let others = _mm256_or_si256(equal(firsts, b'"'), equal(firsts, b'-'));
    let known = _mm256_or_si256(_mm256_or_si256(operators, digits(firsts)), others);
    _mm256_xor_si256(known, _mm256_set1_epi8(-1))
}

/// As signed numbers, what is beyond ASCII is negative.
#[target_feature(enable = "avx2")]
fn special(bytes: __m256i) -> __m256i {
    _mm256_cmpgt_epi8(_mm256_set1_epi8(0x20), bytes)
}

#[target_feature(enable = "avx2")]
fn beyond_ascii(bytes: &[u8; BLOCK]) -> u64 {
    let (low, high) = load(bytes);
    join(low, high)
}

/// The highest bits of all bytes.
#[target_feature(enable = "avx2")]
fn join(low: __m256i, high: __m256i) -> u64 {
    let (low, high) = (_mm256_movemask_epi8(low), _mm256_movemask_epi8(high));
    u64::from(low as u32) | u64::from(high as u32) << 32
}

#[target_feature(enable = "avx2")]
fn equal(bytes: __m256i, byte: u8) -> __m256i {
    _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(byte as i8))
}

#[target_feature(enable = "avx2")]
fn up_to(bytes: __m256i, byte: u8) -> __m256i {
    _mm256_cmpeq_epi8(_mm256_min_epu8(bytes, _mm256_set1_epi8(byte as i8)), bytes)
}

#[target_feature(enable = "avx2")]
fn digits(bytes: __m256i) -> __m256i {
    up_to(_mm256_sub_epi8(bytes, _mm256_set1_epi8(b'0' as i8)), 9)
}

/// Each half of a byte selects a set of groups, and a byte is in the groups that both select:
/// 1 is `,`, 2 is `:`, 4 are the brackets, 8 are TAB, LF and CR, 16 is the space.
#[target_feature(enable = "avx2")]
fn operators_and_spaces(bytes: __m256i) -> Two {
    #[rustfmt::skip]
    let by_low = _mm256_setr_epi8(
        16, 0, 0, 0, 0, 0, 0, 0, 0, 8, 8 | 2, 4, 1, 8 | 4, 0, 0,
        16, 0, 0, 0, 0, 0, 0, 0, 0, 8, 8 | 2, 4, 1, 8 | 4, 0, 0,
    );
    #[rustfmt::skip]
    let by_high = _mm256_setr_epi8(
        8, 0, 16 | 1, 2, 0, 4, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0,
        8, 0, 16 | 1, 2, 0, 4, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0,
    );
    let nibble = _mm256_set1_epi8(0x0f);
    let groups = _mm256_and_si256(
        _mm256_shuffle_epi8(by_low, bytes),
        _mm256_shuffle_epi8(by_high, _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), nibble)),
    );
    let operators = _mm256_and_si256(groups, _mm256_set1_epi8(7));
    let spaces = _mm256_and_si256(groups, _mm256_set1_epi8(24));
    let zero = _mm256_setzero_si256();
    (_mm256_cmpgt_epi8(operators, zero), _mm256_cmpgt_epi8(spaces, zero))
}
