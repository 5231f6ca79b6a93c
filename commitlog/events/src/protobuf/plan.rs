//! Schemas and bytes that are prepared once for each table written as Protobuf.

use std::sync::Arc;

use commitlog_core::schema::Table;
use event_encoding::avro_names::NameAdjustment;
use event_encoding::encoding::Encoding;
use event_encoding::schema_ids::{MessagePart, SchemaLanguage, UnregisteredSchema};

use super::names::distinct;
use super::number::{ProtobufField, numbers};
use super::schema::{RANGES, SchemaWriter};
use super::{MessageBuffer, WireType, field, tag};
use crate::avro::after_fields;
use crate::format::EventFormat;
use crate::table_names::{adjust_table, columns_of};

/// The prepared schemas and bytes of a table.
pub struct ProtobufPlan {
    /// The table with its names in the schemas.
    pub table: Arc<Table>,
    /// The fields of all columns: partition key, clustering, then the others.
    pub fields: Vec<ProtobufField>,
    /// The encoded `col` of [`Table::columns`], for `cells`.
    pub names: Vec<Vec<u8>>,
    /// `cluster` of `source`.
    pub source_cluster: Vec<u8>,
    /// `keyspace`, `table` and, if enabled, `epoch` of `source`.
    pub source_table: Vec<u8>,
    /// `id` of `cells`.
    pub table_id: Vec<u8>,
    /// The schemas of the message parts that are Protobuf.
    pub schemas: Vec<UnregisteredSchema>,
}

impl ProtobufPlan {
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
        let keys = renamed.partition_key.len() + renamed.clustering.len();
        let fields_after = after_fields(&renamed, left_out);
        let writer =
            |outer| SchemaWriter::new(table, &format.topic_prefix, format.modes, adjustment, outer);
        // A column's field number derives from its original name and its type, so that it does not
        // depend on name adjustment.
        let columns = columns_of(table).zip(&fields_after).skip(keys);
        let columns: Vec<_> = columns
            .map(|(column, field)| {
                let ty = writer("Envelope").cell(column, field.has_more);
                let ty = ty.rsplit('.').next().unwrap_or_default().to_owned();
                (column.name.clone(), ty)
            })
            .collect();
        let numbers = (1..).take(keys).chain(numbers(&columns));
        // An excluded column reserves no name.
        let shown_fields = fields_after.iter().zip(columns_of(table));
        let names: Vec<_> = shown_fields
            .filter(|(field, _)| !field.is_left_out)
            .map(|(field, column)| (field.name.as_str(), column.history.first_us))
            .collect();
        let mut names = distinct(&names, &RANGES).into_iter();
        let fields: Vec<_> = fields_after
            .iter()
            .zip(numbers)
            .map(|(field, number)| ProtobufField {
                name: if field.is_left_out {
                    String::new()
                } else {
                    names.next().unwrap_or_default()
                },
                number,
                tag: tag(number, WireType::Length),
                has_more: field.has_more,
            })
            .collect();
        let mut schemas = Vec::new();
        let mut add = |part, writer: SchemaWriter, text: &dyn Fn(SchemaWriter) -> String| {
            schemas.push(UnregisteredSchema {
                part,
                topic: topic.to_owned(),
                record: writer.record_name(),
                schema: text(writer).into(),
                language: SchemaLanguage::Protobuf,
            });
        };
        if format.key == Encoding::Protobuf {
            let names: Vec<String> = fields.iter().take(keys).map(|f| f.name.clone()).collect();
            add(MessagePart::Key, writer("Key"), &|writer| {
                writer.key(&renamed, &names)
            });
        }
        if format.value == Encoding::Protobuf {
            add(MessagePart::Value, writer("Envelope"), &|writer| {
                let columns = columns_of(&renamed).zip(&fields).zip(&fields_after);
                let columns = columns.filter(|(_, field)| !field.is_left_out);
                writer.value(columns.map(|(both, _)| both), format.cells, format.layout)
            });
        }
        let texts = |fields: &[(u32, &str)]| {
            let mut buffer = MessageBuffer::default();
            for (number, text) in fields {
                buffer.text(*number, text.as_bytes());
            }
            buffer.bytes().to_vec()
        };
        let mut source_table = MessageBuffer::default();
        source_table.text(field::source::KEYSPACE, table.keyspace.as_bytes());
        source_table.text(field::source::TABLE, table.name.as_bytes());
        if let Some(epoch) = epoch.filter(|_| format.layout.has_epoch()) {
            source_table.integer(field::source::EPOCH, epoch);
        }
        let source_table = source_table.bytes().to_vec();
        let names = table.columns.iter();
        Self {
            names: names
                .map(|column| texts(&[(field::cell::COL, &column.name)]))
                .collect(),
            source_cluster: texts(&[(field::source::CLUSTER, &format.cluster)]),
            source_table,
            table_id: texts(&[(field::cells::ID, &table.id.to_string())]),
            schemas,
            fields,
            table: renamed,
        }
    }
}

/// Encodes `file` of `source`.
pub(crate) fn source_file(segment: &str) -> Vec<u8> {
    let mut buffer = MessageBuffer::default();
    buffer.text(field::source::FILE, segment.as_bytes());
    buffer.bytes().to_vec()
}

/// Encodes the start of a value, up to `source`.
pub(crate) fn start(now_ms: i64, letter: &str) -> Vec<u8> {
    let mut buffer = MessageBuffer::default();
    buffer.integer(field::TS_MS, now_ms);
    buffer.text(field::OP, letter.as_bytes());
    buffer.bytes().to_vec()
}

/// Encodes the start of `source`.
pub(crate) fn source_start(format: &EventFormat) -> Vec<u8> {
    let mut buffer = MessageBuffer::default();
    buffer.text(field::source::VERSION, format.connector_version.as_bytes());
    buffer.text(field::source::CONNECTOR, b"cassandra");
    if format.layout.is_current() {
        buffer.text(field::source::NAME, format.topic_prefix.as_bytes());
    }
    buffer.bytes().to_vec()
}
