//! Rows: objects, and fields that are to become part of one.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray};
use arrow_buffer::{Buffer, OffsetBuffer};
use arrow_schema::DataType;

use super::Left;
use super::arrays::Column;

/// A part of a row.
pub enum Part {
    /// A column, and what stands before its values: `,"a":`.
    Values { start: Vec<u8>, array: ArrayRef },
    /// Fields that are encoded already, and what stands for them where they are NULL.
    Encoded { null: Vec<u8>, array: ArrayRef },
}

/// Why there is no text.
#[derive(Debug)]
pub enum Failure {
    /// The portable encoder can.
    Left,
    /// More than Arrow's offsets can count.
    TooMuch,
    /// The parts are not what they should be.
    Wrong(&'static str),
}

impl From<Left> for Failure {
    fn from(_: Left) -> Self {
        Failure::Left
    }
}

/// How rows are written.
pub struct Manner<'a> {
    pub omits_nulls: bool,
    /// Of moments: seconds east of UTC; None when it is a region.
    pub zone: Option<i32>,
    /// What follows an object, its brace included; None for fields, which get no braces.
    pub object_end: Option<&'a [u8]>,
}

/// The text of each row.
pub fn encode(parts: &[Part], manner: &Manner<'_>) -> Result<BinaryArray, Failure> {
    let rows = match parts.first() {
        Some(Part::Values { array, .. } | Part::Encoded { array, .. }) => array.len(),
        None => return Err(Failure::Wrong("a row has no parts")),
    };
    let sources = parts.iter().map(|part| Source::new(part, rows, manner.zone));
    let sources = sources.collect::<Result<Vec<_>, _>>()?;
    let mut out = Vec::with_capacity(sources.iter().map(|source| source.size(rows)).sum());
    let mut ends = Vec::with_capacity(rows + 1);
    ends.push(0);
    for row in 0..rows {
        let start = out.len();
        for source in &sources {
            source.write(row, manner.omits_nulls, &mut out)?;
        }
        if let Some(end) = manner.object_end {
            // The comma before the first field becomes the brace.
            match out.get_mut(start) {
                Some(comma) => *comma = b'{',
                None => out.push(b'{'),
            }
            out.extend_from_slice(end);
        }
        ends.push(i32::try_from(out.len()).map_err(|_| Failure::TooMuch)?);
    }
    let offsets = OffsetBuffer::new(ends.into()); // they never decrease
    BinaryArray::try_new(offsets, Buffer::from_vec(out), None)
        .map_err(|_| Failure::Wrong("offsets and bytes differ"))
}

enum Source<'a> {
    Values { start: &'a [u8], column: Column<'a> },
    Encoded { null: &'a [u8], array: &'a ArrayRef, texts: Texts<'a> },
}

enum Texts<'a> {
    Small(&'a BinaryArray),
    Large(&'a arrow_array::LargeBinaryArray),
}

impl<'a> Source<'a> {
    fn new(part: &'a Part, rows: usize, zone: Option<i32>) -> Result<Self, Failure> {
        let source = match part {
            Part::Values { start, array } => {
                Source::Values { start, column: Column::new(array, zone)? }
            }
            Part::Encoded { null, array } => {
                let texts = match array.data_type() {
                    DataType::Binary => Texts::Small(array.as_binary()),
                    DataType::LargeBinary => Texts::Large(array.as_binary()),
                    _ => return Err(Failure::Left),
                };
                Source::Encoded { null, array, texts }
            }
        };
        match part {
            Part::Values { array, .. } | Part::Encoded { array, .. } if array.len() != rows => {
                Err(Failure::Wrong("columns have different lengths"))
            }
            _ => Ok(source),
        }
    }

    /// About how many bytes all rows need.
    fn size(&self, rows: usize) -> usize {
        match self {
            Source::Values { start, .. } => rows * (start.len() + 8),
            Source::Encoded { texts, .. } => match texts {
                Texts::Small(texts) => {
                    (texts.value_offsets()[rows] - texts.value_offsets()[0]) as usize + rows * 4
                }
                Texts::Large(texts) => {
                    (texts.value_offsets()[rows] - texts.value_offsets()[0]) as usize + rows * 4
                }
            },
        }
    }

    #[inline]
    fn write(&self, row: usize, omits_nulls: bool, out: &mut Vec<u8>) -> Result<(), Left> {
        match self {
            Source::Values { column, .. } if omits_nulls && column.is_null(row) => {}
            Source::Values { start, column } => {
                out.extend_from_slice(start);
                column.write(row, out)?;
            }
            Source::Encoded { null, array, .. } if array.is_null(row) => {
                out.extend_from_slice(null);
            }
            Source::Encoded { texts: Texts::Small(texts), .. } => {
                out.extend_from_slice(texts.value(row));
            }
            Source::Encoded { texts: Texts::Large(texts), .. } => {
                out.extend_from_slice(texts.value(row));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Int64Array, StringArray};

    use super::*;

    #[test]
    fn objects_of_columns_and_fragments() {
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["x", "y\n"]));
        let encoded: ArrayRef = Arc::new(BinaryArray::from_opt_vec(vec![Some(b",\"c\":3"), None]));
        let parts = [
            Part::Values { start: b",\"a\":".to_vec(), array: numbers },
            Part::Encoded { null: b",\"c\":null".to_vec(), array: encoded },
            Part::Values { start: b",\"b\":".to_vec(), array: texts },
        ];
        let mut manner = Manner { omits_nulls: true, zone: None, object_end: Some(b"}\n") };
        let found = encode(&parts, &manner).unwrap();
        assert_eq!(found.value(0), b"{\"a\":1,\"c\":3,\"b\":\"x\"}\n");
        assert_eq!(found.value(1), b"{\"c\":null,\"b\":\"y\\n\"}\n");
        manner.object_end = None;
        manner.omits_nulls = false;
        let found = encode(&parts[..1], &manner).unwrap();
        assert_eq!(found.value(1), b",\"a\":null");
    }
}
