//! The schemas of a table as one model, from which Connect's JSON and Avro are written. They extend
//! the schemas of Debezium's connector (`KeyValueSchema`, `CassandraSchemaFactory`).
//!
//! Two differences keep every message readable: all values are optional, even in the exact modes,
//! and so are the values of bounds. In Avro, record names are also unique within a schema, and every
//! column is nullable and defaults to null, so a schema with more or fewer columns reads older
//! messages.

use std::collections::HashMap;

use commitlog_core::cql_type::CqlType;
use commitlog_core::schema::{Column, Table, marshal_name};

use super::cells::{cells, shard_fields};
use super::named::{Dialect, OURS, meaning, ours, uuid};
use crate::format::{EventFormat, Layout};
use crate::table_names::{NAMESPACE, table_namespace};
use crate::value::json::is_string;
use crate::value::{DecimalMode, DurationMode, ValueModes, VarintMode, spelled_name};
use event_encoding::avro_names::{NameAdjustment, unique_name};
use event_encoding::connect::{SNAPSHOT_MARKERS, Schema, Shape};

/// The members of `after` that are not columns.
const RANGES: [&str; 2] = ["_range_start", "_range_end"];

/// Builds one schema of a table.
pub struct TableSchema {
    dialect: Dialect,
    names: NameAdjustment,
    /// The namespace of the table's records.
    namespace: String,
    modes: ValueModes,
    layout: Layout,
    /// The type of each Avro record so far, by full name.
    records: HashMap<String, String>,
}

impl TableSchema {
    /// `table` has its original names, from which schema names derive.
    pub fn new(table: &Table, format: &EventFormat, modes: ValueModes, dialect: Dialect) -> Self {
        let names = match dialect {
            Dialect::Connect => NameAdjustment::None,
            Dialect::Avro => format.names.for_avro(),
        };
        Self {
            dialect,
            names,
            namespace: table_namespace(table, &format.topic_prefix, names),
            modes,
            layout: format.layout,
            records: HashMap::new(),
        }
    }

