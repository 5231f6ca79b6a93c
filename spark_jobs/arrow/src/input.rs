//! Access to the raw columns of a batch.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, LargeBinaryArray};
use arrow_schema::DataType;

use crate::Element;

/// A nullable binary column with 32-bit or 64-bit offsets.
pub enum Bytes<'a> {
    Small(&'a BinaryArray),
    Large(&'a LargeBinaryArray),
}

impl<'a> Bytes<'a> {
    /// Returns `None` if the array is not binary.
    pub fn from_array(array: &'a dyn Array) -> Option<Self> {
        match array.data_type() {
            DataType::Binary => array.as_binary_opt().map(Self::Small),
            DataType::LargeBinary => array.as_binary_opt().map(Self::Large),
            _ => None,
        }
    }

    /// Returns `None` for null. `row` must be less than the length of the array.
    pub fn get(&self, row: usize) -> Option<&'a [u8]> {
        match self {
            Self::Small(array) => array.is_valid(row).then(|| array.value(row)),
            Self::Large(array) => array.is_valid(row).then(|| array.value(row)),
        }
    }
}

/// The range of elements in each row of a list array with 32-bit offsets.
struct Ranges<'a> {
    offsets: &'a [i32],
    array: &'a dyn Array,
}

impl Ranges<'_> {
    /// Returns an empty range for null.
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
    /// Returns `None` if the array has a different type.
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

    /// Replaces `elements` with the elements of a row. Returns false if a path is null.
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
    /// Returns `None` if the array has a different type.
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

    /// Returns an item of a row, or `None` if it is null or missing.
    pub fn get(&self, row: usize, item: usize) -> Option<&'a [u8]> {
        let mut places = self.rows.get(row);
        places.nth(item).and_then(|place| self.values.get(place))
    }

    /// The number of items in a row.
    pub fn count(&self, row: usize) -> usize {
        self.rows.get(row).len()
    }
}
