//! Schemas and bytes that are prepared once for each table written as Avro.

use std::sync::Arc;

use commitlog_core::cql_type::CqlType;
use commitlog_core::schema::{Column, Table};

use crate::connect::{Dialect, TableSchema};
use crate::format::EventFormat;
use crate::static_fragment::StaticFragment;
use crate::table_names::{adjust_table, columns_of};
use event_encoding::avro::{ConfluentHeader, varint};
use event_encoding::connect::Schema;
use event_encoding::encoding::Encoding;
use event_encoding::schema_ids::{MessagePart, SchemaLanguage, UnregisteredSchema};

/// A column as a field of `after`.
#[derive(Debug, Clone)]
pub struct AfterField {
    /// Unique among the fields, even if a column was dropped and re-added with a different type.
    pub name: String,
    /// Whether the record contains `removed` or `shards`.
    pub has_more: bool,
    /// Whether the column is excluded, so that the schema has no such field.
    pub is_left_out: bool,
}

/// The prepared schemas and bytes of a table.
pub struct AvroPlan {
    /// The table with its names in the schemas.
    pub table: Arc<Table>,
    /// The fields of all columns: partition key, clustering, then the others.
    pub fields: Vec<AfterField>,
    /// The names of [`Table::columns`], encoded for `cells`.
    pub names: Vec<StaticFragment>,
    /// `cluster` of `source`.
    pub source_cluster: Vec<u8>,
    /// `keyspace`, `table` and, if enabled, `epoch` of `source`.
    pub source_table: StaticFragment<64>,
    /// `id` of `cells`.
    pub table_id: StaticFragment<64>,
    /// The schemas of the message parts that are Avro.
    pub schemas: Vec<UnregisteredSchema>,
}

/// The Confluent headers of a key and a value.
#[derive(Debug, Clone, Copy, Default)]
pub struct ConfluentHeaders {
    pub key: ConfluentHeader,
    pub value: ConfluentHeader,
}

impl AvroPlan {
    /// `left_out` marks the excluded [`Table::columns`].
    pub fn new(
        table: &Arc<Table>,
        left_out: &[bool],
        topic: &str,
        epoch: Option<i64>,
        format: &EventFormat,
    ) -> Self {
        let renamed = adjust_table(format.names.for_avro(), table);
        let fields = after_fields(&renamed, left_out);
        let keys = renamed.partition_key.len() + renamed.clustering.len();
        let schema = || TableSchema::new(table, format, format.modes, Dialect::Avro);
        let columns = || {
            let columns = columns_of(&renamed).zip(&fields);
            let columns = columns.filter(|(_, field)| !field.is_left_out);
            columns.map(|(column, field)| (field.name.as_str(), column))
        };
        let unregistered = |part, schema: Schema| UnregisteredSchema {
            part,
            topic: topic.to_owned(),
            record: schema.name().to_owned(),
            schema: schema.plain_avro().to_string().into(),
            language: SchemaLanguage::Avro,
        };
        let mut schemas = Vec::new();
        if format.key == Encoding::Avro {
            let schema = schema().key(columns().take(keys));
            schemas.push(unregistered(MessagePart::Key, schema));
        }
        if format.value == Encoding::Avro {
            let schema = schema().value(columns(), format.cells);
            schemas.push(unregistered(MessagePart::Value, schema));
        }
        let mut source_table = string(&[&table.keyspace, &table.name]);
        if format.layout.has_epoch() {
            // The union branch: null or a number.
            push_varint(&mut source_table, i64::from(epoch.is_some()));
            if let Some(epoch) = epoch {
                push_varint(&mut source_table, epoch);
            }
        }
        let names = table
            .columns
            .iter()
            .map(|column| string(&[&column.name]).into());
        Self {
            names: names.collect(),
            source_cluster: string(&[&format.cluster]),
            source_table: source_table.into(),
            table_id: string(&[&table.id.to_string()]).into(),
            schemas,
            fields,
            table: renamed,
        }
    }
}

fn push_varint(out: &mut Vec<u8>, number: i64) {
    let (bytes, length) = varint(number);
    out.extend_from_slice(bytes.get(..length).unwrap_or_default());
}

/// Encodes strings as Avro, one after the other.
pub fn string(texts: &[&str]) -> Vec<u8> {
    let mut out = Vec::new();
    for text in texts {
        push_varint(&mut out, text.len() as i64);
        out.extend_from_slice(text.as_bytes());
    }
    out
}

pub(crate) fn after_fields(table: &Table, left_out: &[bool]) -> Vec<AfterField> {
    let keys = table.partition_key.len() + table.clustering.len();
    let mut taken = vec!["_range_start".to_owned(), "_range_end".to_owned()];
    let mut fields: Vec<_> = columns_of(table)
        .enumerate()
        .map(|(index, column)| AfterField {
            name: String::new(),
            has_more: has_more(column),
            is_left_out: index
                .checked_sub(keys)
                .and_then(|index| left_out.get(index).copied())
                .unwrap_or(false),
        })
        .collect();
    // The existing column keeps the name; dropped versions get a hash of name and type as a suffix.
    for is_dropped in [false, true] {
        for (column, field) in columns_of(table).zip(&mut fields) {
            if column.dropped_at_us.is_some() == is_dropped && !field.is_left_out {
                let original = format!("{} {:?}", column.name, column.cql_type);
                let is_free = |name: &str| !taken.iter().any(|taken| taken == name);
                field.name =
                    event_encoding::avro_names::unique_name(&column.name, &original, is_free);
                taken.push(field.name.clone());
            }
        }
    }
    fields
}

fn has_more(column: &Column) -> bool {
    match &column.cql_type {
        CqlType::Counter => true,
        CqlType::List(_) | CqlType::Set(_) | CqlType::Udt(_) => column.multi_cell,
        _ => false,
    }
}
