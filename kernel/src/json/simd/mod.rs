//! What 64 bytes are, as bits: the part of the scan that depends on the processor.
//!
//! Three ways do the same: with AVX-512, with AVX2, and in plain Rust. `way` hands the fastest one
//! that the processor has to whoever scans.

#[cfg(target_arch = "x86_64")]
pub(super) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(super) mod avx512;
pub(super) mod plain;

pub const BLOCK: usize = 64;

/// What the bytes of a piece of a document are: bit i is byte i. Outside of strings and among ASCII
/// all of this is right; what else is there, `special` tells.
#[derive(Default, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    pub quotes: u64,
    pub backslashes: u64,
    /// Controls, and what is beyond ASCII.
    pub special: u64,
    /// `{ } [ ] : ,`
    pub operators: u64,
    pub spaces: u64,
    pub digits: u64,
    pub zeros: u64,
    pub points: u64,
    pub minuses: u64,
}

/// What the first bytes of some tokens are: bit i is token i. What is none of these begins a
/// number or literal.
#[derive(Default, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kinds {
    pub open_objects: u64,
    pub close_objects: u64,
    pub open_arrays: u64,
    pub close_arrays: u64,
    pub colons: u64,
    pub commas: u64,
    pub strings: u64,
}

/// The first bytes of some tokens, as far as the grammar tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// 0 for every number and literal.
    pub firsts: [u8; BLOCK],
    /// Bit i: token i begins neither a number nor a string, and is no operator.
    pub literals: u64,
}

/// How to do on a processor what the scan needs. All of it is to be inlined into functions that
/// are compiled for that processor, so these are closures and not a trait's methods, which could
/// not be.
pub struct Way<C, B, K, S, X, P, T> {
    pub classify: C,
    /// Which bytes are beyond ASCII.
    pub beyond_ascii: B,
    pub kinds: K,
    /// The first bytes of tokens, 0 in place of those that begin a number or literal; and which
    /// begin no number.
    pub shape: S,
    /// Bit i of the result says whether the number of bits up to and with bit i is odd.
    pub prefix_xor: X,
    /// Writes the positions of the bits of a block that begins at a place, and the bytes there.
    /// What is written after them does not matter.
    pub push: P,
    /// The last bytes of a document, fewer than 64, and spaces after them.
    pub tail: T,
}

/// Where `Way::push` writes: the tokens' positions, and their first bytes.
pub struct Room<'a> {
    pub places: &'a mut [u32; BLOCK],
    pub firsts: &'a mut [u8; BLOCK],
}
