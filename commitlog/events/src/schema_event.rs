//! Messages of the schema-change topic (`docs/reference/schema-changes.md`): JSON with the members
//! of Debezium's schema changes, one message for each table of a change.

use commitlog_core::cql_type::CqlType;
use commitlog_core::schema::{ChangeKind, Column, ColumnKind, Table, TableChange, column_type};
use serde_json::{Value, json};

use crate::format::EventFormat;
use crate::publisher::skip_reason;
use event_encoding::messages::{ID_HEADER, KIND_HEADER, SOURCE_HEADER, TIME_HEADER};
use event_encoding::partition_hash::kafka_partition_hash;

/// Codes of `java.sql.Types`.
mod jdbc {
    pub const TINYINT: i32 = -6;
    pub const BIGINT: i32 = -5;
    pub const VARBINARY: i32 = -3;
    pub const NUMERIC: i32 = 2;
    pub const DECIMAL: i32 = 3;
    pub const INTEGER: i32 = 4;
    pub const SMALLINT: i32 = 5;
    pub const REAL: i32 = 7;
    pub const DOUBLE: i32 = 8;
    pub const VARCHAR: i32 = 12;
    pub const BOOLEAN: i32 = 16;
    pub const DATE: i32 = 91;
    pub const TIME: i32 = 92;
    pub const TIMESTAMP: i32 = 93;
    pub const OTHER: i32 = 1111;
    pub const STRUCT: i32 = 2002;
    pub const ARRAY: i32 = 2003;
}

/// Where a change was read.
#[derive(Debug, Clone, Default)]
pub struct SchemaOrigin {
    /// File name of the segment; empty for the schema at agent start.
    pub file: String,
    /// `None` for the schema at agent start.
    pub segment_id: Option<i64>,
    /// Logical end position of the record.
    pub position: u64,
    /// The agent's clock, in milliseconds.
    pub now_ms: i64,
}

/// One message of the schema-change topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaMessage {
    pub key: Vec<u8>,
    pub value: Vec<u8>,
    pub headers: [(&'static str, Vec<u8>); 4],
    pub partition_hash: u32,
}

/// Builds the messages of changes, except for tables published neither before nor after them.
pub fn schema_messages(
    changes: &[TableChange],
    format: &EventFormat,
    origin: &SchemaOrigin,
) -> Vec<SchemaMessage> {
    let place = match origin.segment_id {
        Some(id) => format!("{id}/{}", origin.position),
        None => "snapshot/0".to_owned(),
    };
    let is_published = |change: &&TableChange| {
        let tables = change.before.iter().chain([&change.table]);
        let mut reasons = tables.map(|table| skip_reason(table, format));
        reasons.any(|reason| reason.is_none())
    };
    let published = changes.iter().filter(is_published).enumerate();
    let messages = published.map(|(index, change)| {
        let source = format!("{}/{place}/{index}", format.node_id);
        schema_message(change, format, origin, source)
    });
    messages.collect()
}

fn schema_message(
    change: &TableChange,
    format: &EventFormat,
    origin: &SchemaOrigin,
    source: String,
) -> SchemaMessage {
    let table = &*change.table;
    let is_known = change.time_us != i64::MIN;
    let timestamp_us = if is_known {
        change.time_us
    } else {
        origin.now_ms.saturating_mul(1000)
    };
    let epoch = change.statement.as_ref().map(|statement| statement.epoch);
    let key = json!({"databaseName": table.keyspace}).to_string();
    let value = json!({
        "source": {
            "version": format.connector_version,
            "connector": "cassandra",
            "name": format.topic_prefix,
            "ts_ms": timestamp_us.div_euclid(1000),
            "snapshot": if origin.file.is_empty() { "true" } else { "false" },
            "db": table.keyspace,
            "sequence": null,
            "ts_us": timestamp_us,
            "ts_ns": timestamp_us.checked_mul(1000),
            "cluster": format.cluster,
            "file": origin.file,
            "pos": origin.position,
            "keyspace": table.keyspace,
            "table": table.name,
            "epoch": epoch,
        },
        "ts_ms": origin.now_ms,
        "databaseName": table.keyspace,
        "schemaName": null,
        "ddl": change.cql(),
        "tableChanges": [table_change(change)],
    });
    SchemaMessage {
        partition_hash: kafka_partition_hash(key.as_bytes()),
        key: key.into_bytes(),
        value: value.to_string().into_bytes(),
        headers: [
            (ID_HEADER, id(change, epoch).to_vec()),
            (SOURCE_HEADER, source.into_bytes()),
            (TIME_HEADER, timestamp_us.to_string().into_bytes()),
            (KIND_HEADER, b"schema".to_vec()),
        ],
    }
}

/// Computes the first bytes of BLAKE3 over the table id, whether the table is dropped, and the
/// change's epoch or else its write time. Every node receives both from the node that made the
/// change. If neither is known, the definition takes their place.
fn id(change: &TableChange, epoch: Option<i64>) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"schema change");
    hasher.update(&change.table.id.0);
    hasher.update(&[u8::from(change.kind == ChangeKind::Drop)]);
    match epoch {
        Some(epoch) => hasher.update(b"epoch").update(&epoch.to_be_bytes()),
        None if change.time_us != i64::MIN => {
            hasher.update(b"time").update(&change.time_us.to_be_bytes())
        }
        None => hasher
            .update(b"definition")
            .update(table(&change.table).to_string().as_bytes()),
    };
    let mut id = [0; 16];
    hasher.finalize_xof().fill(&mut id);
    id
}

