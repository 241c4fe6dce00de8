//! Payloads to the columns of a projection.
//!
//! Each payload is scanned and walked once. Whatever is undemanded is stepped over, but checked:
//! whether a payload is bad must not depend on the projection. A payload that is refused, because
//! it is no valid JSON or because it has a value in an uncommon form, leaves no trace in the
//! columns; it is *left*, and the portable kernel decodes it.

mod append;
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
mod walk;

use arrow_array::StructArray;
use arrow_schema::ArrowError;

use crate::json::document::Document;
use crate::json::scan::Scan;
use crate::transcode::own_text::OwnText;
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
    own_text: Option<OwnText>,
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
            own_text: OwnText::new(&program),
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

    /// Counts a payload that makes no row, because there is nothing in it to be decoded.
    pub fn pass(&mut self) {
        self.unusual.push((self.payloads, 0));
        self.payloads += 1;
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
        let own_text = self.own_text.as_ref();
        let mut row = Row { program, short_parts, own_text, document, state: &mut self.state };
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

#[cfg(test)]
mod tests {
    use super::columns::Kind;
    use super::members::Members;
    use super::program::{Place, Read, Shape};
    use super::*;
    use crate::transcode::program::Transcoding;
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;

    /// Of each row the number `a` and the text `b`.
    fn program() -> Program {
        let leaf = |reads| Place {
            shape: Shape::Scalar,
            reads,
            texts: vec![],
            presence: None,
            length: None,
            parts: vec![],
        };
        let members = Members::new(vec![b"a"[..].into(), b"b"[..].into()]);
        let row = Place { shape: Shape::Object(members), parts: vec![1, 2], ..leaf(vec![]) };
        Program {
            kinds: vec![Kind::Int64, Kind::Text],
            reads: vec![Read::Scalar { column: 0 }, Read::Scalar { column: 1 }],
            places: vec![row, leaf(vec![0]), leaf(vec![1])],
            row: 0,
            outputs: vec![0, 1],
            zone: None,
            transcoding: Transcoding::default(),
        }
    }

    fn decode(payloads: &[&str]) -> Decoded {
        let mut decoder = Decoder::new(program()).expect("the program is right");
        decoder.decode(payloads.iter().map(|payload| payload.as_bytes())).expect("a small batch")
    }

    fn rows(decoded: &Decoded) -> Vec<(Option<i64>, Option<&str>)> {
        let numbers = decoded.columns.column(0).as_primitive::<Int64Type>();
        let texts = decoded.columns.column(1).as_string::<i32>();
        numbers.iter().zip(texts.iter()).collect()
    }

    #[test]
    fn what_is_missing_null_or_of_another_type_is_null() {
        let decoded = decode(&[
            r#"{"b": "x", "other": [{"a": 9}], "a": 1}"#,
            r#"{"a": null}"#,
            r#"{"a": "1", "b": 2.0}"#, // as a text, a number is how it is written
        ]);
        assert_eq!(rows(&decoded), vec![(Some(1), Some("x")), (None, None), (None, Some("2.0"))]);
        assert_eq!(decoded.mistyped, 1);
        assert!(decoded.left.is_empty());
    }

    #[test]
    fn the_first_of_repeated_keys_counts() {
        assert_eq!(rows(&decode(&[r#"{"a": 1, "a": 2}"#])), vec![(Some(1), None)]);
    }

    #[test]
    fn a_list_makes_as_many_rows_as_it_has_elements() {
        let decoded = decode(&[r#"[{"a": 1}, {"a": 2}]"#, "[]", r#"{"a": 3}"#]);
        assert_eq!(rows(&decoded), vec![(Some(1), None), (Some(2), None), (Some(3), None)]);
        assert_eq!(decoded.unusual, vec![(0, 2), (1, 0)]);
    }

    /// Also where it is bad only in what nobody asked for, or after rows have been made of it.
    #[test]
    fn a_payload_that_is_left_leaves_no_trace() {
        let bad = [
            r#"{"a": 1, "b": "x", "other": tru}"#,
            r#"{"a": 1, "b": "x"} x"#,
            r#"[{"a": "mistyped", "b": "x"}, 5]"#,
            "",
            "7",
        ];
        for payload in bad {
            let decoded = decode(&[r#"{"a": 1}"#, payload, r#"{"a": 2}"#]);
            assert_eq!(rows(&decoded), vec![(Some(1), None), (Some(2), None)], "{payload}");
            assert_eq!(decoded.left, vec![1], "{payload}");
            assert_eq!((decoded.payloads, decoded.mistyped), (3, 0), "{payload}");
        }
    }

    /// What is remembered of other documents changes nothing: keys that repeat, come in another
    /// order, are missing, too long to be remembered, or written with escapes.
    #[test]
    fn a_row_does_not_depend_on_those_before_it() {
        let documents: Vec<String> = [
            r#""a":1,"b":"x""#,
            r#""a":1,"a":2,"b":"y""#,
            r#""a":1,"x":0,"a":3,"b":"z""#,
            r#""x":0,"y":0,"a":4,"b":"v""#,
            r#""x":0,"a":5"#,
            r#""x":[0],"y":{},"a":6"#,
            r#""b":"u","a":7"#,
            r#""b":"t","b":"s""#,
            r#""a":null,"b":"r""#,
            r#""a_key_of_many_bytes":0,"a":8,"b":"q""#,
            r#""a":9,"a_key_of_many_bytes":0,"a":10,"b":"p""#,
            r#""\u0061":11,"b":"o""#,
            r#""x":0"#,
        ]
        .map(|members| format!(r#"{{{members},"and":"so it is far from the end"}}"#))
        .into();
        let decoded: Vec<_> = documents.iter().map(|document| decode(&[document])).collect();
        let alone: Vec<_> = decoded.iter().map(rows).collect();
        for first in 0..documents.len() {
            for second in 0..documents.len() {
                for third in 0..documents.len() {
                    let numbers = [first, second, third, first, third];
                    let found = decode(&numbers.map(|number| documents[number].as_str()));
                    let expected = numbers.map(|number| alone[number].clone()).concat();
                    assert_eq!(rows(&found), expected, "{numbers:?}");
                }
            }
        }
    }

    #[test]
    fn a_program_that_refers_to_nothing_is_refused() {
        let wrong: [fn(&mut Program); 5] = [
            |program| program.outputs.push(2),
            |program| program.places[0].parts[1] = 3,
            |program| program.places[1].reads.push(2),
            |program| program.places[1].parts.push(1), // round in circles
            |program| program.row = 1,
        ];
        for break_it in wrong {
            let mut program = program();
            break_it(&mut program);
            assert!(Decoder::new(program).is_err());
        }
    }
}
