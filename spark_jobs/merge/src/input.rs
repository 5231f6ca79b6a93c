//! The columns of an input batch.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    BinaryType, ByteArrayType, Int64Type, LargeBinaryType, LargeUtf8Type, Utf8Type,
};
use arrow_array::{Array, ArrayRef, BooleanArray, GenericByteArray, Int64Array, StructArray};

use crate::error::{MergeError, Result};

/// Texts or bytes with 32-bit or 64-bit offsets.
enum Items<S: ByteArrayType, L: ByteArrayType> {
    Small(GenericByteArray<S>),
    Large(GenericByteArray<L>),
}

impl<S: ByteArrayType, L: ByteArrayType<Native = S::Native>> Items<S, L> {
    fn from_array(array: &ArrayRef) -> Option<Self> {
        let small = array.as_bytes_opt().cloned().map(Self::Small);
        small.or_else(|| array.as_bytes_opt().cloned().map(Self::Large))
    }

    /// Returns `None` for null. `row` must be less than the length of the array.
    fn get(&self, row: usize) -> Option<&S::Native> {
        match self {
            Self::Small(array) => array.is_valid(row).then(|| array.value(row)),
            Self::Large(array) => array.is_valid(row).then(|| array.value(row)),
        }
    }
}

/// The content of one input row.
pub enum Part<'b> {
    Event(&'b str),
    State(&'b [u8]),
}

/// A batch in which rows with equal tokens are adjacent.
pub struct Input {
    tokens: Int64Array,
    events: Items<Utf8Type, LargeUtf8Type>,
    states: Option<Items<BinaryType, LargeBinaryType>>,
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
        let events = column("event").and_then(Items::from_array);
        let states = column("state")
            .map(|array| Items::from_array(array).ok_or_else(|| missing("state", "binary")));
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
        let event = self.events.get(row);
        let state = self.states.as_ref().and_then(|states| states.get(row));
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
