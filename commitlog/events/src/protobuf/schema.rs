//! The Protobuf schemas of a table, as text.
//!
//! All messages are nested in the outermost one, so the message index in a record is always 0.
//! Types are referenced by their full names, which no column name can shadow.

use std::fmt::Write as _;

use commitlog_core::cql_type::CqlType;
use commitlog_core::schema::{Column, Table};
use event_encoding::avro_names::{NameAdjustment, unique_name};

use super::field;
use super::names::distinct;
use super::number::ProtobufField;
use crate::format::Layout;
use crate::value::{DecimalMode, DurationMode, ValueModes, VarintMode, cql_name};

const START: &str = "_range_start";
const END: &str = "_range_end";
/// Names of the fields of `after` that are not columns.
pub const RANGES: [&str; 2] = [START, END];

/// Writes the schema of a key or of a value.
pub struct SchemaWriter {
    modes: ValueModes,
    names: NameAdjustment,
    /// The package of the table's messages.
    package: String,
    /// The outermost message.
    outer: &'static str,
    /// Name, meaning and text of each nested message.
    nested: Vec<(String, String, String)>,
}

impl SchemaWriter {
    /// `table` has its original names.
    pub fn new(
        table: &Table,
        prefix: &str,
        modes: ValueModes,
        names: NameAdjustment,
        outer: &'static str,
    ) -> Self {
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
            package: parts.join("."),
            outer,
            nested: Vec::new(),
        }
    }

    /// Returns the full name of the outermost message.
    pub fn record_name(&self) -> String {
        format!("{}.{}", self.package, self.outer)
    }

    /// Writes the key schema; `names` contains the field names of the key columns.
    pub fn key(mut self, table: &Table, names: &[String]) -> String {
        let columns = table.partition_key.iter().chain(&table.clustering);
        let types: Vec<_> = columns
            .map(|column| self.of_type(&column.cql_type))
            .collect();
        let mut body = String::new();
        for (number, (name, ty)) in (1_u32..).zip(names.iter().zip(types)) {
            push_field(&mut body, "optional ", &ty, name, number);
        }
        self.file(&body)
    }

    /// Writes the value schema.
    pub fn value<'c>(
        mut self,
        columns: impl Iterator<Item = (&'c Column, &'c ProtobufField)>,
        has_cells: bool,
        layout: Layout,
    ) -> String {
        let (columns, fields): (Vec<_>, Vec<_>) = columns.unzip();
        let mut after = String::new();
        let types: Vec<_> = columns
            .iter()
            .zip(&fields)
            .map(|(column, field)| self.cell(column, field.has_more))
            .collect();
        for (field, ty) in fields.iter().zip(types) {
            push_field(&mut after, "", &ty, &field.name, field.number);
        }
        let bound = self.full("RangeBound");
        push_field(&mut after, "", &bound, START, field::after::RANGE_START);
        push_field(&mut after, "", &bound, END, field::after::RANGE_END);
        self.nested.push(("After".to_owned(), String::new(), after));
        let mut source = match layout {
            Layout::Current { .. } => SOURCE,
            Layout::DebeziumV1 => SOURCE_OF_V1,
        }
        .to_owned();
        if layout.has_epoch() {
            source.push_str("optional int64 epoch = 17;\n");
        }
        self.fixed("Source", &source);
        self.fixed("RangeBound", RANGE_BOUND);
        self.fixed("RangeValue", RANGE_VALUE);
        let mut body = ENVELOPE.to_owned();
        if has_cells {
            body.push_str("Cells cells = 5;\n");
            self.fixed("Cells", CELLS);
            self.fixed("ClusteringValue", "optional bytes value = 1;\n");
            self.fixed("Liveness", LIVENESS);
            self.fixed("Deletion", DELETION);
            self.fixed("CollectionDeletion", COLLECTION_DELETION);
            self.fixed("Cell", CELL);
        }
        self.file(&body)
    }

    /// Declares the message of a column in `after`, and returns its full name.
    pub fn cell(&mut self, column: &Column, has_more: bool) -> String {
        let mut body = String::new();
        let value = match &column.cql_type {
            // The sum of the shards, which no event contains.
            CqlType::Counter => "int64".to_owned(),
            ty => self.of_type(ty),
        };
        push_field(
            &mut body,
            "optional ",
            &value,
            "value",
            field::column::VALUE,
        );
        push_field(
            &mut body,
            "optional ",
            "int64",
            "deletion_ts",
            field::column::DELETION_TS,
        );
        push_field(&mut body, "", "bool", "set", field::column::SET);
        if has_more {
            match &column.cql_type {
                CqlType::Counter => {
                    self.fixed("Shard", SHARD);
                    let shard = self.full("Shard");
                    push_field(
                        &mut body,
                        "repeated ",
                        &shard,
                        "shards",
                        field::column::SHARDS,
                    );
                }
                removed => {
                    let element = match removed {
                        CqlType::Set(element) => self.of_type(element),
                        // The positions of a list, or the field names of a user type.
                        _ => "string".to_owned(),
                    };
                    push_field(
                        &mut body,
                        "repeated ",
                        &element,
                        "removed",
                        field::column::REMOVED,
                    );
                }
            }
        }
        let more = if has_more { "_multi" } else { "" };
        let name = format!("Cell_{}{more}", self.spell(&column.cql_type));
        let meaning = format!("cell {has_more} {}", cql_name(&column.cql_type));
        let name = self.declare(&name, &meaning, |_| body);
        self.full(&name)
    }

    /// Returns the type of a field.
    fn of_type(&mut self, ty: &CqlType) -> String {
        let scalar = match ty {
            CqlType::Ascii
            | CqlType::Text
            | CqlType::Inet
            | CqlType::Empty
            | CqlType::Uuid
            | CqlType::TimeUuid => "string",
            CqlType::BigInt | CqlType::Counter | CqlType::Time | CqlType::Timestamp => "int64",
            CqlType::Blob | CqlType::Custom(_) => "bytes",
            CqlType::Boolean => "bool",
            CqlType::Double => "double",
            CqlType::Float => "float",
            CqlType::Int | CqlType::SmallInt | CqlType::TinyInt | CqlType::Date => "int32",
            CqlType::Decimal => match self.modes.decimal {
                DecimalMode::Double => "double",
                DecimalMode::String => "string",
                DecimalMode::Precise => {
                    self.fixed(
                        "VariableScaleDecimal",
                        "int32 scale = 1;\nbytes value = 2;\n",
                    );
                    return self.full("VariableScaleDecimal");
                }
            },
            CqlType::VarInt => match self.modes.varint {
                VarintMode::Long => "int64",
                VarintMode::String => "string",
                VarintMode::Precise | VarintMode::Digits => "bytes",
            },
            CqlType::Duration => match self.modes.duration {
                DurationMode::Nanos => "int64",
                DurationMode::String => "string",
                DurationMode::Precise => {
                    self.fixed("Duration", DURATION);
                    return self.full("Duration");
                }
            },
            CqlType::List(_)
            | CqlType::Set(_)
            | CqlType::Vector(..)
            | CqlType::Map(..)
            | CqlType::Tuple(_)
            | CqlType::Udt(_) => return self.message(ty),
        };
        scalar.to_owned()
    }

    /// Declares the message of a composite type, and returns its full name.
    fn message(&mut self, ty: &CqlType) -> String {
        let (spelled, meaning) = (self.spell(ty), cql_name(ty));
        let name = match ty {
            // Lists, sets and vectors with the same element type share a message.
            CqlType::List(element) | CqlType::Set(element) | CqlType::Vector(element, _) => {
                let (name, meaning) = (self.spell(element), cql_name(element));
                self.declare(&format!("List_{name}"), &meaning, |writer| {
                    let ty = writer.of_type(element_of(ty));
                    format!("repeated {ty} element = 1;\nrepeated int32 null_at = 2;\n")
                })
            }
            CqlType::Map(key, value) => {
                let entry = self.declare(&format!("Entry_of_{spelled}"), &meaning, |writer| {
                    let (key, value) = (writer.of_type(key), writer.of_type(value));
                    format!("optional {key} key = 1;\noptional {value} value = 2;\n")
                });
                let entry = self.full(&entry);
                self.declare(&format!("Map_{spelled}"), &meaning, |_| {
                    format!("repeated {entry} entry = 1;\n")
                })
            }
            CqlType::Udt(user_type) => {
                let name = format!("Udt_{}", self.names.adjust(&user_type.name));
                self.declare(&name, &meaning, |writer| {
                    let names = user_type.fields.iter().map(|field| field.name.as_str());
                    let names = names.zip(0..);
                    let names = distinct(&names.collect::<Vec<_>>(), &[]);
                    let types = user_type.fields.iter().map(|field| &field.cql_type);
                    writer.fields(&names, types)
                })
            }
            CqlType::Tuple(fields) => {
                let names = (1..=fields.len()).map(|number| format!("field{number}"));
                let names: Vec<_> = names.collect();
                self.declare(&format!("Tuple_{spelled}"), &meaning, |writer| {
                    writer.fields(&names, fields.iter())
                })
            }
            _ => String::new(),
        };
        self.full(&name)
    }

    fn fields<'t>(&mut self, names: &[String], types: impl Iterator<Item = &'t CqlType>) -> String {
        let mut body = String::new();
        for (number, (name, ty)) in (1_u32..).zip(names.iter().zip(types)) {
            let ty = self.of_type(ty);
            push_field(&mut body, "optional ", &ty, name, number);
        }
        body
    }

    /// Declares a nested message once. A different message with the same name gets a suffix.
    fn declare(
        &mut self,
        name: &str,
        meaning: &str,
        body: impl FnOnce(&mut Self) -> String,
    ) -> String {
        let name = unique_name(name, meaning, |name| {
            let taken = self.nested.iter().find(|(taken, ..)| taken == name);
            taken.is_none_or(|(_, known, _)| known == meaning)
        });
        if self.nested.iter().any(|(taken, ..)| *taken == name) {
            return name;
        }
        let place = self.nested.len();
        let entry = (name.clone(), meaning.to_owned(), String::new());
        self.nested.push(entry);
        let body = body(self);
        if let Some((.., slot)) = self.nested.get_mut(place) {
            *slot = body;
        }
        name
    }

    fn fixed(&mut self, name: &str, body: &str) {
        self.declare(name, "", |_| body.to_owned());
    }

    fn full(&self, nested: &str) -> String {
        format!(".{}.{}.{nested}", self.package, self.outer)
    }

    /// Spells a type as part of a name: `tuple2_int_text`, with the mode if it changes the bytes.
    fn spell(&self, ty: &CqlType) -> String {
        let join = |name: String, types: &[&CqlType]| {
            let types = types.iter().map(|ty| self.spell(ty));
            let parts: Vec<_> = std::iter::once(name).chain(types).collect();
            parts.join("_")
        };
        match ty {
            CqlType::List(element) => join("list".to_owned(), &[element]),
            CqlType::Set(element) => join("set".to_owned(), &[element]),
            CqlType::Map(key, value) => join("map".to_owned(), &[key, value]),
            CqlType::Tuple(fields) => {
                let name = format!("tuple{}", fields.len());
                join(name, &fields.iter().collect::<Vec<_>>())
            }
            CqlType::Vector(element, dimension) => join(format!("vector{dimension}"), &[element]),
            CqlType::Udt(user_type) => {
                format!("udt_{}", NameAdjustment::Avro.adjust(&user_type.name))
            }
            CqlType::Custom(_) => "custom".to_owned(),
            CqlType::Decimal => match self.modes.decimal {
                DecimalMode::Double => "decimal".to_owned(),
                DecimalMode::Precise => "decimal_precise".to_owned(),
                DecimalMode::String => "decimal_string".to_owned(),
            },
            CqlType::VarInt => match self.modes.varint {
                VarintMode::Long => "varint".to_owned(),
                VarintMode::Precise | VarintMode::Digits => "varint_precise".to_owned(),
                VarintMode::String => "varint_string".to_owned(),
            },
            CqlType::Duration => match self.modes.duration {
                DurationMode::Nanos => "duration".to_owned(),
                DurationMode::Precise => "duration_precise".to_owned(),
                DurationMode::String => "duration_string".to_owned(),
            },
            _ => cql_name(ty),
        }
    }

    fn file(&self, body: &str) -> String {
        let mut text = String::from("syntax = \"proto3\";\n");
        // Writing into a String cannot fail.
        let _ = writeln!(text, "package {};\n", self.package);
        let _ = writeln!(text, "message {} {{", self.outer);
        push_indented(&mut text, "  ", body);
        for (name, _, body) in &self.nested {
            let _ = writeln!(text, "\n  message {name} {{");
            push_indented(&mut text, "    ", body);
            text.push_str("  }\n");
        }
        text.push_str("}\n");
        text
    }
}

