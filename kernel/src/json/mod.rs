//! JSON as bytes: where its tokens are, whether it is valid, and what its scalars mean.
//!
//! `scan` finds the tokens of a document with SIMD and accepts it only if it is valid JSON; what it
//! refuses is judged by the portable kernel, which also says why. `document` walks the tokens.

pub mod document;
mod grammar;
pub mod number;
mod numerals;
pub mod scan;
pub mod short_number;
mod simd;
pub mod text;

use scan::Refused;
pub use simd::plain::ends_scalar;

/// Checks that a word stands at a place, and ends there.
#[inline(always)]
fn literal(document: &[u8], place: usize, word: &[u8]) -> Result<(), Refused> {
    let rest = document[place..].strip_prefix(word).ok_or(Refused)?;
    match rest.first() {
        Some(byte) if !ends_scalar(*byte) => Err(Refused),
        _ => Ok(()),
    }
}
