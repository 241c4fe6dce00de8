//! Columns under construction, as Arrow stores them: leaves in buffers, structs and lists by
//! reference to the columns of their parts.

use std::sync::Arc;

use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType,
};
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BinaryArray, BooleanArray, ListArray, MapArray, PrimitiveArray,
    StringArray, StructArray,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Fields};

/// The number of a column among all of a program, parts of others included.
pub type ColumnId = usize;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    Bool,
    Int8,
    Int16,
    Int32,
    Int64,
    Float32,
    Float64,
    Date,
    Timestamp,
    Decimal { precision: u8, scale: i8 },
    Text,
    Binary,
    Struct { names: Vec<String>, parts: Vec<ColumnId> },
    List { part: ColumnId },
    Map { keys: ColumnId, values: ColumnId },
}

pub struct Column {
    pub kind: Kind,
    pub data: Data,
    there: Bits,
}

/// Which one it is depends on the kind alone.
pub enum Data {
    Bool(Bits),
    Int8(Vec<i8>),
    Int16(Vec<i16>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Float32(Vec<f32>),
    Float64(Vec<f64>),
    Date(Vec<i32>),
    Timestamp(Vec<i64>),
    Decimal(Vec<i128>),
    Text {
        ends: Vec<i32>,
        bytes: Vec<u8>,
    },
    Binary {
        ends: Vec<i32>,
        bytes: Vec<u8>,
    },
    /// Where each list ends among its elements.
    Ends(Vec<i32>),
    Nothing,
}

/// Bits, of which nothing is stored as long as all are set.
#[derive(Default)]
pub struct Bits {
    length: usize,
    bytes: Option<Vec<u8>>,
}

impl Bits {
    #[inline(always)]
    pub fn push(&mut self, bit: bool) {
        if !bit || self.bytes.is_some() {
            self.push_stored(bit);
        }
        self.length += 1;
    }

    #[inline(never)]
    fn push_stored(&mut self, bit: bool) {
        let length = self.length;
        let bytes = self.bytes.get_or_insert_with(|| {
            let mut bytes = vec![0xff; length.div_ceil(8)];
            if let Some(last) = bytes.last_mut() {
                *last >>= (8 - length % 8) % 8;
            }
            bytes
        });
        if length.is_multiple_of(8) {
            bytes.push(0);
        }
        bytes[length / 8] |= u8::from(bit) << (length % 8);
    }

    fn truncate(&mut self, length: usize) {
        if length >= self.length {
            return;
        }
        self.length = length;
        if let Some(bytes) = &mut self.bytes {
            bytes.truncate(length.div_ceil(8));
            if !length.is_multiple_of(8) {
                bytes[length / 8] &= 0xff >> (8 - length % 8);
            }
        }
    }

    fn into_buffer(self) -> BooleanBuffer {
        match self.bytes {
            Some(bytes) => BooleanBuffer::new(Buffer::from_vec(bytes), 0, self.length),
            None => BooleanBuffer::new_set(self.length),
        }
    }

    fn into_nulls(self) -> Option<NullBuffer> {
        self.bytes.is_some().then(|| NullBuffer::new(self.into_buffer()))
    }
}

/// More bytes, elements or rows than a batch can hold.
#[derive(Debug)]
pub struct TooMuch;

impl Column {
    pub fn new(kind: Kind) -> Self {
        let data = match kind {
            Kind::Bool => Data::Bool(Bits::default()),
            Kind::Int8 => Data::Int8(Vec::new()),
            Kind::Int16 => Data::Int16(Vec::new()),
            Kind::Int32 => Data::Int32(Vec::new()),
            Kind::Int64 => Data::Int64(Vec::new()),
            Kind::Float32 => Data::Float32(Vec::new()),
            Kind::Float64 => Data::Float64(Vec::new()),
            Kind::Date => Data::Date(Vec::new()),
            Kind::Timestamp => Data::Timestamp(Vec::new()),
            Kind::Decimal { .. } => Data::Decimal(Vec::new()),
            Kind::Text => Data::Text { ends: Vec::new(), bytes: Vec::new() },
            Kind::Binary => Data::Binary { ends: Vec::new(), bytes: Vec::new() },
            Kind::List { .. } | Kind::Map { .. } => Data::Ends(Vec::new()),
            Kind::Struct { .. } => Data::Nothing,
        };
        Column { kind, data, there: Bits::default() }
    }