fn element_of(ty: &CqlType) -> &CqlType {
    match ty {
        CqlType::List(element) | CqlType::Set(element) | CqlType::Vector(element, _) => element,
        other => other,
    }
}

fn push_indented(text: &mut String, indent: &str, body: &str) {
    for line in body.lines() {
        text.push_str(indent);
        text.push_str(line);
        text.push('\n');
    }
}

fn push_field(body: &mut String, label: &str, ty: &str, name: &str, number: u32) {
    let _ = writeln!(body, "{label}{ty} {name} = {number};");
}

const ENVELOPE: &str = "int64 ts_ms = 1;
string op = 2;
Source source = 3;
After after = 4;
";
const SOURCE: &str = "string version = 1;
string connector = 2;
string name = 3;
int64 ts_ms = 4;
optional string snapshot = 5;
string db = 6;
optional string sequence = 7;
optional int64 ts_us = 8;
optional int64 ts_ns = 9;
string cluster = 10;
string file = 11;
int32 pos = 12;
string keyspace = 13;
string table = 14;
";
const SOURCE_OF_V1: &str = "optional string version = 1;
optional string connector = 2;
string cluster = 10;
string file = 11;
int32 pos = 12;
string keyspace = 13;
string table = 14;
bool snapshot = 15;
int64 ts_micro = 16;
";
const RANGE_BOUND: &str = "string method = 1;
repeated RangeValue values = 2;
";
const RANGE_VALUE: &str = "string name = 1;
optional string value = 2;
string type = 3;
";
const CELLS: &str = "string kind = 1;
string id = 2;
bytes pk = 3;
sfixed64 token = 4;
optional bytes ck = 5;
repeated ClusteringValue ckv = 6;
optional bytes lo = 7;
optional bytes hi = 8;
Liveness live = 9;
Deletion del = 10;
repeated CollectionDeletion cdel = 11;
repeated Cell cell = 12;
";
const LIVENESS: &str = "int64 ts = 1;
optional int32 ttl = 2;
optional int64 ldt = 3;
";
const DELETION: &str = "int64 ts = 1;
optional int64 ldt = 3;
";
const COLLECTION_DELETION: &str = "string col = 1;
int64 ts = 2;
optional int64 ldt = 3;
";
const CELL: &str = "string col = 1;
optional bytes path = 2;
optional bytes key = 3;
int64 ts = 4;
optional int32 ttl = 5;
optional int64 ldt = 6;
optional bytes val = 7;
";
const SHARD: &str = "string id = 1;
int64 clock = 2;
int64 count = 3;
optional string kind = 4;
optional int64 delta = 5;
optional int64 since = 6;
";
const DURATION: &str = "int32 months = 1;
int32 days = 2;
int64 nanoseconds = 3;
";
