//! Arrays on their way from and to Python, through the Arrow PyCapsule interface.

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow_array::{Array, ArrayRef, make_array};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// An array that `pyarrow.array` takes over.
#[pyclass(frozen)]
pub struct Column {
    array: ArrayRef,
}

impl Column {
    pub fn new(array: impl Array + 'static) -> Self {
        Column { array: std::sync::Arc::new(array) }
    }
}

#[pymethods]
impl Column {
    /// The Arrow PyCapsule interface.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Capsules<'py>> {
        let _ = requested_schema; // it may be ignored
        capsules(py, &self.array)
    }
}

/// The type and the values of an array.
pub type Capsules<'py> = (Bound<'py, PyCapsule>, Bound<'py, PyCapsule>);

pub fn capsules<'py>(py: Python<'py>, array: &dyn Array) -> PyResult<Capsules<'py>> {
    let (array, schema): (FFI_ArrowArray, FFI_ArrowSchema) =
        to_ffi(&array.to_data()).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    Ok((
        PyCapsule::new_with_value(py, schema, c"arrow_schema")?,
        PyCapsule::new_with_value(py, array, c"arrow_array")?,
    ))
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
