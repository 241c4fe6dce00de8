//! The encoder, as Python sees it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::exceptions::{PyOverflowError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::encode::rows::{Failure, Manner, Part};
use crate::python_arrays::{Column, import};

/// Encodes rows, given by their parts: whether a part is encoded already, what stands before its
/// values or, if it is, what stands for NULL, and an Arrow array. None if the portable encoder has
/// to do it. With `object_end` rows become objects, without they stay fields.
#[pyfunction]
pub fn encode(
    py: Python<'_>,
    parts: Vec<(bool, String, Bound<'_, PyAny>)>,
    omits_nulls: bool,
    zone: Option<i32>,
    object_end: Option<&str>,
) -> PyResult<Option<Column>> {
    let mut taken = Vec::with_capacity(parts.len());
    for (encoded, text, array) in parts {
        let text = text.into_bytes();
        let Some(array) = import(&array)? else { return Ok(None) };
        taken.push(match encoded {
            true => Part::Encoded { null: text, array },
            false => Part::Values { start: text, array },
        });
    }
    let manner = Manner { omits_nulls, zone, object_end: object_end.map(str::as_bytes) };
    let encode = || crate::encode::rows::encode(&taken, &manner);
    match py.detach(|| catch_unwind(AssertUnwindSafe(encode))) {
        Ok(Ok(texts)) => Ok(Some(Column::new(texts))),
        Ok(Err(Failure::Left)) => Ok(None),
        Ok(Err(Failure::TooMuch)) => Err(PyOverflowError::new_err("more than a batch can hold")),
        Ok(Err(Failure::Wrong(what))) => Err(PyValueError::new_err(what)),
        Err(_) => Err(PyRuntimeError::new_err("the kernel panicked")),
    }
}
