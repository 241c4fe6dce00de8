//! With AVX-512.

use std::arch::asm;
use std::arch::x86_64::*;

use super::avx2::{self, prefix_xor};
use super::{BLOCK, Block, Kinds, Room, Shape, Way};
use crate::json::scan::{Refused, Scan, scan_with};

pub fn is_there() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vbmi")
        && is_x86_feature_detected!("avx512vbmi2")
        && avx2::is_there()
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,pclmulqdq,bmi1,popcnt")]
pub fn scan(out: &mut Scan, document: &[u8]) -> Result<(), Refused> {
    let way = Way {
        classify: |bytes: &_| classify(bytes),
        beyond_ascii: |bytes: &_| beyond_ascii(bytes),
        kinds: |firsts: &_| kinds(firsts),
        shape: |firsts: &_| shape(firsts),
        prefix_xor: |bits| prefix_xor(bits),
        push: |room: Room<'_>, start, bytes: &_, bits| push(room, start, bytes, bits),
        tail: |rest: &[u8]| tail(rest),
    };
    scan_with(out, document, &way)
}

/// The groups of bytes that one permutation tells apart. It goes by the lower seven bits: what is
/// beyond ASCII gets the group of some other byte.
const OPERATOR: u8 = 1;
const SPACE: u8 = 2;
const DIGIT: u8 = 4;
const ZERO: u8 = 8;
const POINT: u8 = 16;
const MINUS: u8 = 32;
/// What begins a token that is neither an operator, nor a string or a number.
const OTHER: u8 = 64;

const GROUPS: [[u8; BLOCK]; 2] = {
    let mut groups = [[OTHER; BLOCK]; 2];
    let mut byte = 0;
    while byte < 128 {
        let group = match byte as u8 {
            b'{' | b'}' | b'[' | b']' | b':' | b',' => OPERATOR,
            b' ' | b'\t' | b'\n' | b'\r' => SPACE | OTHER,
            b'0' => DIGIT | ZERO,
            b'1'..=b'9' => DIGIT,
            b'.' => POINT | OTHER,
            b'-' => MINUS,
            b'"' => 0,
            _ => OTHER,
        };
        groups[byte / BLOCK][byte % BLOCK] = group;
        byte += 1;
    }
    groups
};

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn groups(bytes: __m512i) -> __m512i {
    _mm512_permutex2var_epi8(from_bytes(&GROUPS[0]), bytes, from_bytes(&GROUPS[1]))
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn classify(bytes: &[u8; BLOCK]) -> Block {
    let bytes = from_bytes(bytes);
    let groups = groups(bytes);
    let equal = |byte: u8| bits(_mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(byte as i8)));
    let of = |group: u8| bits(_mm512_test_epi8_mask(groups, _mm512_set1_epi8(group as i8)));
    Block {
        quotes: equal(b'"'),
        backslashes: equal(b'\\'),
        // As signed numbers, what is beyond ASCII is negative.
        special: bits(_mm512_cmplt_epi8_mask(bytes, _mm512_set1_epi8(0x20))),
        operators: of(OPERATOR),
        spaces: of(SPACE),
        digits: of(DIGIT),
        zeros: of(ZERO),
        points: of(POINT),
        minuses: of(MINUS),
    }
}

#[target_feature(enable = "avx512f,avx512bw")]
fn beyond_ascii(bytes: &[u8; BLOCK]) -> u64 {
    bits(_mm512_movepi8_mask(from_bytes(bytes)))
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn kinds(firsts: &[u8; BLOCK]) -> Kinds {
    let firsts = from_bytes(firsts);
    let equal = |byte: u8| bits(_mm512_cmpeq_epi8_mask(firsts, _mm512_set1_epi8(byte as i8)));
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

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn shape(firsts: &[u8; BLOCK]) -> Shape {
    let firsts = from_bytes(firsts);
    let groups = groups(firsts);
    // What is in neither of these groups is an operator or a quote.
    let scalars = _mm512_test_epi8_mask(groups, _mm512_set1_epi8((DIGIT | MINUS | OTHER) as i8));
    let others = _mm512_test_epi8_mask(groups, _mm512_set1_epi8(OTHER as i8));
    Shape { firsts: to_bytes(_mm512_maskz_mov_epi8(!scalars, firsts)), literals: bits(others) }
}

/// The bits themselves, in a general register. Left alone, the compiler computes with them in mask
/// registers, of which there are seven and which are slow.
#[inline(always)]
fn bits(mut mask: u64) -> u64 {
    // SAFETY: there is no instruction in this, so it does nothing that the options rule out.
    unsafe {
        asm!("/* {0} */", inlateout(reg) mask, options(pure, nomem, nostack, preserves_flags));
    }
    mask
}

/// The numbers 0 to 63, and the bytes, without those whose bit is not set.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt")]
fn push(room: Room<'_>, start: u32, bytes: &[u8; BLOCK], bits: u64) {
    *room.firsts = to_bytes(_mm512_maskz_compress_epi8(bits, from_bytes(bytes)));
    let numbers = _mm512_maskz_compress_epi8(bits, from_bytes(&NUMBERS));
    let start = _mm512_set1_epi32(start as i32);
    let count = bits.count_ones();
    let places = room.places.as_chunks_mut::<16>().0;
    let quarter = |numbers: __m128i| _mm512_add_epi32(_mm512_cvtepu8_epi32(numbers), start);
    store(&mut places[0], quarter(_mm512_castsi512_si128(numbers)));
    if count > 16 {
        store(&mut places[1], quarter(_mm512_extracti32x4_epi32::<1>(numbers)));
    }
    if count > 32 {
        store(&mut places[2], quarter(_mm512_extracti32x4_epi32::<2>(numbers)));
        store(&mut places[3], quarter(_mm512_extracti32x4_epi32::<3>(numbers)));
    }
}

const NUMBERS: [u8; BLOCK] = {
    let mut numbers = [0; BLOCK];
    let mut number = 0;
    while number < BLOCK {
        numbers[number] = number as u8;
        number += 1;
    }
    numbers
};

#[target_feature(enable = "avx512f,avx512bw")]
fn tail(rest: &[u8]) -> [u8; BLOCK] {
    let there = (1u64 << (rest.len() % BLOCK)) - 1;
    // SAFETY: only the bytes whose bit is set are read, and these are at most those of `rest`: as
    // many as its length modulo 64 says. No alignment is needed.
    to_bytes(unsafe {
        _mm512_mask_loadu_epi8(_mm512_set1_epi8(b' ' as i8), there, rest.as_ptr().cast())
    })
}

#[target_feature(enable = "avx512f")]
fn from_bytes(bytes: &[u8; BLOCK]) -> __m512i {
    // SAFETY: the load is of the 64 bytes, and needs no alignment.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f")]
fn to_bytes(values: __m512i) -> [u8; BLOCK] {
    let mut bytes = [0; BLOCK];
    // SAFETY: the store is of the 64 bytes, and needs no alignment.
    unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), values) }
    bytes
}

#[target_feature(enable = "avx512f")]
fn store(out: &mut [u32; 16], values: __m512i) {
    // SAFETY: 16 values of 32 bits are the 64 bytes that are written; no alignment is needed.
    unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), values) }
}
