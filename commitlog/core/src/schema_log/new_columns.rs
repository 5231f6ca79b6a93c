//! Columns of `system_schema` that are not in the built-in definition, because a later release or a
//! setting adds them.
//!
//! The bytes contain the name of a column but not its type. Values have a fixed or a stored length,
//! so the reader tries each length: only the right length leads to the mutation's exact end.

use std::sync::Arc;

use super::read_change;
use crate::cql_type::CqlType;
use crate::descriptor::Version;
use crate::error::{DecodeError, Result, UnknownColumn};
use crate::mutation::Decoder;
use crate::schema::{Column, ColumnKind, Schema, SchemaChange};

/// One type for each possible length of a value.
const TYPES: [CqlType; 5] = [
    CqlType::Blob,
    CqlType::Boolean,
    CqlType::Int,
    CqlType::BigInt,
    CqlType::Uuid,
];
/// Maximum number of new columns in one mutation.
pub(super) const MOST_COLUMNS: u32 = 4;

/// Reads a mutation that `schema` cannot read because of `error`, with up to `columns_left` more
/// columns.
///
/// # Errors
/// `error` if new columns do not make it readable.
pub(super) fn read_with_new_columns(
    schema: &Schema,
    payload: &[u8],
    version: Version,
    error: Box<DecodeError>,
    columns_left: u32,
) -> Result<Option<SchemaChange>> {
    let (DecodeError::UnknownColumn(unknown), Some(left)) = (&*error, columns_left.checked_sub(1))
    else {
        return Err(error);
    };
    for cql_type in &TYPES {
        let schema = Arc::new(with_column(schema, unknown, cql_type));
        let read = read_change(&mut Decoder::new(Arc::clone(&schema)), payload, version)
            .or_else(|error| read_with_new_columns(&schema, payload, version, error, left));
        if read.is_ok() {
            return read;
        }
    }
    Err(error)
}

fn with_column(schema: &Schema, unknown: &UnknownColumn, cql_type: &CqlType) -> Schema {
    Schema::new(schema.tables().into_iter().map(|table| {
        let mut table = (**table).clone();
        if table.id == unknown.id {
            let (name, kind) = (unknown.column.clone(), ColumnKind::Regular);
            (table.columns).push(Column::new(name, kind, cql_type.clone(), false));
            table.sort_columns();
        }
        table
    }))
}
