//! Arrow columns: the text of the value in each row.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrowPrimitiveType, BooleanArray, GenericBinaryArray, GenericStringArray,
    OffsetSizeTrait, PrimitiveArray, StructArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, TimeUnit};

use super::Left;
use super::numbers::{decimal, double, float, integer};
use super::strings::{base64, quoted};
use super::times::{Zone, date, timestamp};

/// A column whose values can be written.
pub struct Column<'a> {
    nulls: Option<&'a NullBuffer>,
    values: Values<'a>,
}

enum Values<'a> {
    Null,
    Bool(&'a BooleanArray),
    Int8(&'a PrimitiveArray<Int8Type>),
    Int16(&'a PrimitiveArray<Int16Type>),
    Int32(&'a PrimitiveArray<Int32Type>),
    Int64(&'a PrimitiveArray<Int64Type>),
    UInt8(&'a PrimitiveArray<UInt8Type>),
    UInt16(&'a PrimitiveArray<UInt16Type>),
    UInt32(&'a PrimitiveArray<UInt32Type>),
    UInt64(&'a PrimitiveArray<UInt64Type>),
    Float32(&'a PrimitiveArray<Float32Type>),
    Float64(&'a PrimitiveArray<Float64Type>),
    Decimal(&'a PrimitiveArray<Decimal128Type>, i8),
    Date(&'a PrimitiveArray<Date32Type>),
    Timestamp(&'a PrimitiveArray<TimestampMicrosecondType>, Zone),
    Text(&'a GenericStringArray<i32>),
    LargeText(&'a GenericStringArray<i64>),
    Binary(&'a GenericBinaryArray<i32>),
    LargeBinary(&'a GenericBinaryArray<i64>),
    /// Each part after what stands before it: `{"a":`, `,"b":`.
    Struct(Vec<(Vec<u8>, Column<'a>)>),
    List(&'a OffsetBuffer<i32>, Box<Column<'a>>),
    LargeList(&'a OffsetBuffer<i64>, Box<Column<'a>>),
    Map(&'a OffsetBuffer<i32>, Box<Column<'a>>, Box<Column<'a>>),
}

impl<'a> Column<'a> {
    /// `zone` is that of moments; None when it is a region, in which none can be written here.
    pub fn new(array: &'a dyn Array, zone: Option<i32>) -> Result<Self, Left> {
        let values = match array.data_type() {
            DataType::Null => Values::Null,
            DataType::Boolean => Values::Bool(array.as_boolean()),
            DataType::Int8 => Values::Int8(array.as_primitive()),
            DataType::Int16 => Values::Int16(array.as_primitive()),
            DataType::Int32 => Values::Int32(array.as_primitive()),
            DataType::Int64 => Values::Int64(array.as_primitive()),
            DataType::UInt8 => Values::UInt8(array.as_primitive()),
            DataType::UInt16 => Values::UInt16(array.as_primitive()),
            DataType::UInt32 => Values::UInt32(array.as_primitive()),
            DataType::UInt64 => Values::UInt64(array.as_primitive()),
            DataType::Float32 => Values::Float32(array.as_primitive()),
            DataType::Float64 => Values::Float64(array.as_primitive()),
            DataType::Decimal128(_, scale) => Values::Decimal(array.as_primitive(), *scale),
            DataType::Date32 => Values::Date(array.as_primitive()),
            DataType::Timestamp(TimeUnit::Microsecond, None) => {
                Values::Timestamp(array.as_primitive(), Zone::None)
            }
            DataType::Timestamp(TimeUnit::Microsecond, Some(_)) => {
                Values::Timestamp(array.as_primitive(), Zone::Fixed(zone.ok_or(Left)?))
            }
            DataType::Utf8 => Values::Text(array.as_string()),
            DataType::LargeUtf8 => Values::LargeText(array.as_string()),
            DataType::Binary => Values::Binary(array.as_binary()),
            DataType::LargeBinary => Values::LargeBinary(array.as_binary()),
            DataType::Struct(_) => Values::Struct(members(array.as_struct(), zone)?),
            DataType::List(_) => {
                let lists = array.as_list::<i32>();
                Values::List(lists.offsets(), Box::new(Column::new(lists.values(), zone)?))
            }
            DataType::LargeList(_) => {
                let lists = array.as_list::<i64>();
                Values::LargeList(lists.offsets(), Box::new(Column::new(lists.values(), zone)?))
            }
            DataType::Map(_, _) => {
                let maps = array.as_map();
                if !matches!(maps.keys().data_type(), DataType::Utf8 | DataType::Int64) {
                    return Err(Left);
                }
                let keys = Box::new(Column::new(maps.keys(), zone)?);
                Values::Map(maps.offsets(), keys, Box::new(Column::new(maps.values(), zone)?))
            }
            _ => return Err(Left),
        };
        Ok(Column { nulls: array.nulls(), values })
    }

    #[inline]
    pub fn is_null(&self, row: usize) -> bool {
        match self.nulls {
            Some(nulls) => nulls.is_null(row),
            None => matches!(self.values, Values::Null),
        }
    }

    /// Appends the text of a value; NULL is `null`.
    pub fn write(&self, row: usize, out: &mut Vec<u8>) -> Result<(), Left> {
        if self.is_null(row) {
            out.extend_from_slice(b"null");
            return Ok(());
        }
        match &self.values {
            Values::Null => out.extend_from_slice(b"null"),
            Values::Bool(array) => {
                out.extend_from_slice(if array.value(row) { b"true" } else { b"false" });
            }
            Values::Int8(array) => whole(array, row, out),
            Values::Int16(array) => whole(array, row, out),
            Values::Int32(array) => whole(array, row, out),
            Values::Int64(array) => whole(array, row, out),
            Values::UInt8(array) => whole(array, row, out),
            Values::UInt16(array) => whole(array, row, out),
            Values::UInt32(array) => whole(array, row, out),
            Values::UInt64(array) => whole(array, row, out),
            Values::Float32(array) => float(array.value(row), out),
            Values::Float64(array) => double(array.value(row), out),
            Values::Decimal(array, scale) => decimal(array.value(row), *scale, out),
            Values::Date(array) => date(array.value(row), out)?,
            Values::Timestamp(array, zone) => timestamp(array.value(row), *zone, out)?,
            Values::Text(array) => quoted(text(array, row), out),
            Values::LargeText(array) => quoted(text(array, row), out),
            Values::Binary(array) => base64(array.value(row), out),
            Values::LargeBinary(array) => base64(array.value(row), out),
            Values::Struct(parts) => {
                for (start, part) in parts {
                    out.extend_from_slice(start);
                    part.write(row, out)?;
                }
                out.extend_from_slice(if parts.is_empty() { b"{}" } else { b"}" });
            }
            Values::List(offsets, part) => elements(offsets, part, row, out)?,
            Values::LargeList(offsets, part) => elements(offsets, part, row, out)?,
            Values::Map(offsets, keys, values) => {
                out.push(b'{');
                let mut between: &[u8] = b"";
                for place in range(offsets, row) {
                    out.extend_from_slice(between);
                    between = b",";
                    keys.write_key(place, out);
                    out.push(b':');
                    values.write(place, out)?;
                }
                out.push(b'}');
            }
        }
        Ok(())
    }

    /// Keys are in quotes, whatever they are.
    fn write_key(&self, row: usize, out: &mut Vec<u8>) {
        match &self.values {
            Values::Text(array) => quoted(text(array, row), out),
            Values::Int64(array) => {
                out.push(b'"');
                whole(array, row, out);
                out.push(b'"');
            }
            _ => {} // there are no other keys: see `new`
        }
    }
}

fn members(array: &StructArray, zone: Option<i32>) -> Result<Vec<(Vec<u8>, Column<'_>)>, Left> {
    let parts = array.fields().iter().zip(array.columns()).enumerate();
    parts
        .map(|(place, (field, part))| {
            let mut start = vec![if place == 0 { b'{' } else { b',' }];
            quoted(field.name().as_bytes(), &mut start);
            start.push(b':');
            Ok((start, Column::new(part, zone)?))
        })
        .collect()
}

fn whole<T: ArrowPrimitiveType<Native: Into<i128>>>(
    array: &PrimitiveArray<T>,
    row: usize,
    out: &mut Vec<u8>,
) {
    integer(array.value(row), out);
}

/// The bytes of a text: whether they are UTF-8 is for whoever made the array to know.
fn text<O: OffsetSizeTrait>(array: &GenericStringArray<O>, row: usize) -> &[u8] {
    &array.value_data()[range(array.offsets(), row)]
}

fn elements<O: OffsetSizeTrait>(
    offsets: &OffsetBuffer<O>,
    part: &Column<'_>,
    row: usize,
    out: &mut Vec<u8>,
) -> Result<(), Left> {
    out.push(b'[');
    let mut between: &[u8] = b"";
    for place in range(offsets, row) {
        out.extend_from_slice(between);
        between = b",";
        part.write(place, out)?;
    }
    out.push(b']');
    Ok(())
}

fn range<O: OffsetSizeTrait>(offsets: &OffsetBuffer<O>, row: usize) -> std::ops::Range<usize> {
    offsets[row].as_usize()..offsets[row + 1].as_usize()
}
