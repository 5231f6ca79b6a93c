//! Decides whether a reader sees a difference between two rows.
//!
//! Different bytes may represent the same value: a rewritten list has new positions, and a null may
//! be written or omitted. So typed values are compared if the bytes differ.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_schema::DataType;
use commitlog_core::cql_type::CqlType;
use spark_arrow as arrow_decode;
use spark_arrow::{Element, Misfit, Rendering};

use super::typed::take_column;
use crate::arena::Span;
use crate::content::{Content, ShownCell, have_same_bytes};
use crate::evaluation::View;
use crate::partition::Store;
use crate::state::clustering_values;

/// A visible row.
#[derive(Clone, Copy)]
pub struct Shown<'c> {
    pub row: &'c Content,
    pub statics: &'c Content,
    /// The clustering values, as [`crate::state`] encodes them.
    pub ckv: Option<Span>,
}

/// Whether a reader sees a change. `None` means that the row is not visible.
pub fn is_change(before: Option<Shown<'_>>, after: Option<Shown<'_>>, view: View<'_>) -> bool {
    match (before, after) {
        (Some(a), Some(b)) => {
            !(shows_same(a.row, b.row, view)
                && shows_same(a.statics, b.statics, view)
                && has_same_key(a.ckv, b.ckv, view))
        }
        (before, after) => before.is_some() != after.is_some(),
    }
}

fn shows_same(a: &Content, b: &Content, view: View<'_>) -> bool {
    let (mut a, mut b) = (a.cells.as_slice(), b.cells.as_slice());
    have_same_bytes(a, b, view.store)
        || view.columns.shown().iter().all(|column| {
            let of_a = take_column(&mut a, column.id);
            let of_b = take_column(&mut b, column.id);
            if column.multi_cell {
                have_same_elements(&column.cql_type, of_a, of_b, view.store)
            } else {
                let (a, b) = (of_a.first(), of_b.first());
                let value = |cell| ShownCell::value(cell, view.store);
                is_same_value(&column.cql_type, a.map(value), b.map(value))
            }
        })
}

fn has_same_key(a: Option<Span>, b: Option<Span>, view: View<'_>) -> bool {
    let list = |ckv: Option<Span>| ckv.map_or(&[][..], |ckv| view.store.arena.get(ckv));
    let values = clustering_values(list(a)).zip(clustering_values(list(b)));
    let mut columns = view.columns.clustering.iter().zip(values);
    list(a) == list(b) || columns.all(|(cql_type, (a, b))| is_same_value(cql_type, a, b))
}

/// Whether a reader sees the same value in a single-cell column.
fn is_same_value(cql_type: &CqlType, a: Option<&[u8]>, b: Option<&[u8]>) -> bool {
    let append = |array: &mut dyn arrow_decode::Column| {
        array.append(a)?;
        array.append(b)
    };
    // Skips decoding for text, the most common type: equal texts always have equal bytes.
    a == b || (*cql_type != CqlType::Text && decode_alike(cql_type, append))
}

fn have_same_elements(cql_type: &CqlType, a: &[ShownCell], b: &[ShownCell], store: &Store) -> bool {
    have_same_bytes(a, b, store)
        || decode_alike(cql_type, |array| {
            [a, b].into_iter().try_for_each(|cells| {
                let elements = cells.iter().map(|cell| Element {
                    path: cell.path.map_or(&[], |path| store.arena.get(path)),
                    value: Some(cell.value(store)),
                });
                array.append_elements(&mut elements.collect::<Vec<_>>())
            })
        })
}

/// Whether the two values that `append` appends look alike. A value that cannot be decoded counts
/// as different, so that the output reports its error.
fn decode_alike(
    cql_type: &CqlType,
    append: impl FnOnce(&mut dyn arrow_decode::Column) -> Result<(), Misfit>,
) -> bool {
    let mut array = arrow_decode::column(cql_type, Rendering::Typed);
    append(array.as_mut()).is_ok()
        && array
            .finish()
            .is_ok_and(|array| look_alike(&array.slice(0, 1), &array.slice(1, 1)))
}

/// Whether arrays of the same type look alike. All NaNs look alike; 0.0 and -0.0 do not.
fn look_alike(a: &dyn Array, b: &dyn Array) -> bool {
    let all_rows = |is_same: &dyn Fn(usize) -> bool| {
        a.len() == b.len()
            && (0..a.len()).all(|index| match (a.is_null(index), b.is_null(index)) {
                (false, false) => is_same(index),
                (is_null, is_other_null) => is_null == is_other_null,
            })
    };
    match a.data_type() {
        DataType::Float32 => {
            let float = |array: &dyn Array, index| array.as_primitive::<Float32Type>().value(index);
            all_rows(&|index| is_same_float(float(a, index).into(), float(b, index).into()))
        }
        DataType::Float64 => {
            let float = |array: &dyn Array, index| array.as_primitive::<Float64Type>().value(index);
            all_rows(&|index| is_same_float(float(a, index), float(b, index)))
        }
        DataType::Struct(_) => {
            let mut fields = a.as_struct().columns().iter().zip(b.as_struct().columns());
            all_rows(&|_| true) && fields.all(|(a, b)| look_alike(a, b))
        }
        DataType::List(_) => {
            let list = |array: &dyn Array, index| array.as_list::<i32>().value(index);
            all_rows(&|index| look_alike(&list(a, index), &list(b, index)))
        }
        DataType::Map(..) => {
            let map = |array: &dyn Array, index| array.as_map().value(index);
            all_rows(&|index| look_alike(&map(a, index), &map(b, index)))
        }
        _ => a == b,
    }
}

fn is_same_float(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}