fn table_change(change: &TableChange) -> Value {
    let Table { keyspace, name, .. } = &*change.table;
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    json!({
        "type": match change.kind {
            ChangeKind::Create => "CREATE",
            ChangeKind::Alter => "ALTER",
            ChangeKind::Drop => "DROP",
        },
        "id": format!("{}.{}", quoted(keyspace), quoted(name)),
        "table": match change.kind {
            ChangeKind::Drop => Value::Null,
            _ => table(&change.table),
        },
    })
}

fn table(table: &Table) -> Value {
    let key: Vec<_> = table.key_columns().map(|column| &column.name).collect();
    let columns = table.live_columns().zip(1..);
    let columns: Vec<_> = columns
        .map(|(each, position)| column(each, position))
        .collect();
    json!({
        "defaultCharsetName": null,
        "primaryKeyColumnNames": key,
        "columns": columns,
        "comment": null,
        "attributes": [
            {"name": "id", "value": table.id.to_string()},
            {"name": "cdc", "value": table.cdc.to_string()},
        ],
    })
}

fn column(column: &Column, position: u32) -> Value {
    let type_name = column_type(column);
    let (kind, order) = match column.kind {
        ColumnKind::PartitionKey => ("partition_key", "none"),
        ColumnKind::Clustering if column.reversed => ("clustering", "desc"),
        ColumnKind::Clustering => ("clustering", "asc"),
        ColumnKind::Static => ("static", "none"),
        ColumnKind::Regular => ("regular", "none"),
    };
    let is_key = matches!(
        column.kind,
        ColumnKind::PartitionKey | ColumnKind::Clustering
    );
    json!({
        "name": column.name,
        "jdbcType": jdbc_type(&column.cql_type),
        "nativeType": null,
        "typeName": type_name,
        "typeExpression": type_name,
        "charsetName": null,
        "length": null,
        "scale": null,
        "position": position,
        "optional": !is_key,
        "autoIncremented": false,
        "generated": false,
        "comment": null,
        "defaultValueExpression": null,
        "enumValues": null,
        "kind": kind,
        "clusteringOrder": order,
    })
}

fn jdbc_type(cql_type: &CqlType) -> i32 {
    match cql_type {
        CqlType::Ascii | CqlType::Text => jdbc::VARCHAR,
        CqlType::BigInt | CqlType::Counter => jdbc::BIGINT,
        CqlType::Blob => jdbc::VARBINARY,
        CqlType::Boolean => jdbc::BOOLEAN,
        CqlType::Date => jdbc::DATE,
        CqlType::Decimal => jdbc::DECIMAL,
        CqlType::Double => jdbc::DOUBLE,
        CqlType::Float => jdbc::REAL,
        CqlType::Int => jdbc::INTEGER,
        CqlType::SmallInt => jdbc::SMALLINT,
        CqlType::Time => jdbc::TIME,
        CqlType::Timestamp => jdbc::TIMESTAMP,
        CqlType::TinyInt => jdbc::TINYINT,
        CqlType::VarInt => jdbc::NUMERIC,
        CqlType::List(_) | CqlType::Set(_) | CqlType::Vector(..) => jdbc::ARRAY,
        CqlType::Tuple(_) | CqlType::Udt(_) => jdbc::STRUCT,
        CqlType::Duration
        | CqlType::Empty
        | CqlType::Inet
        | CqlType::TimeUuid
        | CqlType::Uuid
        | CqlType::Map(..)
        | CqlType::Custom(_) => jdbc::OTHER,
    }
}
