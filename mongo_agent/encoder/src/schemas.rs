//! Builds the schemas of keys and values like Debezium's connector in the layout's release
//! (`MongoDbSchema`, `MongoDbSchemaFactory`, `SchemaFactory`, `MongoDbSourceInfoStructMaker`).
//!
//! Documents are strings, so schemas of collections differ only in their names. Members are in the
//! order in which the layouts write them.

use event_encoding::avro_names::NameAdjustment;
use event_encoding::connect::{SNAPSHOT_MARKERS, Schema, Shape};

use crate::format::{EventFormat, Layout, adjust_path};

/// The kind of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Record {
    Document,
    /// The start or end of a transaction.
    Transaction,
    /// DDL of a collection or a database.
    Ddl,
    Heartbeat,
}

const COMMON: &str = "io.debezium.connector.common";
const STREAM: &str = "io.debezium.connector.mongodb.changestream";

pub(crate) fn key(
    record: Record,
    topic: &str,
    names: NameAdjustment,
    format: &EventFormat,
) -> Schema {
    match record {
        Record::Document | Record::Ddl => {
            structure(vec![("id", text())]).named(of_topic(topic, "Key", names))
        }
        Record::Transaction => {
            let key = structure(vec![("id", text())]);
            since_2(
                key.named(format!("{COMMON}.TransactionMetadataKey")),
                format,
            )
        }
        Record::Heartbeat => {
            let key = structure(vec![("serverName", text())]);
            since_2(key.named(format!("{COMMON}.ServerNameKey")), format)
        }
    }
}

pub(crate) fn value(
    record: Record,
    topic: &str,
    names: NameAdjustment,
    format: &EventFormat,
) -> Schema {
    match record {
        // MongoDB's own connector writes the event as a string.
        Record::Document | Record::Ddl if format.layout == Layout::Native => text(),
        Record::Document => document(topic, names, format),
        Record::Transaction => boundary(format),
        Record::Ddl => structure(vec![
            ("source", source(format)),
            ("operation", text()),
            ("event", json()),
            ("ts_ms", long()),
        ])
        .named(of_topic(topic, "SchemaChange", names)),
        Record::Heartbeat => {
            let value = structure(vec![("ts_ms", long())]);
            since_2(value.named(format!("{COMMON}.Heartbeat")), format)
        }
    }
}

fn document(topic: &str, names: NameAdjustment, format: &EventFormat) -> Schema {
    let images = ["before", "after"].map(|name| (name, json().optional()));
    let of_oplog = ["patch", "filter"].map(|name| (name, json().optional()));
    let [_, after] = images.clone();
    let mut fields = match format.layout {
        Layout::Debezium1 => vec![after],
        _ => images.to_vec(),
    };
    if format.layout != Layout::Debezium3 {
        fields.extend(of_oplog);
    }
    if format.layout != Layout::Debezium1 {
        fields.push(("updateDescription", update_description()));
    }
    fields.extend([
        ("source", source(format)),
        ("op", text().optional()),
        ("ts_ms", long().optional()),
    ]);
    if format.layout == Layout::Debezium3 {
        fields.extend(["ts_us", "ts_ns"].map(|name| (name, long().optional())));
    }
    fields.push(("transaction", part(format)));
    structure(fields).named(of_topic(topic, "Envelope", names))
}

fn update_description() -> Schema {
    let truncated = structure(vec![("field", text()), ("size", int())])
        .named(format!("{STREAM}.truncatedarray"))
        .versioned(1);
    structure(vec![
        ("removedFields", Schema::array(text()).optional()),
        ("updatedFields", json().optional()),
        ("truncatedArrays", Schema::array(truncated).optional()),
    ])
    .named(format!("{STREAM}.updatedescription"))
    .versioned(1)
    .optional()
}

/// The transaction metadata of an event.
fn part(format: &EventFormat) -> Schema {
    let part = structure(vec![
        ("id", text()),
        ("total_order", long()),
        ("data_collection_order", long()),
    ]);
    match format.layout {
        Layout::Debezium1 => part.optional(),
        _ => part.named("event.block").versioned(1).optional(),
    }
}

fn boundary(format: &EventFormat) -> Schema {
    let count = structure(vec![("data_collection", text()), ("event_count", long())]);
    let count = match format.layout {
        Layout::Debezium1 => count,
        _ => count.named("event.collection").versioned(1).optional(),
    };
    let mut fields = vec![
        ("status", text()),
        ("id", text()),
        ("event_count", long().optional()),
        ("data_collections", Schema::array(count).optional()),
    ];
    if format.layout != Layout::Debezium1 {
        fields.push(("ts_ms", long()));
    }
    let value = structure(fields).named(format!("{COMMON}.TransactionMetadataValue"));
    since_2(value, format)
}

fn source(format: &EventFormat) -> Schema {
    let name = "io.debezium.connector.mongo.Source";
    if format.is_first_source {
        return structure(vec![
            ("version", text().optional()),
            ("connector", text().optional()),
            ("name", text()),
            ("rs", text()),
            ("ns", text()),
            ("sec", int()),
            ("ord", int()),
            ("h", long().optional()),
            (
                "initsync",
                Schema::new(Shape::Boolean).optional().with_default(false),
            ),
        ])
        .named(name)
        .versioned(1);
    }
    let snapshot = text()
        .named("io.debezium.data.Enum")
        .versioned(1)
        .with_parameter("allowed", SNAPSHOT_MARKERS)
        .with_default("false")
        .optional();
    let mut fields = vec![
        ("version", text()),
        ("connector", text()),
        ("name", text()),
        ("ts_ms", long()),
        ("snapshot", snapshot),
        ("db", text()),
        ("sequence", text().optional()),
    ];
    if matches!(format.layout, Layout::Debezium3 | Layout::Native) {
        fields.extend(["ts_us", "ts_ns"].map(|name| (name, long().optional())));
    } else {
        fields.push(("rs", text()));
    }
    fields.extend([("collection", text()), ("ord", int())]);
    if format.layout == Layout::Debezium1 {
        fields.extend(["h", "tord"].map(|name| (name, long().optional())));
        fields.push(("stxnid", text().optional()));
    } else {
        fields.push(("lsid", text().optional()));
        fields.push(("txnNumber", long().optional()));
    }
    if matches!(format.layout, Layout::Debezium3 | Layout::Native) {
        fields.push(("wallTime", long().optional()));
    }
    let source = structure(fields).named(name);
    match format.layout {
        Layout::Debezium3 | Layout::Native => source.versioned(1),
        _ => source,
    }
}

/// Adds the version that these schemas carry since release 2.
fn since_2(schema: Schema, format: &EventFormat) -> Schema {
    match format.layout {
        Layout::Debezium1 => schema,
        _ => schema.versioned(1),
    }
}

/// `<topic>.<last>` with adjusted names.
fn of_topic(topic: &str, last: &str, names: NameAdjustment) -> String {
    adjust_path(&format!("{topic}.{last}"), |part| names.adjust(part))
}

fn structure(fields: Vec<(&str, Schema)>) -> Schema {
    Schema::structure(fields)
}

fn text() -> Schema {
    Schema::new(Shape::String)
}

fn json() -> Schema {
    text().named("io.debezium.data.Json").versioned(1)
}

fn long() -> Schema {
    Schema::new(Shape::Int64)
}

fn int() -> Schema {
    Schema::new(Shape::Int32)
}
