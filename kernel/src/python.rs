//! The module `narrows_kernel`, as Python sees it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use arrow_array::{Array, BinaryArray, StructArray};
use pyo3::exceptions::{PyEOFError, PyOverflowError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyTuple};

use crate::decode::columns::Kind;
use crate::decode::members::Members;
use crate::decode::program::{Place, Program, Read, Shape};
use crate::decode::{Decoded, Failure};
use crate::files::Unreadable;
use crate::lines::Lines;
use crate::python_arrays::{Capsules, Column, capsules, import};
use crate::python_messages::Messages;
use crate::transcode::program::{Form, Fragment, Text, Transcoding};

/// Changes when what Python hands over, or gets back, changes.
const PROTOCOL: u32 = 5;

#[pymodule]
fn narrows_kernel(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("PROTOCOL", PROTOCOL)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<Decoder>()?;
    module.add_class::<Batch>()?;
    module.add_class::<LineReader>()?;
    module.add_class::<Column>()?;
    module.add_class::<Messages>()?;
    module.add_function(wrap_pyfunction!(crate::python_encode::encode, module)?)
}

/// Decodes payloads under one projection. Not for two threads at a time.
#[pyclass]
struct Decoder {
    inner: crate::decode::Decoder,
}

/// What stands between the ends of a payload that is left, in the order of position.
type LeftLine = (usize, usize, usize, usize);

#[pymethods]
impl Decoder {
    /// See `narrows/formats/json/native_program.py` for what is in these lists.
    #[new]
    fn new(
        columns: Vec<Bound<'_, PyTuple>>,
        reads: Vec<Bound<'_, PyTuple>>,
        places: Vec<Bound<'_, PyTuple>>,
        outputs: Vec<usize>,
        transcoding: TranscodingParts<'_>,
        zone: Option<i32>,
    ) -> PyResult<Self> {
        let program = Program {
            kinds: columns.iter().map(kind).collect::<PyResult<_>>()?,
            reads: reads.iter().map(read).collect::<PyResult<_>>()?,
            places: places.iter().map(place).collect::<PyResult<_>>()?,
            row: 0,
            outputs,
            zone,
            transcoding: self::transcoding(transcoding)?,
        };
        let inner = crate::decode::Decoder::new(program).map_err(PyValueError::new_err)?;
        Ok(Decoder { inner })
    }

    /// Decodes payloads, each of them bytes.
    fn decode(&mut self, py: Python<'_>, payloads: Vec<PyBackedBytes>) -> PyResult<Batch> {
        let inner = &mut self.inner;
        let payloads = payloads.iter().map(|payload| &**payload);
        let decoded = py.detach(|| guarded(|| Ok(inner.decode(payloads)?)))?;
        Ok(Batch::new(decoded))
    }

    /// Decodes the payloads of an Arrow array of BINARY, none of which is NULL.
    fn decode_array(&mut self, py: Python<'_>, payloads: &Bound<'_, PyAny>) -> PyResult<Batch> {
        let array = import(payloads)?;
        let array = array.as_ref().and_then(|array| array.as_any().downcast_ref::<BinaryArray>());
        let payloads = array.filter(|array| array.null_count() == 0).and_then(values);
        let payloads = payloads.ok_or_else(|| PyValueError::new_err("no array of payloads"))?;
        let inner = &mut self.inner;
        let decoded = py.detach(|| guarded(|| Ok(inner.decode(payloads.into_iter())?)))?;
        Ok(Batch::new(decoded))
    }

    /// Decodes the payloads of messages; those that are null make no row, and are no fault.
    fn decode_messages(&mut self, py: Python<'_>, messages: &Messages) -> PyResult<Batch> {
        let (inner, messages) = (&mut self.inner, &messages.inner);
        let decode = || {
            inner.begin();
            for payload in messages.payloads() {
                match payload {
                    Some(payload) => drop(inner.add(payload)?),
                    None => inner.pass(),
                }
            }
            Ok(inner.finish()?)
        };
        Ok(Batch::new(py.detach(|| guarded(decode))?))
    }

