//! The columns of an input batch.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{
    Array, BinaryArray, BooleanArray, Int64Array, LargeBinaryArray, LargeStringArray, StringArray,
    StructArray,
};
use arrow_schema::DataType;

use crate::error::{MergeError, Result};

enum Texts {
    Small(StringArray),
    Large(LargeStringArray),
}

enum Bytes {
    Small(BinaryArray),
    Large(LargeBinaryArray),
}

/// The content of one input row.
pub enum Part<'b> {
    Event(&'b str),
    State(&'b [u8]),
}

/// A batch in which rows with equal tokens are adjacent.
pub struct Input {
    tokens: Int64Array,
    events: Texts,
    states: Option<Bytes>,
    are_new: Option<BooleanArray>,
    pub row: usize,
}

impl Input {
    /// With `has_news`, the batch must contain `is_new`.
    pub fn new(batch: &StructArray, has_news: bool) -> Result<Self> {
        let missing = |name: &str, wanted: &str| {
            MergeError::Batch(format!("Column {name} of the batch: expected {wanted}."))
        };
        let column = |name: &str| batch.column_by_name(name);
        let events = column("event").and_then(|array| match array.data_type() {
            DataType::Utf8 => array.as_string_opt().cloned().map(Texts::Small),
            DataType::LargeUtf8 => array.as_string_opt().cloned().map(Texts::Large),
            _ => None,
        });
        let states = column("state").map(|array| {
            match array.data_type() {
                DataType::Binary => array.as_binary_opt().cloned().map(Bytes::Small),
                DataType::LargeBinary => array.as_binary_opt().cloned().map(Bytes::Large),
                _ => None,
            }
            .ok_or_else(|| missing("state", "binary"))
        });
        let are_new = column("is_new").filter(|_| has_news).map(|array| {
            let array = array
                .as_boolean_opt()
                .filter(|array| array.null_count() == 0);
            array
                .cloned()
                .ok_or_else(|| missing("is_new", "boolean without nulls"))
        });
        if has_news && are_new.is_none() {
            return Err(missing("is_new", "boolean without nulls"));
        }
        let tokens = column("token")
            .and_then(|array| array.as_primitive_opt::<Int64Type>())
            .filter(|array| array.null_count() == 0);
        Ok(Self {
            tokens: tokens
                .cloned()
                .ok_or_else(|| missing("token", "int64 without nulls"))?,
            events: events.ok_or_else(|| missing("event", "string"))?,
            states: states.transpose()?,
            are_new: are_new.transpose()?,
            row: 0,
        })
    }

    /// The token of the current row; `None` after the last row.
    pub fn token(&self) -> Option<i64> {
        (self.row < self.tokens.len()).then(|| self.tokens.value(self.row))
    }

    pub fn is_new(&self) -> bool {
        self.are_new
            .as_ref()
            .is_some_and(|are_new| are_new.value(self.row))
    }

    /// The event or state of the current row, which must exist.
    pub fn part(&self) -> Result<Part<'_>> {
        let row = self.row;
        let event = match &self.events {
            Texts::Small(array) => array.is_valid(row).then(|| array.value(row)),
            Texts::Large(array) => array.is_valid(row).then(|| array.value(row)),
        };
        let state = match &self.states {
            Some(Bytes::Small(array)) => array.is_valid(row).then(|| array.value(row)),
            Some(Bytes::Large(array)) => array.is_valid(row).then(|| array.value(row)),
            None => None,
        };
        match (event, state) {
            (Some(event), None) => Ok(Part::Event(event)),
            (None, Some(state)) => Ok(Part::State(state)),
            _ => Err(MergeError::Batch(format!(
                "Row {row} of the batch (token {}): expected either an event or a state.",
                self.tokens.value(row)
            ))),
        }
    }
}