    /// One that is empty, with room for as much as this one holds: the next batch is alike.
    fn empty_like(&self) -> Self {
        let data = match &self.data {
            Data::Bool(_) => Data::Bool(Bits::default()),
            Data::Int8(values) => Data::Int8(Vec::with_capacity(values.len())),
            Data::Int16(values) => Data::Int16(Vec::with_capacity(values.len())),
            Data::Int32(values) => Data::Int32(Vec::with_capacity(values.len())),
            Data::Int64(values) => Data::Int64(Vec::with_capacity(values.len())),
            Data::Float32(values) => Data::Float32(Vec::with_capacity(values.len())),
            Data::Float64(values) => Data::Float64(Vec::with_capacity(values.len())),
            Data::Date(values) => Data::Date(Vec::with_capacity(values.len())),
            Data::Timestamp(values) => Data::Timestamp(Vec::with_capacity(values.len())),
            Data::Decimal(values) => Data::Decimal(Vec::with_capacity(values.len())),
            Data::Text { ends, bytes } => Data::Text {
                ends: Vec::with_capacity(ends.len()),
                bytes: Vec::with_capacity(bytes.len() + bytes.len() / 8),
            },
            Data::Binary { ends, bytes } => Data::Binary {
                ends: Vec::with_capacity(ends.len()),
                bytes: Vec::with_capacity(bytes.len() + bytes.len() / 8),
            },
            Data::Ends(ends) => Data::Ends(Vec::with_capacity(ends.len())),
            Data::Nothing => Data::Nothing,
        };
        Column { kind: self.kind.clone(), data, there: Bits::default() }
    }

    /// How many values it has.
    pub fn count(&self) -> usize {
        self.there.length
    }

    /// Says that a value has been added to the data.
    #[inline(always)]
    pub fn added(&mut self) {
        self.there.push(true);
    }

    /// Adds NULL, but not to the parts of a struct: see `Columns::push_null`.
    fn push_null(&mut self) {
        self.there.push(false);
        match &mut self.data {
            Data::Bool(bits) => bits.push(false),
            Data::Int8(values) => values.push(0),
            Data::Int16(values) => values.push(0),
            Data::Int32(values) | Data::Date(values) => values.push(0),
            Data::Int64(values) | Data::Timestamp(values) => values.push(0),
            Data::Float32(values) => values.push(0.0),
            Data::Float64(values) => values.push(0.0),
            Data::Decimal(values) => values.push(0),
            Data::Text { ends, .. } | Data::Binary { ends, .. } | Data::Ends(ends) => {
                ends.push(ends.last().copied().unwrap_or(0));
            }
            Data::Nothing => {}
        }
    }

    fn truncate(&mut self, length: usize) {
        self.there.truncate(length);
        match &mut self.data {
            Data::Bool(bits) => bits.truncate(length),
            Data::Int8(values) => values.truncate(length),
            Data::Int16(values) => values.truncate(length),
            Data::Int32(values) | Data::Date(values) => values.truncate(length),
            Data::Int64(values) | Data::Timestamp(values) => values.truncate(length),
            Data::Float32(values) => values.truncate(length),
            Data::Float64(values) => values.truncate(length),
            Data::Decimal(values) => values.truncate(length),
            Data::Text { ends, bytes } | Data::Binary { ends, bytes } => {
                ends.truncate(length);
                bytes.truncate(ends.last().copied().unwrap_or(0) as usize);
            }
            Data::Ends(ends) => ends.truncate(length),
            Data::Nothing => {}
        }
    }
}

/// The columns of a program.
pub struct Columns(Vec<Column>);

impl std::ops::Index<ColumnId> for Columns {
    type Output = Column;
    #[inline(always)]
    fn index(&self, id: ColumnId) -> &Column {
        &self.0[id]
    }
}

impl std::ops::IndexMut<ColumnId> for Columns {
    #[inline(always)]
    fn index_mut(&mut self, id: ColumnId) -> &mut Column {
        &mut self.0[id]
    }
}

impl Columns {
    pub fn new(kinds: impl IntoIterator<Item = Kind>) -> Self {
        Columns(kinds.into_iter().map(Column::new).collect())
    }

    pub fn push_null(&mut self, id: ColumnId) {
        self.0[id].push_null();
        if matches!(self.0[id].kind, Kind::Struct { .. }) {
            for part in 0..self.parts(id).len() {
                let part = self.parts(id)[part];
                self.push_null(part);
            }
        }
    }

    fn parts(&self, id: ColumnId) -> &[ColumnId] {
        match &self.0[id].kind {
            Kind::Struct { parts, .. } => parts,
            _ => &[],
        }
    }

    /// Forgets all values after the first few, some of which may be half made.
    pub fn truncate(&mut self, id: ColumnId, length: usize) {
        self.0[id].truncate(length);
        let (parts, length) = match &self.0[id] {
            Column { kind: Kind::Struct { parts, .. }, .. } => (parts.clone(), length),
            Column { kind: Kind::List { part }, data: Data::Ends(ends), .. } => {
                (vec![*part], last(ends))
            }
            Column { kind: Kind::Map { keys, values }, data: Data::Ends(ends), .. } => {
                (vec![*keys, *values], last(ends))
            }
            _ => return,
        };
        for part in parts {
            self.truncate(part, length);
        }
    }