    /// Decodes the next lines of a reader: about so many bytes, at most so many payloads. No
    /// payloads mean that there are no more lines.
    fn decode_file(
        &mut self,
        py: Python<'_>,
        reader: &mut LineReader,
        bytes: u64,
        payloads: usize,
    ) -> PyResult<Batch> {
        let (decoder, reader) = (&mut self.inner, &mut reader.inner);
        let (decoded, left) =
            py.detach(|| guarded(|| decode_file(decoder, reader, bytes, payloads)))?;
        Ok(Batch { left_payloads: left, ..Batch::new(decoded) })
    }

    /// Decodes the lines in pieces of files: bytes, and from where to where the piece goes.
    fn decode_lines(
        &mut self,
        py: Python<'_>,
        pieces: Vec<(PyBackedBytes, usize, usize)>,
    ) -> PyResult<Batch> {
        let parts = pieces
            .iter()
            .map(|(bytes, start, end)| bytes.get(*start..*end))
            .collect::<Option<Vec<&[u8]>>>()
            .ok_or_else(|| PyValueError::new_err("a piece goes beyond its bytes"))?;
        let inner = &mut self.inner;
        py.detach(|| {
            let lines = || parts.iter().flat_map(|part| Lines::new(part).map(|(_, line)| line));
            let decoded = guarded(|| Ok(inner.decode(lines())?))?;
            let left_lines = left_lines(&parts, &decoded.left);
            Ok(Batch { left_lines, ..Batch::new(decoded) })
        })
    }
}

/// Reads lines of a range of a file: the path, and from where to where the range goes.
#[pyclass]
struct LineReader {
    inner: crate::files::LineReader,
}

#[pymethods]
impl LineReader {
    #[new]
    fn new(path: PathBuf, start: u64, end: u64) -> PyResult<Self> {
        let inner = crate::files::LineReader::open(&path, start, end)?;
        Ok(LineReader { inner })
    }

    /// Where in the file the next line begins.
    #[getter]
    fn offset(&self) -> u64 {
        self.inner.offset()
    }
}

impl From<Unreadable> for PyErr {
    fn from(unreadable: Unreadable) -> Self {
        match unreadable {
            Unreadable::Io(error) => error.into(),
            Unreadable::Shrunk => PyEOFError::new_err("the file is shorter than the range"),
        }
    }
}

/// A payload that is left: position, where in the file it begins, and itself.
type LeftPayload = (usize, u64, Vec<u8>);

/// Decodes lines until there are enough bytes or payloads, or no more lines. (Blank ones are no
/// payloads, and a batch without payloads means the end.)
fn decode_file(
    decoder: &mut crate::decode::Decoder,
    reader: &mut crate::files::LineReader,
    bytes: u64,
    payloads: usize,
) -> PyResult<(Decoded, Vec<LeftPayload>)> {
    let start = reader.offset();
    let mut left = Vec::new();
    let mut count = 0;
    decoder.begin();
    while count < payloads && (count == 0 || reader.offset() - start < bytes) {
        let (offset, lines) = reader.lines()?;
        let mut lines = Lines::new(lines);
        if lines.bytes.is_empty() {
            break;
        }
        while count < payloads
            && let Some((place, line)) = lines.next()
        {
            if !decoder.add(line)? {
                left.push((count, offset + place as u64, line.to_vec()));
            }
            count += 1;
        }
        let gone = lines.gone();
        reader.consume(gone);
    }
    Ok((decoder.finish()?, left))
}

/// The values of an array; none if its offsets, which came from elsewhere, go back and forth. That
/// the last one is right cannot be seen here: pyarrow has checked it.
fn values(array: &BinaryArray) -> Option<Vec<&[u8]>> {
    let bytes = array.value_data();
    let ends = array.value_offsets().windows(2);
    ends.map(|ends| bytes.get(ends[0].try_into().ok()?..ends[1].try_into().ok()?)).collect()
}

