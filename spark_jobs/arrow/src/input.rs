//! Raw columns of a batch, as they come.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, LargeBinaryArray};
use arrow_schema::DataType;

use crate::Element;

/// Bytes or nulls, with 32-bit or 64-bit offsets.
pub enum Bytes<'a> {
    Small(&'a BinaryArray),
    Large(&'a LargeBinaryArray),
}

impl<'a> Bytes<'a> {
    /// `None` if the array is of another type.
    pub fn from_array(array: &'a dyn Array) -> Option<Self> {
        match array.data_type() {
            DataType::Binary => array.as_binary_opt().map(Self::Small),
            DataType::LargeBinary => array.as_binary_opt().map(Self::Large),
            _ => None,
        }
    }

    /// `None` for a null; `row` is below the length of the array.
    pub fn get(&self, row: usize) -> Option<&'a [u8]> {
        match self {
            Self::Small(array) => array.is_valid(row).then(|| array.value(row)),
            Self::Large(array) => array.is_valid(row).then(|| array.value(row)),
        }
    }
}

/// Lists with 32-bit offsets of the elements of each row.
struct Ranges<'a> {
    offsets: &'a [i32],
    array: &'a dyn Array,
}

impl Ranges<'_> {
    /// Nothing for a null.
    fn get(&self, row: usize) -> std::ops::Range<usize> {
        let bounds = self.offsets.get(row..).unwrap_or_default();
        match bounds {
            [start, end, ..] if self.array.is_valid(row) => {
                usize::try_from(*start).unwrap_or(0)..usize::try_from(*end).unwrap_or(0)
            }
            _ => 0..0,
        }
    }
}

/// Lists of `struct<path: binary, value: binary>`.
pub struct Elements<'a> {
    rows: Ranges<'a>,
    paths: Bytes<'a>,
    values: Bytes<'a>,
}

impl<'a> Elements<'a> {
    /// `None` if the array is of another type.
    pub fn from_array(array: &'a ArrayRef) -> Option<Self> {
        let list = array.as_list_opt::<i32>()?;
        let elements = list.values().as_struct_opt()?;
        Some(Self {
            rows: Ranges {
                offsets: list.value_offsets(),
                array,
            },
            paths: Bytes::from_array(elements.column_by_name("path")?)?,
            values: Bytes::from_array(elements.column_by_name("value")?)?,
        })
    }

    /// Replaces `elements` by those of a row; false if one of them has no path.
    pub fn get(&self, row: usize, elements: &mut Vec<Element<'a>>) -> bool {
        elements.clear();
        for place in self.rows.get(row) {
            let Some(path) = self.paths.get(place) else {
                return false;
            };
            let value = self.values.get(place);
            elements.push(Element { path, value });
        }
        true
    }
}

/// Lists of bytes.
pub struct ByteLists<'a> {
    rows: Ranges<'a>,
    values: Bytes<'a>,
}

impl<'a> ByteLists<'a> {
    /// `None` if the array is of another type.
    pub fn from_array(array: &'a ArrayRef) -> Option<Self> {
        let list = array.as_list_opt::<i32>()?;
        Some(Self {
            rows: Ranges {
                offsets: list.value_offsets(),
                array,
            },
            values: Bytes::from_array(list.values())?,
        })
    }

    /// An item of a row; `None` if it is a null or not there.
    pub fn get(&self, row: usize, item: usize) -> Option<&'a [u8]> {
        let mut places = self.rows.get(row);
        places.nth(item).and_then(|place| self.values.get(place))
    }

    /// Items of a row.
    pub fn count(&self, row: usize) -> usize {
        self.rows.get(row).len()
    }
}
