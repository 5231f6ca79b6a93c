//! Adjusts the names of columns and fields for Avro.

use std::sync::Arc;

use commitlog_core::cql_type::{CqlType, UserType, UserTypeField};
use commitlog_core::schema::{Column, Table};
use event_encoding::avro_names::NameAdjustment;

/// Adjusts the names of a table's columns and of the fields of its user types.
pub fn adjust_table(names: NameAdjustment, table: &Arc<Table>) -> Arc<Table> {
    if names == NameAdjustment::None {
        return Arc::clone(table);
    }
    let mut renamed = Table::clone(table);
    let mut originals: Vec<(String, i64)> = Vec::new();
    for column in columns_mut(&mut renamed) {
        let first_us = column.history.first_us;
        // Versions of one column share its name.
        match originals.iter_mut().find(|(name, _)| *name == column.name) {
            Some((_, known_us)) => *known_us = first_us.min(*known_us),
            None => originals.push((column.name.clone(), first_us)),
        }
    }
    let ages: Vec<_> = originals
        .iter()
        .map(|(name, age)| (name.as_str(), *age))
        .collect();
    let adjusted = names.adjust_unique(&ages);
    for column in columns_mut(&mut renamed) {
        let index = originals.iter().position(|(name, _)| *name == column.name);
        if let Some(name) = index.and_then(|index| adjusted.get(index)) {
            column.name.clone_from(name);
        }
        column.cql_type = adjust_type(names, &column.cql_type);
    }
    Arc::new(renamed)
}

/// Returns column and name in events for each column that gets a suffix in events because an older
/// column already uses its name.
pub fn suffixed_columns(names: NameAdjustment, table: &Arc<Table>) -> Vec<(String, String)> {
    let renamed = adjust_table(names, table);
    let columns = columns_of(table).zip(columns_of(&renamed));
    columns
        .filter(|(column, shown)| {
            column.dropped_at_us.is_none() && names.adjust(&column.name) != shown.name
        })
        .map(|(column, shown)| (column.name.clone(), shown.name.clone()))
        .collect()
}

fn adjust_type(names: NameAdjustment, ty: &CqlType) -> CqlType {
    let inner = |ty: &CqlType| Box::new(adjust_type(names, ty));
    match ty {
        CqlType::List(element) => CqlType::List(inner(element)),
        CqlType::Set(element) => CqlType::Set(inner(element)),
        CqlType::Map(key, value) => CqlType::Map(inner(key), inner(value)),
        CqlType::Vector(element, dimension) => CqlType::Vector(inner(element), *dimension),
        CqlType::Tuple(fields) => CqlType::Tuple(
            fields
                .iter()
                .map(|field| adjust_type(names, field))
                .collect(),
        ),
        CqlType::Udt(user_type) => CqlType::Udt(Arc::new(adjust_user_type(names, user_type))),
        _ => ty.clone(),
    }
}

fn adjust_user_type(names: NameAdjustment, user_type: &UserType) -> UserType {
    // New fields are appended, so the index orders fields by age.
    let originals: Vec<_> = user_type
        .fields
        .iter()
        .map(|f| f.name.as_str())
        .zip(0..)
        .collect();
    let fields = user_type.fields.iter().zip(names.adjust_unique(&originals));
    UserType {
        keyspace: user_type.keyspace.clone(),
        name: user_type.name.clone(),
        fields: fields
            .map(|(field, name)| UserTypeField {
                name,
                cql_type: adjust_type(names, &field.cql_type),
            })
            .collect(),
    }
}

fn columns_mut(table: &mut Table) -> impl Iterator<Item = &mut Column> {
    let keys = table.partition_key.iter_mut().chain(&mut table.clustering);
    keys.chain(&mut table.columns)
}

pub(crate) fn columns_of(table: &Table) -> impl Iterator<Item = &Column> {
    let keys = table.partition_key.iter().chain(&table.clustering);
    keys.chain(&table.columns)
}