/// Where the lines at some positions are: position, piece, start and end in it.
fn left_lines(parts: &[&[u8]], positions: &[usize]) -> Vec<LeftLine> {
    let mut found = Vec::with_capacity(positions.len());
    let mut wanted = positions.iter().copied().peekable();
    if wanted.peek().is_none() {
        return found;
    }
    let lines = parts.iter().enumerate().flat_map(|(piece, part)| {
        Lines::new(part).map(move |(start, line)| (piece, start, start + line.len()))
    });
    for (position, (piece, start, end)) in lines.enumerate() {
        if wanted.next_if_eq(&position).is_some() {
            found.push((position, piece, start, end));
        }
    }
    found
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::TooMuch => PyOverflowError::new_err("more than a batch can hold"),
            Failure::Arrow(error) => PyRuntimeError::new_err(error.to_string()),
        }
    }
}

/// No input should make the kernel panic; if one does, Python gets an exception and goes on.
pub fn guarded<T>(decode: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    let panicked = || PyRuntimeError::new_err("the kernel panicked");
    catch_unwind(AssertUnwindSafe(decode)).unwrap_or_else(|_| Err(panicked()))
}

/// What was made of some payloads; an Arrow array of structs, too, one for each row.
#[pyclass(frozen)]
struct Batch {
    columns: StructArray,
    #[pyo3(get)]
    rows: usize,
    #[pyo3(get)]
    payloads: usize,
    #[pyo3(get)]
    mistyped: usize,
    #[pyo3(get)]
    left: Vec<usize>,
    #[pyo3(get)]
    left_lines: Vec<LeftLine>,
    left_payloads: Vec<LeftPayload>,
    #[pyo3(get)]
    unusual: Vec<(usize, usize)>,
}

impl Batch {
    fn new(decoded: Decoded) -> Self {
        Batch {
            columns: decoded.columns,
            rows: decoded.rows,
            payloads: decoded.payloads,
            mistyped: decoded.mistyped,
            left: decoded.left,
            left_lines: Vec::new(),
            left_payloads: Vec::new(),
            unusual: decoded.unusual,
        }
    }
}

#[pymethods]
impl Batch {
    /// Payloads of a file that are left: position, where in the file each begins, and itself.
    #[getter]
    fn left_payloads<'py>(&self, py: Python<'py>) -> Vec<(usize, u64, Bound<'py, PyBytes>)> {
        let left = self.left_payloads.iter();
        left.map(|(position, offset, line)| (*position, *offset, PyBytes::new(py, line))).collect()
    }

    /// The Arrow PyCapsule interface.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Capsules<'py>> {
        let _ = requested_schema; // it may be ignored
        capsules(py, &self.columns)
    }
}

// --- from Python's tuples -------------------------------------------------------------------------

fn item<'py, T>(tuple: &Bound<'py, PyTuple>, place: usize) -> PyResult<T>
where
    T: for<'a> FromPyObject<'a, 'py>,
    for<'a> <T as FromPyObject<'a, 'py>>::Error: Into<PyErr>,
{
    tuple.get_item(place)?.extract::<T>().map_err(Into::into)
}

fn unknown(what: &str) -> PyErr {
    PyValueError::new_err(format!("unknown: {what}"))
}

fn kind(tuple: &Bound<'_, PyTuple>) -> PyResult<Kind> {
    let name: String = item(tuple, 0)?;
    Ok(match name.as_str() {
        "boolean" => Kind::Bool,
        "tinyint" => Kind::Int8,
        "smallint" => Kind::Int16,
        "int" => Kind::Int32,
        "bigint" => Kind::Int64,
        "float" => Kind::Float32,
        "double" => Kind::Float64,
        "date" => Kind::Date,
        "timestamp" => Kind::Timestamp,
        "string" => Kind::Text,
        "binary" => Kind::Binary,
        "decimal" => Kind::Decimal { precision: item(tuple, 1)?, scale: item(tuple, 2)? },
        "struct" => Kind::Struct { names: item(tuple, 1)?, parts: item(tuple, 2)? },
        "list" => Kind::List { part: item(tuple, 1)? },
        "map" => Kind::Map { keys: item(tuple, 1)?, values: item(tuple, 2)? },
        other => return Err(unknown(other)),
    })
}

