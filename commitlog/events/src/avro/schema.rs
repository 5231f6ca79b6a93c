//! The Avro schemas of a table, as JSON.
//!
//! Record names are unique within a schema, and a repeated type is a reference. Every column is
//! nullable and defaults to null, so a schema with more or fewer columns reads older messages.
//! `connect.name` contains the semantic type of a member, as in schemas that Confluent's converter
//! creates for Debezium.

use commitlog_core::cql_type::CqlType;
use commitlog_core::schema::{Column, Table};
use serde_json::{Value, json};

use crate::format::Layout;
use crate::value::json::is_string;
use crate::value::{DecimalMode, DurationMode, ValueModes, VarintMode, cql_name};
use event_encoding::avro_names::{NameAdjustment, unique_name};
use event_encoding::connect::SNAPSHOT_MARKERS;

/// Namespace of records that are the same for all tables and that Debezium does not define.
const OURS: &str = "cdc_sidecar";
/// The precision that Connect's converter declares for decimals.
const CONNECT_PRECISION: u32 = 64;

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

/// Writes one schema, and tracks the names and types of its records.
pub struct SchemaWriter {
    modes: ValueModes,
    names: NameAdjustment,
    /// The namespace of the table's records.
    namespace: String,
    taken: Vec<(String, String)>,
}

impl SchemaWriter {
    /// `table` has its original names.
    pub fn new(table: &Table, prefix: &str, modes: ValueModes, names: NameAdjustment) -> Self {
        let parts = [
            "io.debezium.connector.cassandra",
            prefix,
            &table.keyspace,
            &table.name,
        ];
        let parts: Vec<String> = parts
            .iter()
            .flat_map(|part| part.split('.'))
            .map(|part| names.adjust(part))
            .collect();
        Self {
            modes,
            names,
            namespace: parts.join("."),
            taken: Vec::new(),
        }
    }

    /// Returns the full name of a record in the table's namespace.
    pub fn record_name(&self, name: &str) -> String {
        format!("{}.{name}", self.namespace)
    }

    /// Writes the key schema; `fields` contains the names of the key columns.
    pub fn key(mut self, table: &Table, fields: &[String]) -> String {
        let columns = table.partition_key.iter().chain(&table.clustering);
        let fields: Vec<Value> = columns
            .zip(fields)
            .map(|(column, name)| optional(name, self.of_type(&column.cql_type)))
            .collect();
        json!({"type": "record", "name": "Key", "namespace": self.namespace, "fields": fields})
            .to_string()
    }

