//! Opaque types, which are not decoded because they would take too much memory or stack.
//!
//! User types are shared here, but event schemas expand them. If each type contains the previous
//! type twice, the size doubles with each level. In a table that is too large when expanded, large
//! types become opaque: their values are published as bytes, like values of classes without a CQL
//! name. User types have no fixed length, so their opaque values are delimited in the same way.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{Column, Table};
use crate::cql_type::{CqlType, UserType};

/// The class name of an opaque type.
pub(super) const OPAQUE: &str = "cdc.sidecar.OpaqueType";
/// Limit of the estimated memory for the expanded columns of a table.
const MAX_TABLE_BYTES: u64 = 8 << 20;
/// Successive size limits for user types in a table that is too large; the last allows none.
const STEPS: [u64; 2] = [64 << 10, 0];
/// Estimated memory of one type or field without its names.
const NODE_BYTES: u64 = 64;

/// Sizes of user types by address, so that each type is measured once.
type Sizes = FxHashMap<*const UserType, u64>;

/// Returns an opaque type.
pub(super) fn opaque() -> CqlType {
    CqlType::Custom(OPAQUE.to_owned())
}

impl Table {
    /// Makes types opaque if the expanded table is too large.
    #[must_use]
    pub(super) fn bounded(mut self) -> Self {
        for step in STEPS {
            let mut sizes = Sizes::default();
            if self.written_bytes(&mut sizes) <= MAX_TABLE_BYTES {
                break;
            }
            for column in self.all_columns_mut() {
                // A multi-cell user type is stored field by field.
                column.cql_type = match &column.cql_type {
                    CqlType::Udt(_) if column.multi_cell => {
                        (column.cql_type).map_parts(|field| bounded(field, step, &mut sizes))
                    }
                    other => bounded(other, step, &mut sizes),
                };
            }
        }
        self
    }

    /// Returns the columns with an opaque type.
    pub fn opaque_columns(&self) -> impl Iterator<Item = &Column> {
        self.all_columns()
            .filter(|column| has_opaque(&column.cql_type))
    }

    fn written_bytes(&self, sizes: &mut Sizes) -> u64 {
        self.all_columns().fold(0, |sum: u64, column| {
            sum.saturating_add(written_bytes(&column.cql_type, sizes))
                .saturating_add(column.name.len() as u64)
        })
    }
}

fn written_bytes(cql_type: &CqlType, sizes: &mut Sizes) -> u64 {
    let mut own = NODE_BYTES;
    if let CqlType::Udt(user_type) = cql_type {
        if let Some(size) = sizes.get(&Arc::as_ptr(user_type)) {
            return *size;
        }
        let names = user_type.fields.iter().map(|field| field.name.len() as u64);
        own += user_type.name.len() as u64 + names.sum::<u64>();
    }
    let size = cql_type.parts().into_iter().fold(own, |sum, part| {
        sum.saturating_add(written_bytes(part, sizes))
    });
    if let CqlType::Udt(user_type) = cql_type {
        sizes.insert(Arc::as_ptr(user_type), size);
    }
    size
}

/// Makes user types of more than `most` bytes opaque.
fn bounded(cql_type: &CqlType, most: u64, sizes: &mut Sizes) -> CqlType {
    match cql_type {
        CqlType::Udt(_) if written_bytes(cql_type, sizes) > most => opaque(),
        CqlType::Udt(_) => cql_type.clone(),
        other => other.map_parts(|part| bounded(part, most, sizes)),
    }
}

fn has_opaque(cql_type: &CqlType) -> bool {
    matches!(cql_type, CqlType::Custom(class) if class == OPAQUE)
        || cql_type.parts().into_iter().any(has_opaque)
}