fn members(names: Vec<String>) -> Members {
    Members::new(names.into_iter().map(|name| name.into_bytes().into_boxed_slice()).collect())
}

fn read(tuple: &Bound<'_, PyTuple>) -> PyResult<Read> {
    let name: String = item(tuple, 0)?;
    let column = item(tuple, 1)?;
    Ok(match name.as_str() {
        "nothing" => Read::Nothing { column },
        "scalar" => Read::Scalar { column },
        "struct" => Read::Struct {
            column,
            members: members(item(tuple, 2)?),
            reads: item(tuple, 3)?,
            nulls: item(tuple, 4)?,
        },
        "list" => Read::List {
            column,
            part: item(tuple, 2)?,
            special: item(tuple, 3)?,
            rest: item(tuple, 4)?,
        },
        "map" => Read::Map {
            column,
            keys: item(tuple, 2)?,
            values: item(tuple, 3)?,
            special: members(item(tuple, 4)?),
            special_reads: item(tuple, 5)?,
            rest: item(tuple, 6)?,
        },
        other => return Err(unknown(other)),
    })
}

fn place(tuple: &Bound<'_, PyTuple>) -> PyResult<Place> {
    let name: String = item(tuple, 0)?;
    let shape = match name.as_str() {
        "scalar" => Shape::Scalar,
        "object" => Shape::Object(members(item(tuple, 1)?)),
        "array" => Shape::Array(item(tuple, 1)?),
        other => return Err(unknown(other)),
    };
    Ok(Place {
        shape,
        parts: item(tuple, 2)?,
        reads: item(tuple, 3)?,
        texts: item(tuple, 4)?,
        presence: item(tuple, 5)?,
        length: item(tuple, 6)?,
    })
}

/// Its column, whether it omits NULLs, what stands before each field, the texts of the fields.
type FragmentFields = (usize, bool, Vec<String>, Vec<usize>);
/// Forms; texts, each with its form and whether it counts what is mistyped; fragments.
type TranscodingParts<'py> = (Vec<Bound<'py, PyTuple>>, Vec<(usize, bool)>, Vec<FragmentFields>);

fn transcoding((forms, texts, fragments): TranscodingParts<'_>) -> PyResult<Transcoding> {
    Ok(Transcoding {
        forms: forms.iter().map(form).collect::<PyResult<_>>()?,
        texts: texts.into_iter().map(|(form, counts)| Text { form, counts }).collect(),
        fragments: fragments
            .into_iter()
            .map(|(column, omits_nulls, starts, texts)| {
                if starts.len() != texts.len() {
                    return Err(PyValueError::new_err("a fragment has other fields"));
                }
                let fields = starts.into_iter().zip(texts).collect();
                Ok(Fragment::new(column, omits_nulls, fields))
            })
            .collect::<PyResult<_>>()?,
    })
}

fn bytes(text: String) -> Box<[u8]> {
    text.into_bytes().into_boxed_slice()
}

fn form(tuple: &Bound<'_, PyTuple>) -> PyResult<Form> {
    let name: String = item(tuple, 0)?;
    Ok(match name.as_str() {
        "struct" => Form::Struct {
            members: members(item(tuple, 1)?),
            starts: item::<Vec<String>>(tuple, 2)?.into_iter().map(bytes).collect(),
            parts: item(tuple, 3)?,
        },
        "list" => Form::List { part: item(tuple, 1)? },
        "map" => Form::Map { values: item(tuple, 1)? },
        _ => Form::Scalar(kind(tuple)?),
    })
}