    /// Writes the value schema. Only `after`, the last field, depends on the columns.
    pub fn value<'c>(
        mut self,
        columns: impl Iterator<Item = (&'c Column, &'c AfterField)>,
        has_cells: bool,
        layout: Layout,
    ) -> String {
        let mut fields = vec![
            json!({"name": "ts_ms", "type": "long"}),
            json!({"name": "op", "type": "string"}),
            json!({"name": "source", "type": source(layout)}),
        ];
        if has_cells {
            fields.push(optional("cells", cells()));
        }
        let mut after: Vec<Value> = columns
            .map(|(column, field)| {
                let cell = self.cell(column, field);
                optional(&field.name, cell)
            })
            .collect();
        after.push(optional("_range_start", range_bound()));
        after.push(optional("_range_end", json!(format!("{OURS}.RangeBound"))));
        let after = json!({"type": "record", "name": "After", "fields": after});
        fields.push(json!({"name": "after", "type": after}));
        json!({
            "type": "record", "name": "Envelope", "namespace": self.namespace, "fields": fields,
        })
        .to_string()
    }

    /// Builds the schema of one column in `after`.
    fn cell(&mut self, column: &Column, field: &AfterField) -> Value {
        let mut fields = vec![
            optional("value", self.of_type(&column.cql_type)),
            optional("deletion_ts", json!("long")),
            json!({"name": "set", "type": "boolean"}),
        ];
        if field.has_more {
            fields.push(match &column.cql_type {
                CqlType::Counter => optional("shards", array(self.shard())),
                CqlType::Set(element) => {
                    let element = self.of_type(element);
                    optional("removed", array(nullable(element)))
                }
                // The positions of a list, or the field names of a user type.
                _ => optional("removed", array(json!("string"))),
            });
        }
        json!({
            "type": "record", "name": field.name, "namespace": format!("{}.column", self.namespace),
            "fields": fields,
        })
    }

    fn of_type(&mut self, ty: &CqlType) -> Value {
        match ty {
            CqlType::Ascii | CqlType::Text | CqlType::Inet | CqlType::Empty => json!("string"),
            CqlType::BigInt | CqlType::Counter | CqlType::Time => json!("long"),
            CqlType::Blob | CqlType::Custom(_) => json!("bytes"),
            CqlType::Boolean => json!("boolean"),
            CqlType::Double => json!("double"),
            CqlType::Float => json!("float"),
            CqlType::Int => json!("int"),
            CqlType::SmallInt => json!({"type": "int", "connect.type": "int16"}),
            CqlType::TinyInt => json!({"type": "int", "connect.type": "int8"}),
            CqlType::Date => meaning("int", "io.debezium.time.Date"),
            CqlType::Timestamp => meaning("long", "io.debezium.time.Timestamp"),
            CqlType::Uuid | CqlType::TimeUuid => meaning("string", "io.debezium.data.Uuid"),
            CqlType::Decimal => self.decimal(),
            CqlType::VarInt => self.varint(),
            CqlType::Duration => self.duration(),
            CqlType::List(element) | CqlType::Set(element) | CqlType::Vector(element, _) => {
                let element = self.of_type(element);
                array(nullable(element))
            }
            CqlType::Map(key, value) => self.map(ty, key, value),
            CqlType::Tuple(fields) => {
                let names = (1..=fields.len()).map(|number| format!("field{number}"));
                let fields: Vec<_> = names.zip(fields).collect();
                let namespace = format!("{}.type", self.namespace);
                self.record(&namespace, &spell(ty), ty, |writer| {
                    let fields = fields.into_iter();
                    fields
                        .map(|(name, field)| optional(&name, writer.of_type(field)))
                        .collect()
                })
            }
            CqlType::Udt(user_type) => {
                let namespace = self.names.adjust(&user_type.keyspace);
                let name = self.names.adjust(&user_type.name);
                self.record(&namespace, &name, ty, |writer| {
                    let fields = user_type.fields.iter();
                    fields
                        .map(|field| optional(&field.name, writer.of_type(&field.cql_type)))
                        .collect()
                })
            }
        }
    }

    fn decimal(&mut self) -> Value {
        match self.modes.decimal {
            DecimalMode::Double => json!("double"),
            DecimalMode::String => json!("string"),
            DecimalMode::Precise => self.record(
                "io.debezium.data",
                "VariableScaleDecimal",
                &CqlType::Decimal,
                |_| {
                    vec![
                        json!({"name": "scale", "type": "int"}),
                        json!({"name": "value", "type": "bytes"}),
                    ]
                },
            ),
        }
    }

    fn varint(&self) -> Value {
        match self.modes.varint {
            VarintMode::Long => json!("long"),
            VarintMode::String => json!("string"),
            VarintMode::Precise | VarintMode::Digits => json!({
                "type": "bytes", "scale": 0, "precision": CONNECT_PRECISION, "connect.version": 1,
                "connect.parameters": {"scale": "0"},
                "connect.name": "org.apache.kafka.connect.data.Decimal", "logicalType": "decimal",
            }),
        }
    }

    fn duration(&mut self) -> Value {
        match self.modes.duration {
            DurationMode::Nanos => meaning("long", "io.debezium.time.NanoDuration"),
            DurationMode::String => json!("string"),
            DurationMode::Precise => self.record(OURS, "Duration", &CqlType::Duration, |_| {
                vec![
                    json!({"name": "months", "type": "int"}),
                    json!({"name": "days", "type": "int"}),
                    json!({"name": "nanoseconds", "type": "long"}),
                ]
            }),
        }
    }

    /// Builds an Avro map if the keys are strings, otherwise an array of entries.
    fn map(&mut self, ty: &CqlType, key: &CqlType, value: &CqlType) -> Value {
        if is_string(key, self.modes) {
            let value = self.of_type(value);
            return json!({"type": "map", "values": nullable(value)});
        }
        let namespace = format!("{}.type", self.namespace);
        array(self.record(
            &namespace,
            &format!("entry_of_{}", spell(ty)),
            ty,
            |writer| {
                let key = optional("key", writer.of_type(key));
                vec![key, optional("value", writer.of_type(value))]
            },
        ))
    }

    fn shard(&mut self) -> Value {
        self.record(OURS, "Shard", &CqlType::Counter, |_| {
            vec![
                json!({"name": "id", "type": meaning("string", "io.debezium.data.Uuid")}),
                json!({"name": "clock", "type": "long"}),
                json!({"name": "count", "type": "long"}),
                optional("kind", json!("string")),
                optional("delta", json!("long")),
                optional("since", json!("long")),
            ]
        })
    }

    /// Declares a record, or references it if it is already declared. A different type of the same
    /// name gets a suffix.
    fn record(
        &mut self,
        namespace: &str,
        name: &str,
        ty: &CqlType,
        fields: impl FnOnce(&mut Self) -> Vec<Value>,
    ) -> Value {
        let meaning = format!("{ty:?}");
        let full = |name: &str| format!("{namespace}.{name}");
        let name = unique_name(name, &meaning, |name| {
            let taken = self.taken.iter().find(|(taken, _)| *taken == full(name));
            taken.is_none_or(|(_, known)| *known == meaning)
        });
        let full = full(&name);
        if self.taken.iter().any(|(taken, _)| *taken == full) {
            return json!(full);
        }
        self.taken.push((full, meaning));
        let fields = fields(self);
        json!({"type": "record", "name": name, "namespace": namespace, "fields": fields})
    }
}

