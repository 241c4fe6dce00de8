//! The encoder, as Python sees it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::{ArrayRef, BinaryArray, make_array};
use pyo3::exceptions::{PyOverflowError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::encode::rows::{Failure, Manner, Part};
use crate::python::{Capsules, capsules};

/// Texts of rows; an Arrow array of bytes.
#[pyclass(frozen)]
pub struct Texts {
    texts: BinaryArray,
}

#[pymethods]
impl Texts {
    /// The Arrow PyCapsule interface.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Capsules<'py>> {
        let _ = requested_schema; // it may be ignored
        capsules(py, &self.texts)
    }
}

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
) -> PyResult<Option<Texts>> {
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
        Ok(Ok(texts)) => Ok(Some(Texts { texts })),
        Ok(Err(Failure::Left)) => Ok(None),
        Ok(Err(Failure::TooMuch)) => Err(PyOverflowError::new_err("more than a batch can hold")),
        Ok(Err(Failure::Wrong(what))) => Err(PyValueError::new_err(what)),
        Err(_) => Err(PyRuntimeError::new_err("the kernel panicked")),
    }
}

/// An array of Python's; None if it is of a type that this crate does not know.
pub fn import(object: &Bound<'_, PyAny>) -> PyResult<Option<ArrayRef>> {
    let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) =
        object.call_method0("__arrow_c_array__")?.extract()?;
    let schema = schema.pointer_checked(Some(c"arrow_schema"))?.cast::<FFI_ArrowSchema>();
    let array = array.pointer_checked(Some(c"arrow_array"))?.cast::<FFI_ArrowArray>();
    // SAFETY: capsules of these names hold a valid ArrowSchema and a valid ArrowArray of that
    // schema; the PyCapsule interface says so, and both live as long as the capsules, that is to
    // the end of this function. `from_raw` moves the array out and leaves a released one behind,
    // as the interface wants it of a consumer, so nobody else uses or frees its buffers.
    let data = unsafe {
        let array = FFI_ArrowArray::from_raw(array.as_ptr());
        from_ffi(array, schema.as_ref())
    };
    Ok(data.ok().map(make_array))
}
