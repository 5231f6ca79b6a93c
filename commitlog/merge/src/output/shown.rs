//! Whether a reader sees a difference between two rows.
//!
//! Different bytes may be one value: a list that was written again has new positions, and a null
//! may be written or left out. So typed values decide where bytes do not.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_schema::DataType;
use commitlog_core::cql_type::CqlType;

use super::typed::{TypedRows, take_column};
use crate::arena::Span;
use crate::content::Content;
use crate::error::Result;
use crate::partition::Store;

/// The row that changes follow, and what it is in.
#[derive(Clone, Copy)]
pub struct ChangedRow<'c> {
    pub token: i64,
    pub pk: &'c [u8],
    pub ck: Option<&'c [u8]>,
    pub existed: bool,
    pub store: &'c Store,
}

/// A visible row.
#[derive(Clone, Copy)]
pub struct Shown<'c> {
    pub row: &'c Content,
    pub statics: &'c Content,
    /// The clustering values, as [`crate::state`] encodes them.
    pub ckv: Option<Span>,
}

impl Shown<'_> {
    fn has_same_bytes(&self, other: &Self, store: &Store) -> bool {
        let bytes = |ckv: Option<Span>| ckv.map(|ckv| store.arena.get(ckv));
        self.row.has_same_bytes(other.row, store)
            && self.statics.has_same_bytes(other.statics, store)
            && bytes(self.ckv) == bytes(other.ckv)
    }
}

impl TypedRows {
    /// Whether a reader sees the same values; the rows must be empty. A row that cannot be decoded
    /// differs: it is an error in the output.
    pub fn shows_same(&mut self, row: ChangedRow<'_>, a: Shown<'_>, b: Shown<'_>) -> bool {
        if a.has_same_bytes(&b, row.store) {
            return true;
        }
        !self.is_update(a.row, b.row, row.store)
            && !self.is_update(a.statics, b.statics, row.store)
            && self.decodes_same(row, [a, b]).unwrap_or(false)
    }

    /// Whether a value of a type differs that has one form. Most updates end here.
    fn is_update(&self, a: &Content, b: &Content, store: &Store) -> bool {
        let (mut a, mut b) = (a.cells.as_slice(), b.cells.as_slice());
        self.columns().any(|column| {
            let of_a = take_column(&mut a, column.id).first();
            let of_b = take_column(&mut b, column.id).first();
            has_one_form(&column.cql_type)
                && of_a
                    .zip(of_b)
                    .is_some_and(|(a, b)| a.value(store) != b.value(store))
        })
    }

    fn decodes_same(&mut self, row: ChangedRow<'_>, both: [Shown<'_>; 2]) -> Result<bool> {
        for shown in both {
            let ckv = shown.ckv.map(|ckv| row.store.arena.get(ckv));
            self.append(row.pk, ckv, (shown.row, shown.statics), row.store)?;
        }
        let rows = self.take()?;
        Ok(look_alike(&rows.slice(0, 1), &rows.slice(1, 1)))
    }
}

/// Whether different bytes are different values; not complete.
fn has_one_form(cql_type: &CqlType) -> bool {
    use CqlType::{BigInt, Blob, Counter, Int, Text, TimeUuid, Timestamp, Uuid};
    matches!(
        cql_type,
        BigInt | Blob | Counter | Int | Text | TimeUuid | Timestamp | Uuid
    )
}

/// Whether arrays of one type look alike. Every NaN does; 0.0 and -0.0 do not.
fn look_alike(a: &dyn Array, b: &dyn Array) -> bool {
    let each = |is_same: &dyn Fn(usize) -> bool| {
        a.len() == b.len()
            && (0..a.len()).all(|at| match (a.is_null(at), b.is_null(at)) {
                (false, false) => is_same(at),
                (is_null, is_other_null) => is_null == is_other_null,
            })
    };
    match a.data_type() {
        DataType::Float32 => {
            let float = |array: &dyn Array, at| array.as_primitive::<Float32Type>().value(at);
            each(&|at| is_same_float(float(a, at).into(), float(b, at).into()))
        }
        DataType::Float64 => {
            let float = |array: &dyn Array, at| array.as_primitive::<Float64Type>().value(at);
            each(&|at| is_same_float(float(a, at), float(b, at)))
        }
        DataType::Struct(_) => {
            let mut fields = a.as_struct().columns().iter().zip(b.as_struct().columns());
            each(&|_| true) && fields.all(|(a, b)| look_alike(a, b))
        }
        DataType::List(_) => {
            let list = |array: &dyn Array, at| array.as_list::<i32>().value(at);
            each(&|at| look_alike(&list(a, at), &list(b, at)))
        }
        DataType::Map(..) => {
            let map = |array: &dyn Array, at| array.as_map().value(at);
            each(&|at| look_alike(&map(a, at), &map(b, at)))
        }
        _ => a == b,
    }
}

fn is_same_float(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}