fn nullable(schema: Value) -> Value {
    Value::Array(vec![Value::from("null"), schema])
}

fn optional(name: &str, schema: Value) -> Value {
    json!({"name": name, "type": nullable(schema), "default": null})
}

fn array(items: Value) -> Value {
    let members = [
        ("type".to_owned(), Value::from("array")),
        ("items".to_owned(), items),
    ];
    Value::Object(members.into_iter().collect())
}

/// Annotates a type with one of Debezium's semantic types.
fn meaning(ty: &str, name: &str) -> Value {
    json!({"type": ty, "connect.version": 1, "connect.name": name})
}

/// Spells a type as an Avro name, such as `tuple2_int_text`.
fn spell(ty: &CqlType) -> String {
    let join = |name: String, types: &[&CqlType]| {
        let types = types.iter().map(|ty| spell(ty));
        std::iter::once(name)
            .chain(types)
            .collect::<Vec<_>>()
            .join("_")
    };
    match ty {
        CqlType::List(element) => join("list".to_owned(), &[element]),
        CqlType::Set(element) => join("set".to_owned(), &[element]),
        CqlType::Map(key, value) => join("map".to_owned(), &[key, value]),
        CqlType::Tuple(fields) => join(
            format!("tuple{}", fields.len()),
            &fields.iter().collect::<Vec<_>>(),
        ),
        CqlType::Vector(element, dimension) => join(format!("vector{dimension}"), &[element]),
        CqlType::Udt(user_type) => NameAdjustment::Avro.adjust(&user_type.name),
        CqlType::Custom(_) => "custom".to_owned(),
        _ => cql_name(ty),
    }
}

fn source(layout: Layout) -> Value {
    if layout == Layout::DebeziumV1 {
        return source_of_v1();
    }
    let mut source = source_of_v3();
    let fields = source.get_mut("fields").and_then(Value::as_array_mut);
    if let Some(fields) = fields.filter(|_| layout.has_epoch()) {
        fields.push(optional("epoch", json!("long")));
    }
    source
}

