//! Messages of `librdkafka`, as Python sees them.

use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::messages::{Destroy, Library, Message, Timestamp};
use crate::python::guarded;
use crate::python_arrays::Column;

/// Messages that a consumer has taken from a queue; they are destroyed with this object, or by
/// `release`. While one thread decodes them, no other can: it gets an exception.
#[pyclass]
pub struct Messages {
    pub inner: crate::messages::Messages,
    /// What was no message: how many messages stood before it, its code, offset and text.
    #[pyo3(get)]
    events: Vec<(usize, i32, i64, String)>,
}

#[pymethods]
impl Messages {
    /// Takes over an array of so many pointers to messages. `destroy` and `timestamp` are where
    /// the functions `rd_kafka_message_destroy` and `rd_kafka_message_timestamp` are.
    ///
    /// All of these are addresses, and nobody can see whether they are right: only
    /// `narrows/connectors/kafka/librdkafka.py` calls this, with what it has from the library.
    #[new]
    fn new(array: usize, count: usize, destroy: usize, timestamp: usize) -> PyResult<Self> {
        if array == 0 || destroy == 0 || timestamp == 0 {
            return Err(PyValueError::new_err("an address is NULL"));
        }
        // SAFETY: a pointer to a function is as large as an address, and these are not NULL. That
        // they, and the array, are what they must be is for the caller to see to.
        let (inner, events) = unsafe {
            let library = Library {
                destroy: std::mem::transmute::<usize, Destroy>(destroy),
                timestamp: std::mem::transmute::<usize, Timestamp>(timestamp),
            };
            crate::messages::Messages::take(library, array as *const *mut Message, count)
        };
        let events = events.into_iter().map(|e| (e.position, e.code, e.offset, e.text)).collect();
        Ok(Messages { inner, events })
    }

    fn __len__(&self) -> usize {
        self.inner.len()
    }

    /// Keeps the first few, and gives away the others.
    fn split_off(&mut self, at: usize) -> Self {
        Messages { inner: self.inner.split_off(at), events: Vec::new() }
    }

    /// Destroys them.
    fn release(slf: &Bound<'_, Self>) -> PyResult<()> {
        let all = slf.try_borrow_mut()?.inner.split_off(0);
        slf.py().detach(|| drop(all));
        Ok(())
    }

    /// Where a message is; None if there is none of that number.
    fn address(&self, number: usize) -> Option<usize> {
        self.inner.address(number)
    }

    /// A payload; None if it is null.
    fn payload<'py>(&self, py: Python<'py>, number: usize) -> Option<Bound<'py, PyBytes>> {
        self.inner.payload(number).map(|payload| PyBytes::new(py, payload))
    }

    fn payloads<'py>(&self, py: Python<'py>) -> Vec<Option<Bound<'py, PyBytes>>> {
        self.inner.payloads().map(|found| found.map(|bytes| PyBytes::new(py, bytes))).collect()
    }

    /// Bytes of all payloads.
    #[getter]
    fn size(&self) -> usize {
        self.inner.payloads().flatten().map(<[u8]>::len).sum()
    }

    /// The numbers of those whose payload is null.
    #[getter]
    fn nulls(&self) -> Vec<usize> {
        let payloads = self.inner.payloads().enumerate();
        payloads.filter_map(|(number, payload)| payload.is_none().then_some(number)).collect()
    }

    /// How many of the messages, whose offsets ascend, stand before an offset.
    fn before(&self, offset: i64) -> usize {
        self.inner.before(offset)
    }

    /// The offset of a message.
    fn offset(&self, number: usize) -> PyResult<i64> {
        self.inner.offset(number).ok_or_else(|| PyIndexError::new_err("there is no such message"))
    }

    fn offsets(&self) -> Column {
        Column::new(self.inner.offsets())
    }

    fn partitions(&self) -> Column {
        Column::new(self.inner.partitions())
    }

    /// Milliseconds since 1970, NULL where there is no time.
    fn timestamps(&self) -> Column {
        Column::new(self.inner.timestamps())
    }

    fn keys(&self) -> PyResult<Column> {
        guarded(|| Ok(Column::new(self.inner.keys()?)))
    }
}