    /// Builds the schema of keys with these columns, given by their names in it.
    pub fn key<'c>(mut self, columns: impl Iterator<Item = (&'c str, &'c Column)>) -> Schema {
        let fields = columns.filter(|(name, _)| is_field(name));
        let fields = fields.map(|(name, column)| (name, self.of_type(&column.cql_type)));
        Schema::structure(fields.collect()).named(self.in_namespace("Key"))
    }

    /// Builds the schema of values with these columns in `after`, given by their names in it. In
    /// Avro, only `after`, the last field, depends on the columns.
    pub fn value<'c>(
        mut self,
        columns: impl Iterator<Item = (&'c str, &'c Column)>,
        has_cells: bool,
    ) -> Schema {
        // Of two members with the same name, readers see the last one, which is the range.
        let fields = columns.filter(|(name, _)| is_field(name) && !RANGES.contains(name));
        let mut fields: Vec<_> = fields
            .map(|(name, column)| (name, self.cell(name, column)))
            .collect();
        fields.extend(RANGES.map(|name| (name, self.range(name))));
        let after = Schema::structure(fields).named(self.pick("after", "After"));
        let after = ("after", self.versioned(after));
        let cells = has_cells.then(|| ("cells", cells(self.dialect)));
        let mut members = vec![
            ("ts_ms", Schema::new(Shape::Int64)),
            ("op", Schema::new(Shape::String)),
            ("source", self.source()),
        ];
        match self.dialect {
            Dialect::Connect => members.extend([after].into_iter().chain(cells)),
            Dialect::Avro => members.extend(cells.into_iter().chain([after])),
        }
        Schema::structure(members).named(self.in_namespace("Envelope"))
    }

    fn pick<T>(&self, connect: T, avro: T) -> T {
        match self.dialect {
            Dialect::Connect => connect,
            Dialect::Avro => avro,
        }
    }

    fn in_namespace(&self, name: &str) -> String {
        format!("{}.{name}", self.namespace)
    }

    /// Builds the schema of one column in `after`.
    fn cell(&mut self, name: &str, column: &Column) -> Schema {
        let mut fields = vec![
            ("value", self.of_type(&column.cql_type)),
            ("deletion_ts", Schema::new(Shape::Int64).optional()),
            ("set", Schema::new(Shape::Boolean)),
        ];
        let text = || Schema::new(Shape::String);
        let more = match &column.cql_type {
            CqlType::Counter => Some(("shards", self.shard())),
            CqlType::Set(element) if column.multi_cell => Some(("removed", self.of_type(element))),
            // List positions.
            CqlType::List(_) if column.multi_cell => {
                Some(("removed", self.pick(uuid().optional(), text())))
            }
            // The names of fields; Connect's JSON contains them in `value`.
            CqlType::Udt(_) if column.multi_cell && self.dialect == Dialect::Avro => {
                Some(("removed", text()))
            }
            _ => None,
        };
        fields.extend(more.map(|(name, element)| (name, Schema::array(element).optional())));
        let name = match (self.dialect, self.layout) {
            (Dialect::Avro, _) => self.in_namespace(&format!("column.{name}")),
            (Dialect::Connect, Layout::Current { .. }) => "cell_value".to_owned(),
            (Dialect::Connect, Layout::DebeziumV1) => column.name.clone(),
        };
        self.versioned(Schema::structure(fields).named(name))
            .optional()
    }

    /// Sets version 1, except in Avro and in layout 1.x: Debezium 1.x set no version on these
    /// schemas.
    fn versioned(&self, schema: Schema) -> Schema {
        match (self.dialect, self.layout) {
            (Dialect::Connect, Layout::Current { .. }) => schema.versioned(1),
            _ => schema,
        }
    }

    /// Builds the schema of an optional value.
    pub fn of_type(&mut self, ty: &CqlType) -> Schema {
        let schema = match ty {
            CqlType::Ascii | CqlType::Text | CqlType::Inet | CqlType::Empty => {
                Schema::new(Shape::String)
            }
            CqlType::BigInt | CqlType::Counter | CqlType::Time => Schema::new(Shape::Int64),
            CqlType::Blob | CqlType::Custom(_) => Schema::new(Shape::Bytes),
            CqlType::Boolean => Schema::new(Shape::Boolean),
            CqlType::Double => Schema::new(Shape::Double),
            CqlType::Float => Schema::new(Shape::Float),
            CqlType::Int => Schema::new(Shape::Int32),
            CqlType::SmallInt => Schema::new(Shape::Int16),
            CqlType::TinyInt => Schema::new(Shape::Int8),
            CqlType::Date => meaning(Shape::Int32, "io.debezium.time.Date"),
            CqlType::Timestamp => meaning(Shape::Int64, "io.debezium.time.Timestamp"),
            CqlType::Uuid | CqlType::TimeUuid => uuid(),
            CqlType::Decimal => self.decimal(),
            CqlType::VarInt => self.varint(),
            CqlType::Duration => self.duration(),
            CqlType::List(element) | CqlType::Set(element) | CqlType::Vector(element, _) => {
                Schema::array(self.of_type(element))
            }
            CqlType::Map(key, value) => self.map(ty, key, value),
            CqlType::Tuple(fields) => {
                let name = match self.dialect {
                    Dialect::Connect => tuple_name(fields),
                    Dialect::Avro => self.type_name(&spell(ty), ty),
                };
                let fields = fields.iter().zip(1..);
                let fields =
                    fields.map(|(field, number)| (format!("field{number}"), self.of_type(field)));
                Schema::new(Shape::Struct(fields.collect())).named(name)
            }
            CqlType::Udt(user_type) => {
                let keyspace = self.names.adjust(&user_type.keyspace);
                let name = self.record(&keyspace, &self.names.adjust(&user_type.name), ty);
                let fields = user_type.fields.iter();
                let fields =
                    fields.map(|field| (field.name.as_str(), self.of_type(&field.cql_type)));
                Schema::structure(fields.collect()).named(name)
            }
        };
        schema.optional()
    }

    fn decimal(&mut self) -> Schema {
        match self.modes.decimal {
            DecimalMode::Double => Schema::new(Shape::Double),
            DecimalMode::String => Schema::new(Shape::String),
            DecimalMode::Precise => {
                let fields = vec![
                    ("scale", Schema::new(Shape::Int32)),
                    ("value", Schema::new(Shape::Bytes)),
                ];
                let name = self.record(
                    "io.debezium.data",
                    "VariableScaleDecimal",
                    &CqlType::Decimal,
                );
                let decimal = Schema::structure(fields).named(name);
                match self.dialect {
                    Dialect::Connect => decimal.versioned(1).documented("Variable scaled decimal"),
                    Dialect::Avro => decimal,
                }
            }
        }
    }

    fn varint(&self) -> Schema {
        match self.modes.varint {
            VarintMode::Long => Schema::new(Shape::Int64),
            VarintMode::String => Schema::new(Shape::String),
            VarintMode::Precise | VarintMode::Digits => {
                meaning(Shape::Decimal, "org.apache.kafka.connect.data.Decimal")
                    .with_parameter("scale", "0")
            }
        }
    }

    fn duration(&mut self) -> Schema {
        match self.modes.duration {
            DurationMode::Nanos => meaning(Shape::Int64, "io.debezium.time.NanoDuration"),
            DurationMode::String => Schema::new(Shape::String),
            DurationMode::Precise => Schema::structure(vec![
                ("months", Schema::new(Shape::Int32)),
                ("days", Schema::new(Shape::Int32)),
                ("nanoseconds", Schema::new(Shape::Int64)),
            ])
            .named(self.record(OURS, "Duration", &CqlType::Duration)),
        }
    }

    /// Builds an Avro map if the keys are strings, otherwise an array of entries.
    fn map(&mut self, ty: &CqlType, key: &CqlType, value: &CqlType) -> Schema {
        let is_record = self.dialect == Dialect::Avro && !is_string(key, self.modes);
        if is_record {
            let name = self.type_name(&format!("entry_of_{}", spell(ty)), ty);
            let fields = vec![("key", self.of_type(key)), ("value", self.of_type(value))];
            return Schema::array(Schema::structure(fields).named(name));
        }
        let keys = match self.dialect {
            Dialect::Connect => self.of_type(key),
            Dialect::Avro => Schema::new(Shape::String),
        };
        Schema::new(Shape::Map(Box::new(keys), Box::new(self.of_type(value))))
    }

    fn shard(&mut self) -> Schema {
        let name = self.record(OURS, "Shard", &CqlType::Counter);
        Schema::structure(shard_fields()).named(name)
    }

    /// Names an Avro record of a type without a name in CQL.
    fn type_name(&mut self, name: &str, ty: &CqlType) -> String {
        self.record(&self.in_namespace("type"), name, ty)
    }

    /// Returns the full name of a type's record. In Avro, a different type of the same name gets a
    /// suffix.
    fn record(&mut self, namespace: &str, name: &str, ty: &CqlType) -> String {
        let full = |name: &str| format!("{namespace}.{name}");
        if self.dialect == Dialect::Connect {
            return full(name);
        }
        let meaning = format!("{ty:?}");
        let records = &mut self.records;
        let name = full(&unique_name(name, &meaning, |name| {
            let known = records.get(&full(name));
            known.is_none_or(|known| *known == meaning)
        }));
        records.insert(name.clone(), meaning);
        name
    }

    fn source(&self) -> Schema {
        let text = || Schema::new(Shape::String);
        let long = || Schema::new(Shape::Int64);
        let name = self.pick("source".to_owned(), format!("{NAMESPACE}.Source"));
        if self.layout == Layout::DebeziumV1 {
            let version = self.pick(text().optional(), text());
            return Schema::structure(vec![
                ("version", version.clone()),
                ("connector", version),
                ("cluster", text()),
                ("file", text()),
                ("pos", Schema::new(Shape::Int32)),
                ("snapshot", Schema::new(Shape::Boolean)),
                ("keyspace", text()),
                ("table", text()),
                (
                    "ts_micro",
                    meaning(Shape::Int64, "io.debezium.time.MicroTimestamp"),
                ),
            ])
            .named(name);
        }
        let snapshot = meaning(Shape::String, "io.debezium.data.Enum")
            .with_parameter("allowed", SNAPSHOT_MARKERS)
            .with_default("false");
        let mut members = vec![
            ("version", text()),
            ("connector", text()),
            ("name", text()),
            ("ts_ms", long()),
            ("snapshot", snapshot.optional()),
            ("db", text()),
            ("sequence", text().optional()),
            ("ts_us", long().optional()),
            ("ts_ns", long().optional()),
            ("cluster", text()),
            ("file", text()),
            ("pos", Schema::new(Shape::Int32)),
            ("keyspace", text()),
            ("table", text()),
        ];
        if self.layout.has_epoch() {
            members.push(("epoch", long().optional()));
        }
        self.versioned(Schema::structure(members).named(name))
    }

    fn range(&self, name: &str) -> Schema {
        let value = vec![
            ("name", Schema::new(Shape::String)),
            ("value", Schema::new(Shape::String).optional()),
            ("type", Schema::new(Shape::String)),
        ];
        let bound = |values| vec![("method", Schema::new(Shape::String)), ("values", values)];
        let bound = match self.dialect {
            Dialect::Avro => ours(
                "RangeBound",
                bound(Schema::array(ours("RangeValue", value))),
            ),
            Dialect::Connect => {
                let value = Schema::structure(value).named("clustering_value");
                let values = Schema::array(value.versioned(1)).named("clustering_values");
                let bound = Schema::structure(bound(values.versioned(1)));
                bound.named(name).versioned(1)
            }
        };
        bound.optional()
    }
}

/// Connect fields need a name, but columns of compact tables may have none.
fn is_field(name: &str) -> bool {
    !name.is_empty()
}

/// Spells a type as an Avro name, such as `tuple2_int_text`.
fn spell(ty: &CqlType) -> String {
    spelled_name(ty, &|ty| match ty {
        CqlType::Udt(user_type) => Some(NameAdjustment::Avro.adjust(&user_type.name)),
        _ => None,
    })
}

/// Joins the field classes without `Type`, then `Tuple` (`AbstractTupleTypeDeserializer`).
fn tuple_name(fields: &[CqlType]) -> String {
    let mut name = String::new();
    for field in fields {
        let class = marshal_name(field, true, false);
        let class = class.split('(').next().unwrap_or_default();
        let class = class.rsplit('.').next().unwrap_or_default();
        name.push_str(class.strip_suffix("Type").unwrap_or(class));
    }
    name.push_str("Tuple");
    name
}