fn source_of_v3() -> Value {
    let snapshot = json!({
        "type": "string", "connect.version": 1, "connect.parameters": {"allowed": SNAPSHOT_MARKERS},
        "connect.default": "false", "connect.name": "io.debezium.data.Enum",
    });
    json!({
        "type": "record", "name": "Source", "namespace": "io.debezium.connector.cassandra",
        "fields": [
            {"name": "version", "type": "string"},
            {"name": "connector", "type": "string"},
            {"name": "name", "type": "string"},
            {"name": "ts_ms", "type": "long"},
            {"name": "snapshot", "type": [snapshot, "null"], "default": "false"},
            {"name": "db", "type": "string"},
            optional("sequence", json!("string")),
            optional("ts_us", json!("long")),
            optional("ts_ns", json!("long")),
            {"name": "cluster", "type": "string"},
            {"name": "file", "type": "string"},
            {"name": "pos", "type": "int"},
            {"name": "keyspace", "type": "string"},
            {"name": "table", "type": "string"},
        ],
    })
}

fn source_of_v1() -> Value {
    json!({
        "type": "record", "name": "Source", "namespace": "io.debezium.connector.cassandra",
        "fields": [
            {"name": "version", "type": "string"},
            {"name": "connector", "type": "string"},
            {"name": "cluster", "type": "string"},
            {"name": "file", "type": "string"},
            {"name": "pos", "type": "int"},
            {"name": "snapshot", "type": "boolean"},
            {"name": "keyspace", "type": "string"},
            {"name": "table", "type": "string"},
            {"name": "ts_micro", "type": meaning("long", "io.debezium.time.MicroTimestamp")},
        ],
    })
}

fn range_bound() -> Value {
    let value = json!({
        "type": "record", "name": "RangeValue", "namespace": OURS,
        "fields": [
            {"name": "name", "type": "string"},
            optional("value", json!("string")),
            {"name": "type", "type": "string"},
        ],
    });
    json!({
        "type": "record", "name": "RangeBound", "namespace": OURS,
        "fields": [{"name": "method", "type": "string"}, {"name": "values", "type": array(value)}],
    })
}

fn cells() -> Value {
    let times = |name: &str, more: &[Value]| {
        let mut fields = vec![json!({"name": "ts", "type": "long"})];
        fields.extend_from_slice(more);
        fields.push(optional("ldt", json!("long")));
        json!({"type": "record", "name": name, "namespace": OURS, "fields": fields})
    };
    let ttl = optional("ttl", json!("int"));
    let bytes = |name: &str| optional(name, json!("bytes"));
    let column = json!({"name": "col", "type": "string"});
    let deletion = json!({
        "type": "record", "name": "CollectionDeletion", "namespace": OURS,
        "fields": [column, {"name": "ts", "type": "long"}, optional("ldt", json!("long"))],
    });
    let cell = json!({
        "type": "record", "name": "Cell", "namespace": OURS,
        "fields": [
            column, bytes("path"), bytes("key"), {"name": "ts", "type": "long"}, ttl,
            optional("ldt", json!("long")), bytes("val"),
        ],
    });
    json!({
        "type": "record", "name": "Cells", "namespace": OURS,
        "fields": [
            {"name": "kind", "type": "string"},
            {"name": "id", "type": meaning("string", "io.debezium.data.Uuid")},
            {"name": "pk", "type": "bytes"},
            {"name": "token", "type": "long"},
            bytes("ck"),
            optional("ckv", array(nullable(json!("bytes")))),
            bytes("lo"),
            bytes("hi"),
            optional("live", times("Liveness", std::slice::from_ref(&ttl))),
            optional("del", times("Deletion", &[])),
            optional("cdel", array(deletion)),
            optional("cell", array(cell)),
        ],
    })
}
