//! Without SIMD.

use super::{BLOCK, Block, Kinds, Room, Shape};

const QUOTE: u8 = 1;
const BACKSLASH: u8 = 2;
const OPERATOR: u8 = 4;
const SPACE: u8 = 8;
const CONTROL: u8 = 16;
const BEYOND_ASCII: u8 = 32;

static KINDS: [u8; 256] = kinds_of_bytes();

const fn kinds_of_bytes() -> [u8; 256] {
    let mut kinds = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        kinds[byte] = match byte as u8 {
            b'"' => QUOTE,
            b'\\' => BACKSLASH,
            b'{' | b'}' | b'[' | b']' | b':' | b',' => OPERATOR,
            b' ' => SPACE,
            b'\t' | b'\n' | b'\r' => SPACE | CONTROL,
            0..0x20 => CONTROL,
            0x80.. => BEYOND_ASCII,
            _ => 0,
        };
        byte += 1;
    }
    kinds
}

/// May a number or literal end before this byte?
#[inline(always)]
pub fn ends_scalar(byte: u8) -> bool {
    KINDS[byte as usize] & (OPERATOR | SPACE) != 0
}

pub fn classify(bytes: &[u8; BLOCK]) -> Block {
    let mut block = Block::default();
    for (place, byte) in bytes.iter().enumerate() {
        let kind = KINDS[*byte as usize];
        let bit = |of: u8| u64::from(kind & of != 0) << place;
        block.quotes |= bit(QUOTE);
        block.backslashes |= bit(BACKSLASH);
        block.operators |= bit(OPERATOR);
        block.spaces |= bit(SPACE);
        block.special |= bit(CONTROL | BEYOND_ASCII);
        block.digits |= u64::from(byte.is_ascii_digit()) << place;
        block.zeros |= u64::from(*byte == b'0') << place;
        block.points |= u64::from(*byte == b'.') << place;
        block.minuses |= u64::from(*byte == b'-') << place;
    }
    block
}

pub fn beyond_ascii(bytes: &[u8; BLOCK]) -> u64 {
    let places = bytes.iter().enumerate();
    places.fold(0, |bits, (place, byte)| bits | u64::from(byte >> 7) << place)
}

pub fn kinds(firsts: &[u8; BLOCK]) -> Kinds {
    let mut kinds = Kinds::default();
    for (place, byte) in firsts.iter().enumerate() {
        let of = match byte {
            b'{' => &mut kinds.open_objects,
            b'}' => &mut kinds.close_objects,
            b'[' => &mut kinds.open_arrays,
            b']' => &mut kinds.close_arrays,
            b':' => &mut kinds.colons,
            b',' => &mut kinds.commas,
            b'"' => &mut kinds.strings,
            _ => continue,
        };
        *of |= 1 << place;
    }
    kinds
}

pub fn shape(firsts: &[u8; BLOCK]) -> Shape {
    let mut shape = Shape { firsts: [0; BLOCK], literals: 0 };
    for (place, byte) in firsts.iter().enumerate() {
        match byte {
            b'{' | b'}' | b'[' | b']' | b':' | b',' | b'"' => shape.firsts[place] = *byte,
            b'-' | b'0'..=b'9' => {}
            _ => shape.literals |= 1 << place,
        }
    }
    shape
}

pub fn prefix_xor(mut bits: u64) -> u64 {
    for distance in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << distance;
    }
    bits
}

#[inline(always)]
pub fn push(room: Room<'_>, start: u32, bytes: &[u8; BLOCK], mut bits: u64) {
    // Eight at a time whether or not there are so many: that saves a branch for each.
    let places = room.places.as_chunks_mut::<8>().0.iter_mut();
    for (places, firsts) in places.zip(room.firsts.as_chunks_mut::<8>().0) {
        if bits == 0 {
            return;
        }
        for (place, first) in places.iter_mut().zip(firsts) {
            let bit = bits.trailing_zeros();
            *place = start.wrapping_add(bit);
            *first = bytes[bit as usize % BLOCK];
            bits &= bits.wrapping_sub(1);
        }
    }
}

#[inline(always)]
pub fn tail(rest: &[u8]) -> [u8; BLOCK] {
    let mut padded = [b' '; BLOCK];
    padded[..rest.len()].copy_from_slice(rest);
    padded
}
