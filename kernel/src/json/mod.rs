//! JSON as bytes: where its tokens are, whether it is valid, and what its scalars mean.
//!
//! `scan` finds the tokens of a document with SIMD, `document` walks them. Together they accept a
//! document only if it is valid JSON; what they refuse is judged by the portable kernel, which also
//! says why.

pub mod document;
pub mod number;
pub mod scan;
pub mod text;
