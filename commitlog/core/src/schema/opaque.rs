//! Types that are not looked into, because they would take too much memory or stack.
//!
//! User types are shared here, but schemas of events write them out: types that contain the one
//! before them twice double with each level. Of a table that is too large written out, large parts
//! become opaque: their values are published as bytes, like those of classes that CQL has no name
//! for. User types have no fixed length, so such values are delimited alike.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{Column, Table};
use crate::cql_type::{CqlType, UserType, UserTypeField};

/// The class that stands for an opaque type.
pub(super) const OPAQUE: &str = "cdc.sidecar.OpaqueType";
/// Estimated memory of the columns of a table, written out.
const MAX_TABLE_BYTES: u64 = 8 << 20;
/// What user types may take in a table that is too large; the last step leaves none.
const STEPS: [u64; 2] = [64 << 10, 0];
/// Estimated memory of one type or field besides its names.
const NODE_BYTES: u64 = 64;

/// Sizes of user types by their addresses: each is measured once.
type Sizes = FxHashMap<*const UserType, u64>;

/// A type that is not looked into.
pub(super) fn opaque() -> CqlType {
    CqlType::Custom(OPAQUE.to_owned())
}

impl Table {
    /// This table, with opaque types if it is too large written out.
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

    /// Columns with an opaque type.
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

/// The types that a type has as its parts.
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

/// A type whose user types of more than `most` bytes are opaque.
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

/// A user type that is stored field by field, so that only its fields can be opaque.
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
