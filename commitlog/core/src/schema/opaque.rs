//! Opaque types, which are not decoded because they would take too much memory or stack.
//!
//! User types are shared here, but event schemas expand them. If each type contains the previous
//! type twice, the size doubles with each level. In a table that is too large when expanded, large
//! types become opaque: their values are published as bytes, like values of classes without a CQL
//! name. User types have no fixed length, so their opaque values are delimited in the same way.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{Column, Table};
use crate::cql_type::{CqlType, UserType, UserTypeField};

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
            let keys = self.partition_key.iter_mut().chain(&mut self.clustering);
            for column in keys.chain(&mut self.columns) {
                column.cql_type = match &column.cql_type {
                    CqlType::Udt(whole) if column.multi_cell => {
                        with_fields(whole, step, &mut sizes)
                    }
                    other => bounded(other, step, &mut sizes),
                };
            }
        }
        self
    }

    /// Returns the columns with an opaque type.
    pub fn opaque_columns(&self) -> impl Iterator<Item = &Column> {
        let columns = self.key_columns().chain(&self.columns);
        columns.filter(|column| has_opaque(&column.cql_type))
    }

    fn written_bytes(&self, sizes: &mut Sizes) -> u64 {
        let columns = self.key_columns().chain(&self.columns);
        columns.fold(0, |sum: u64, column| {
            sum.saturating_add(written_bytes(&column.cql_type, sizes))
                .saturating_add(column.name.len() as u64)
        })
    }
}

fn written_bytes(cql_type: &CqlType, sizes: &mut Sizes) -> u64 {
    if let CqlType::Udt(user_type) = cql_type {
        let address = Arc::as_ptr(user_type);
        if let Some(size) = sizes.get(&address) {
            return *size;
        }
        let names = user_type.fields.iter().map(|field| field.name.len() as u64);
        let own = NODE_BYTES + user_type.name.len() as u64 + names.sum::<u64>();
        let size = inner(cql_type).fold(own, |sum, element| {
            sum.saturating_add(written_bytes(element, sizes))
        });
        sizes.insert(address, size);
        return size;
    }
    inner(cql_type).fold(NODE_BYTES, |sum, element| {
        sum.saturating_add(written_bytes(element, sizes))
    })
}

/// Returns the types that a type contains directly.
fn inner(cql_type: &CqlType) -> Box<dyn Iterator<Item = &CqlType> + '_> {
    match cql_type {
        CqlType::List(element) | CqlType::Set(element) | CqlType::Vector(element, _) => {
            Box::new(std::iter::once(&**element))
        }
        CqlType::Map(key, value) => Box::new([&**key, &**value].into_iter()),
        CqlType::Tuple(elements) => Box::new(elements.iter()),
        CqlType::Udt(user_type) => Box::new(user_type.fields.iter().map(|field| &field.cql_type)),
        _ => Box::new(std::iter::empty()),
    }
}

/// Makes user types of more than `most` bytes opaque.
fn bounded(cql_type: &CqlType, most: u64, sizes: &mut Sizes) -> CqlType {
    let mut boxed = |element: &CqlType| Box::new(bounded(element, most, sizes));
    match cql_type {
        CqlType::List(element) => CqlType::List(boxed(element)),
        CqlType::Set(element) => CqlType::Set(boxed(element)),
        CqlType::Vector(element, dimension) => CqlType::Vector(boxed(element), *dimension),
        CqlType::Map(key, value) => CqlType::Map(boxed(key), boxed(value)),
        CqlType::Tuple(elements) => {
            CqlType::Tuple(elements.iter().map(|element| *boxed(element)).collect())
        }
        CqlType::Udt(_) if written_bytes(cql_type, sizes) > most => opaque(),
        other => other.clone(),
    }
}

/// Makes only the fields of a user type opaque, because it is stored field by field.
fn with_fields(whole: &UserType, most: u64, sizes: &mut Sizes) -> CqlType {
    let fields = whole.fields.iter().map(|field| UserTypeField {
        name: field.name.clone(),
        cql_type: bounded(&field.cql_type, most, sizes),
    });
    CqlType::Udt(Arc::new(UserType {
        keyspace: whole.keyspace.clone(),
        name: whole.name.clone(),
        fields: fields.collect(),
    }))
}

fn has_opaque(cql_type: &CqlType) -> bool {
    matches!(cql_type, CqlType::Custom(class) if class == OPAQUE) || inner(cql_type).any(has_opaque)
}
