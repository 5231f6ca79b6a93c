//! Schemas and bytes that are prepared once for each table written as Avro.

use std::sync::Arc;

use commitlog_core::cql_type::CqlType;
use commitlog_core::schema::{Column, Table};

use super::schema::{AfterField, SchemaWriter};
use crate::format::EventFormat;
use crate::static_fragment::StaticFragment;
use crate::table_names::{adjust_table, columns_of};
use event_encoding::avro::{ConfluentHeader, varint};
use event_encoding::avro_names::NameAdjustment;
use event_encoding::encoding::Encoding;
use event_encoding::schema_ids::{MessagePart, SchemaLanguage, UnregisteredSchema};

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
    /// `shown` is the table with adjusted names; `left_out` marks the excluded [`Table::columns`].
    pub fn new(
        table: &Arc<Table>,
        shown: &Arc<Table>,
        left_out: &[bool],
        topic: &str,
        epoch: Option<i64>,
        format: &EventFormat,
    ) -> Self {
        let adjustment = format.names.for_avro();
        let renamed = match format.names {
            NameAdjustment::None => adjust_table(adjustment, table),
            _ => Arc::clone(shown),
        };
        let fields = after_fields(&renamed, left_out);
        let keys = renamed.partition_key.len() + renamed.clustering.len();
        let key_names: Vec<String> = fields.iter().take(keys).map(|f| f.name.clone()).collect();
        let writer = || SchemaWriter::new(table, &format.topic_prefix, format.modes, adjustment);
        let mut schemas = Vec::new();
        if format.key == Encoding::Avro {
            schemas.push(UnregisteredSchema {
                part: MessagePart::Key,
                topic: topic.to_owned(),
                record: writer().record_name("Key"),
                schema: writer().key(&renamed, &key_names).into(),
                language: SchemaLanguage::Avro,
            });
        }
        if format.value == Encoding::Avro {
            let columns = columns_of(&renamed).zip(&fields);
            let columns = columns.filter(|(_, field)| !field.is_left_out);
            schemas.push(UnregisteredSchema {
                part: MessagePart::Value,
                topic: topic.to_owned(),
                record: writer().record_name("Envelope"),
                schema: writer().value(columns, format.cells, format.layout).into(),
                language: SchemaLanguage::Avro,
            });
        }
        let mut source_table = string(&[&table.keyspace, &table.name]);
        if format.layout.has_epoch() {
            // The union branch: null or a number.
            let (bytes, length) = varint(i64::from(epoch.is_some()));
            source_table.extend_from_slice(bytes.get(..length).unwrap_or_default());
            if let Some(epoch) = epoch {
                let (bytes, length) = varint(epoch);
                source_table.extend_from_slice(bytes.get(..length).unwrap_or_default());
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

/// Encodes strings as Avro, one after the other.
pub fn string(texts: &[&str]) -> Vec<u8> {
    let mut out = Vec::new();
    for text in texts {
        let (bytes, length) = varint(text.len() as i64);
        out.extend_from_slice(bytes.get(..length).unwrap_or_default());
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
