//! Payloads to the columns of a projection.
//!
//! Each payload is scanned and walked once. Whatever is undemanded is stepped over, but checked:
//! whether a payload is bad must not depend on the projection. A payload that is refused, because
//! it is no valid JSON or because it has a value in an uncommon form, leaves no trace in the
//! columns; it is *left*, and the portable kernel decodes it.

mod base64;
pub mod columns;
mod decimals;
pub mod members;
mod memory;
pub mod program;
pub(crate) mod row;
pub(crate) mod scalars;
mod texts;
mod times;

use arrow_array::StructArray;
use arrow_schema::ArrowError;

use crate::json::document::Document;
use crate::json::scan::Scan;
use columns::structs;
use program::{Program, Short};
use row::{Row, State};
use scalars::Stop;

/// What has been made of some payloads.
pub struct Decoded {
    pub columns: StructArray,
    pub rows: usize,
    pub payloads: usize,
    pub mistyped: usize,
    /// By position: the payloads that are left to the portable kernel.
    pub left: Vec<usize>,
    /// Position and number of rows of those that made another number of rows than one.
    pub unusual: Vec<(usize, usize)>,
}

/// Why there is no batch.
#[derive(Debug)]
pub enum Failure {
    /// More than a batch can hold.
    TooMuch,
    Arrow(ArrowError),
}

/// Decodes payloads under one program.
pub struct Decoder {
    program: Program,
    short_parts: Vec<Vec<Short>>,
    state: State,
    scan: Scan,
    rows: usize,
    payloads: usize,
    left: Vec<usize>,
    unusual: Vec<(usize, usize)>,
}

const BOM: &[u8] = b"\xef\xbb\xbf";

impl Decoder {
    pub fn new(program: Program) -> Result<Self, &'static str> {
        program.check()?;
        let state = State::new(&program);
        Ok(Decoder {
            short_parts: program.short_parts(),
            program,
            state,
            scan: Scan::default(),
            rows: 0,
            payloads: 0,
            left: Vec::new(),
            unusual: Vec::new(),
        })
    }

    pub fn decode<'a>(
        &mut self,
        payloads: impl Iterator<Item = &'a [u8]>,
    ) -> Result<Decoded, Failure> {
        self.begin();
        for payload in payloads {
            self.add(payload)?;
        }
        self.finish()
    }

    /// Forgets what there may be of a batch.
    pub fn begin(&mut self) {
        self.forget(0);
        self.state.mistyped = 0;
        self.payloads = 0;
        self.left.clear();
        self.unusual.clear();
    }

    /// Adds a payload to the batch; was it decoded, or is it left?
    #[inline]
    pub fn add(&mut self, payload: &[u8]) -> Result<bool, Failure> {
        let position = self.payloads;
        self.payloads += 1;
        let mistyped = self.state.mistyped;
        match self.payload(payload) {
            Ok(1) => self.rows += 1,
            Ok(rows) => {
                self.rows += rows;
                self.unusual.push((position, rows));
            }
            Err(Stop::Payload) => {
                self.forget(self.rows);
                self.state.mistyped = mistyped;
                self.left.push(position);
                return Ok(false);
            }
            Err(Stop::Batch) => return Err(Failure::TooMuch),
        }
        Ok(true)
    }

    /// What has been made of the payloads since `begin`.
    pub fn finish(&mut self) -> Result<Decoded, Failure> {
        let rows = std::mem::take(&mut self.rows);
        Ok(Decoded {
            columns: self.columns(rows).map_err(Failure::Arrow)?,
            rows,
            payloads: self.payloads,
            mistyped: self.state.mistyped,
            left: std::mem::take(&mut self.left),
            unusual: std::mem::take(&mut self.unusual),
        })
    }

    /// Forgets all rows after the first few, and what may be half made.
    fn forget(&mut self, rows: usize) {
        self.rows = rows;
        for column in &self.program.outputs {
            self.state.columns.truncate(*column, rows);
        }
    }

    /// The number of rows that a payload made.
    #[inline]
    fn payload(&mut self, payload: &[u8]) -> Result<usize, Stop> {
        let bytes = payload.strip_prefix(BOM).unwrap_or(payload);
        self.scan.run(bytes)?;
        let document = Document::new(bytes, &self.scan);
        let (program, short_parts) = (&self.program, &self.short_parts[..]);
        let mut row = Row { program, short_parts, document, state: &mut self.state };
        if document.byte(0) == b'{' {
            row.read(0)?;
            return Ok(1);
        }
        let mut rows = 0;
        let mut element = document.first(0);
        while let Some(at) = element {
            if document.byte(at) != b'{' {
                return Err(Stop::Payload);
            }
            row.read(at)?;
            rows += 1;
            element = document.next(at);
        }
        Ok(rows)
    }

    fn columns(&mut self, rows: usize) -> Result<StructArray, ArrowError> {
        let columns = &mut self.state.columns;
        let outputs = &self.program.outputs;
        let arrays = outputs.iter().map(|id| columns.finish(*id)).collect::<Result<Vec<_>, _>>()?;
        structs(vec![String::new(); outputs.len()], arrays, rows, None)
    }
}
