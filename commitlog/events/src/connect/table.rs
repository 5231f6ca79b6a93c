//! The Connect schemas of a table, which extend the schemas of Debezium's connector
//! (`KeyValueSchema`, `CassandraSchemaFactory`).
//!
//! Two differences keep every message readable: all values are optional, even in the exact modes,
//! and so are the values of bounds.

use commitlog_core::cql_type::CqlType;
use commitlog_core::schema::{Column, Table, marshal_name};

use super::cells::{cells, shard};
use super::named::{meaning, ours, uuid};
use crate::format::Layout;
use crate::value::{DecimalMode, DurationMode, ValueModes, VarintMode};
use event_encoding::connect::{SNAPSHOT_MARKERS, Schema, Shape};

const NAMESPACE: &str = "io.debezium.connector.cassandra";
/// The members of `after` that are not columns.
const RANGES: [&str; 2] = ["_range_start", "_range_end"];

/// Builds the schemas of one table.
pub struct TableSchemas<'t> {
    /// The table with its original names, from which schema names derive.
    pub table: &'t Table,
    pub prefix: &'t str,
    pub modes: ValueModes,
    pub layout: Layout,
}

impl TableSchemas<'_> {
    /// Builds the schema of keys with these columns.
    pub fn key<'c>(&self, columns: impl Iterator<Item = &'c Column>) -> Schema {
        let fields = columns.map(|column| (column.name.as_str(), self.of_type(&column.cql_type)));
        Schema::structure(fields.filter(|(name, _)| is_field(name)).collect())
            .named(self.record("Key"))
    }

    /// Builds the schema of values with these columns in `after`.
    pub fn value<'c>(&self, columns: impl Iterator<Item = &'c Column>, has_cells: bool) -> Schema {
        let fields = columns.map(|column| (column.name.as_str(), self.cell(column)));
        // Of two members with the same name, readers see the last one, which is the range.
        let fields = fields.filter(|(name, _)| is_field(name) && !RANGES.contains(name));
        let mut fields: Vec<_> = fields.collect();
        fields.extend(RANGES.map(|name| (name, range(name))));
        let after = self.versioned(Schema::structure(fields).named("after"));
        let mut members = vec![
            ("ts_ms", Schema::new(Shape::Int64)),
            ("op", Schema::new(Shape::String)),
            ("source", source(self.layout)),
            ("after", after),
        ];
        if has_cells {
            members.push(("cells", cells()));
        }
        Schema::structure(members).named(self.record("Envelope"))
    }

    fn record(&self, name: &str) -> String {
        let Table {
            keyspace,
            name: table,
            ..
        } = self.table;
        format!("{NAMESPACE}.{}.{keyspace}.{table}.{name}", self.prefix)
    }

    /// Builds the schema of one column in `after`.
    fn cell(&self, column: &Column) -> Schema {
        let mut fields = vec![
            ("value", self.of_type(&column.cql_type)),
            ("deletion_ts", Schema::new(Shape::Int64).optional()),
            ("set", Schema::new(Shape::Boolean)),
        ];
        match &column.cql_type {
            CqlType::Counter => fields.push(("shards", Schema::array(shard()).optional())),
            CqlType::Set(element) if column.multi_cell => {
                let element = self.of_type(element);
                fields.push(("removed", Schema::array(element).optional()));
            }
            // List positions.
            CqlType::List(_) if column.multi_cell => {
                let positions = Schema::array(uuid().optional()).optional();
                fields.push(("removed", positions));
            }
            _ => {}
        }
        let name = match self.layout {
            Layout::Current { .. } => "cell_value",
            Layout::DebeziumV1 => &column.name,
        };
        self.versioned(Schema::structure(fields).named(name))
            .optional()
    }

    /// Sets version 1, except in layout 1.x: Debezium 1.x set no version on these schemas.
    fn versioned(&self, schema: Schema) -> Schema {
        match self.layout {
            Layout::Current { .. } => schema.versioned(1),
            Layout::DebeziumV1 => schema,
        }
    }

    fn of_type(&self, ty: &CqlType) -> Schema {
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
            CqlType::Map(key, value) => {
                let keys = Box::new(self.of_type(key));
                Schema::new(Shape::Map(keys, Box::new(self.of_type(value))))
            }
            CqlType::Tuple(fields) => {
                let fields = fields.iter().enumerate();
                let fields: Vec<(String, Schema)> = fields
                    .map(|(index, field)| (format!("field{}", index + 1), self.of_type(field)))
                    .collect();
                Schema::new(Shape::Struct(fields)).named(tuple_name(ty))
            }
            CqlType::Udt(user_type) => {
                let fields = user_type.fields.iter();
                let fields =
                    fields.map(|field| (field.name.as_str(), self.of_type(&field.cql_type)));
                Schema::structure(fields.collect())
                    .named(format!("{}.{}", user_type.keyspace, user_type.name))
            }
        };
        schema.optional()
    }

    fn decimal(&self) -> Schema {
        match self.modes.decimal {
            DecimalMode::Double => Schema::new(Shape::Double),
            DecimalMode::String => Schema::new(Shape::String),
            DecimalMode::Precise => Schema::structure(vec![
                ("scale", Schema::new(Shape::Int32)),
                ("value", Schema::new(Shape::Bytes)),
            ])
            .named("io.debezium.data.VariableScaleDecimal")
            .versioned(1)
            .documented("Variable scaled decimal"),
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

    fn duration(&self) -> Schema {
        match self.modes.duration {
            DurationMode::Nanos => meaning(Shape::Int64, "io.debezium.time.NanoDuration"),
            DurationMode::String => Schema::new(Shape::String),
            DurationMode::Precise => ours(
                "Duration",
                vec![
                    ("months", Schema::new(Shape::Int32)),
                    ("days", Schema::new(Shape::Int32)),
                    ("nanoseconds", Schema::new(Shape::Int64)),
                ],
            ),
        }
    }
}

/// Connect fields need a name, but columns of compact tables may have none.
fn is_field(name: &str) -> bool {
    !name.is_empty()
}

/// Joins the field classes without `Type`, then `Tuple` (`AbstractTupleTypeDeserializer`).
fn tuple_name(ty: &CqlType) -> String {
    let CqlType::Tuple(fields) = ty else {
        return String::new();
    };
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

fn source(layout: Layout) -> Schema {
    let text = || Schema::new(Shape::String);
    let long = || Schema::new(Shape::Int64);
    if layout == Layout::DebeziumV1 {
        return Schema::structure(vec![
            ("version", text().optional()),
            ("connector", text().optional()),
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
        .named("source");
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
    if layout.has_epoch() {
        members.push(("epoch", long().optional()));
    }
    Schema::structure(members).named("source").versioned(1)
}

fn range(name: &str) -> Schema {
    let value = Schema::structure(vec![
        ("name", Schema::new(Shape::String)),
        ("value", Schema::new(Shape::String).optional()),
        ("type", Schema::new(Shape::String)),
    ]);
    let value = value.named("clustering_value").versioned(1);
    let values = Schema::array(value).named("clustering_values").versioned(1);
    Schema::structure(vec![
        ("method", Schema::new(Shape::String)),
        ("values", values),
    ])
    .named(name)
    .versioned(1)
    .optional()
}
