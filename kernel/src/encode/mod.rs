//! Values as JSON text, byte for byte as the portable encoder (`narrows/formats/json/encoder.py`)
//! writes them. What it writes in ways that are not worth a second implementation - times in a
//! region's zone, years before 0 - is *left* to it.

pub mod arrays;
pub mod numbers;
pub mod rows;
pub mod strings;
pub mod times;

/// The value, or a column, is left to the portable encoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Left;