    /// The column as an Arrow array. It is empty afterwards.
    pub fn finish(&mut self, id: ColumnId) -> Result<ArrayRef, ArrowError> {
        let empty = self.0[id].empty_like();
        let Column { kind, data, there } = std::mem::replace(&mut self.0[id], empty);
        let length = there.length;
        let nulls = there.into_nulls();
        Ok(match (kind, data) {
            (Kind::Bool, Data::Bool(bits)) => {
                Arc::new(BooleanArray::new(bits.into_buffer(), nulls))
            }
            (Kind::Int8, Data::Int8(v)) => primitive::<Int8Type>(v, nulls)?,
            (Kind::Int16, Data::Int16(v)) => primitive::<Int16Type>(v, nulls)?,
            (Kind::Int32, Data::Int32(v)) => primitive::<Int32Type>(v, nulls)?,
            (Kind::Int64, Data::Int64(v)) => primitive::<Int64Type>(v, nulls)?,
            (Kind::Float32, Data::Float32(v)) => primitive::<Float32Type>(v, nulls)?,
            (Kind::Float64, Data::Float64(v)) => primitive::<Float64Type>(v, nulls)?,
            (Kind::Date, Data::Date(v)) => primitive::<Date32Type>(v, nulls)?,
            (Kind::Timestamp, Data::Timestamp(v)) => Arc::new(
                PrimitiveArray::<TimestampMicrosecondType>::try_new(v.into(), nulls)?
                    .with_timezone("UTC"),
            ),
            (Kind::Decimal { precision, scale }, Data::Decimal(v)) => Arc::new(
                PrimitiveArray::<Decimal128Type>::try_new(v.into(), nulls)?
                    .with_precision_and_scale(precision, scale)?,
            ),
            (Kind::Text, Data::Text { ends, bytes }) => {
                Arc::new(StringArray::try_new(offsets(ends), Buffer::from_vec(bytes), nulls)?)
            }
            (Kind::Binary, Data::Binary { ends, bytes }) => {
                Arc::new(BinaryArray::try_new(offsets(ends), Buffer::from_vec(bytes), nulls)?)
            }
            (Kind::Struct { names, parts }, _) => {
                let arrays = parts
                    .into_iter()
                    .map(|part| self.finish(part))
                    .collect::<Result<Vec<_>, _>>()?;
                Arc::new(structs(names, arrays, length, nulls)?)
            }
            (Kind::List { part }, Data::Ends(ends)) => {
                let elements = self.finish(part)?;
                let field = Field::new("element", elements.data_type().clone(), true);
                Arc::new(ListArray::try_new(Arc::new(field), offsets(ends), elements, nulls)?)
            }
            (Kind::Map { keys, values }, Data::Ends(ends)) => {
                let (keys, values) = (self.finish(keys)?, self.finish(values)?);
                let fields = Fields::from(vec![
                    Field::new("key", keys.data_type().clone(), false),
                    Field::new("value", values.data_type().clone(), true),
                ]);
                let entries = StructArray::try_new(fields.clone(), vec![keys, values], None)?;
                let field = Field::new("entries", DataType::Struct(fields), false);
                Arc::new(MapArray::try_new(Arc::new(field), offsets(ends), entries, nulls, false)?)
            }
            _ => return Err(ArrowError::InvalidArgumentError("kind and data differ".into())),
        })
    }
}

/// Arrays as the members of structs.
pub fn structs(
    names: Vec<String>,
    arrays: Vec<ArrayRef>,
    length: usize,
    nulls: Option<NullBuffer>,
) -> Result<StructArray, ArrowError> {
    let fields = names
        .into_iter()
        .zip(&arrays)
        .map(|(name, array)| Field::new(name, array.data_type().clone(), true));
    StructArray::try_new_with_length(fields.collect(), arrays, nulls, length)
}

fn primitive<T: ArrowPrimitiveType>(
    values: Vec<T::Native>,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, ArrowError> {
    Ok(Arc::new(PrimitiveArray::<T>::try_new(ScalarBuffer::from(values), nulls)?))
}

/// Where each value begins and the last one ends.
fn offsets(ends: Vec<i32>) -> OffsetBuffer<i32> {
    let mut all = Vec::with_capacity(ends.len() + 1);
    all.push(0);
    all.extend(ends);
    OffsetBuffer::new(all.into()) // ends never decrease
}

fn last(ends: &[i32]) -> usize {
    ends.last().copied().unwrap_or(0) as usize
}

/// A place among elements or bytes, as Arrow counts them.
#[inline(always)]
pub fn offset(place: usize) -> Result<i32, TooMuch> {
    i32::try_from(place).map_err(|_| TooMuch)
}
