//! JSON to JSON: fields of a row that nobody computes with, from the document to the sink's text.
//!
//! The text is that of encoding what was decoded. No column is built for it: while a document is
//! walked, each wanted value becomes a *piece*, which mostly is a range of the document itself. At
//! the end of the row the pieces are strung together in the order of the select list; where the
//! document has the same names in the same order, long stretches are copied at once.

pub mod own_text;
pub mod program;
mod row;
mod scalars;

/// The text of a value that has been found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    Null,
    /// It stands in the document as we would write it.
    Document {
        start: usize,
        end: usize,
    },
    /// It had to be written.
    Written {
        start: usize,
        end: usize,
    },
}

/// The pieces of a row.
#[derive(Default)]
pub struct Pieces {
    /// By the number of the text; all are set anew in every row, as columns get a value in each.
    pub of_texts: Vec<Piece>,
    /// What had to be written.
    pub written: Vec<u8>,
    /// A text before it is quoted.
    plain: Vec<u8>,
}

impl Pieces {
    pub fn new(texts: usize) -> Self {
        Pieces { of_texts: vec![Piece::Null; texts], ..Pieces::default() }
    }
}
