//! Data that is prepared once per table: names as JSON, the order of columns, the topic.

use std::sync::Arc;

use commitlog_core::cql_type::CqlType;
use commitlog_core::schema::{Column, Table};

use crate::avro::{AvroPlan, ConfluentHeaders};
use crate::byte_comparable::equals_differ;
use crate::canonical_form::{canonical_name, canonical_start};
use crate::connect::KeyValueEncoding;
use crate::format::{EventFormat, Layout};
use crate::protobuf::ProtobufPlan;
use crate::static_fragment::StaticFragment;
use crate::table_names::adjust_table;
use crate::value::json::write_string;
use event_encoding::avro::confluent_header;
use event_encoding::encoding::Encoding;
use event_encoding::schema_ids::{MessagePart, SchemaIds, UnregisteredSchema};

/// A column as a member of JSON objects.
pub struct Member {
    /// `"name":`
    pub name: StaticFragment,
    /// `"name":{"value":`, for a column that was written.
    pub value: StaticFragment,
    /// `"name":null,`, for a column that was not written.
    pub null: StaticFragment,
    /// `{"col":"name","ts":`, for a cell.
    pub cell: StaticFragment,
    /// The name in the canonical form of the event id.
    pub canonical: StaticFragment,
    /// The type of set elements or map keys that identify cells, if equal values of it may differ
    /// in their bytes.
    pub element_type: Option<CqlType>,
}

impl Member {
    /// `shown` is the column with its name in `after`.
    fn new(column: &Column, shown: &Column) -> Self {
        let quoted = |name: &str| {
            let mut quoted = Vec::new();
            write_string(&mut quoted, name.as_bytes());
            quoted
        };
        let cell = quoted(&column.name);
        let quoted = quoted(&shown.name);
        let quoted = quoted.as_slice();
        Self {
            name: [quoted, b":"].concat().into(),
            value: [quoted, b":{\"value\":"].concat().into(),
            null: [quoted, b":null,"].concat().into(),
            cell: [b"{\"col\":", cell.as_slice(), b",\"ts\":"].concat().into(),
            canonical: canonical_name(column.name.as_bytes()).into(),
            element_type: element_type(column).filter(equals_differ),
        }
    }
}

/// The prepared texts and orders of one table.
pub struct TablePlan {
    pub table: Arc<Table>,
    /// The table with its names in events, see [`EventFormat::names`].
    pub shown: Arc<Table>,
    /// Whether a column was dropped and re-added with a different type.
    pub has_versions: bool,
    /// Whether no column is excluded.
    pub shows_all: bool,
    /// Whether no column is excluded or has several versions, as in nearly all tables.
    pub is_plain: bool,
    /// Marks the excluded [`Table::columns`].
    left_out: Vec<bool>,
    pub topic: String,
    /// Present if keys or values are Avro.
    pub avro: Option<Box<AvroPlan>>,
    /// Present if keys or values are Protobuf.
    pub protobuf: Option<Box<ProtobufPlan>>,
    /// `None` if keys and values are plain JSON with the same modes.
    pub encoding: Option<Box<KeyValueEncoding>>,
    /// The key columns as JSON members.
    pub partition_key_members: Vec<Member>,
    pub clustering_members: Vec<Member>,
    /// [`Table::columns`] as JSON members.
    pub column_members: Vec<Member>,
    /// The part of `source` from `cluster` up to the file name.
    pub source_cluster: Vec<u8>,
    /// The rest of `source` after `pos` and the start of `after`; up to the time in layout 1.x.
    pub source_table: StaticFragment<64>,
    /// The start of `cells` after its kind, up to the partition key.
    pub cells_table: StaticFragment<64>,
    /// The start of the canonical form of the event id.
    pub canonical_start: StaticFragment,
    /// Rank of each column by name; empty if the columns are sorted by name.
    name_ranks: Vec<u32>,
}

impl TablePlan {
    /// `epoch` is the table's epoch, if the log contains epochs.
    pub fn new(table: &Arc<Table>, epoch: Option<i64>, format: &EventFormat) -> Self {
        let shown = adjust_table(format.names, table);
        let members = |columns: &[Column], shown: &[Column]| {
            let columns = columns.iter().zip(shown);
            columns
                .map(|(column, shown)| Member::new(column, shown))
                .collect::<Vec<_>>()
        };
        let left_out: Vec<bool> = table
            .columns
            .iter()
            .map(|column| format.leaves_out(&table.keyspace, &table.name, &column.name))
            .collect();
        let shows_all = !left_out.contains(&true);
        let topic = format.topic(&table.keyspace, &table.name);
        let avro = (format.key == Encoding::Avro || format.value == Encoding::Avro).then(|| {
            Box::new(AvroPlan::new(
                table, &shown, &left_out, &topic, epoch, format,
            ))
        });
        let protobuf = (format.key == Encoding::Protobuf || format.value == Encoding::Protobuf)
            .then(|| {
                Box::new(ProtobufPlan::new(
                    table, &shown, &left_out, &topic, epoch, format,
                ))
            });
        let encoding = KeyValueEncoding::new(table, &shown, &left_out, format).map(Box::new);
        let mut by_name: Vec<usize> = (0..table.columns.len()).collect();
        by_name.sort_by_key(|index| table.columns.get(*index).map(|c| c.name.as_bytes()));
        let mut name_ranks = vec![0; table.columns.len()];
        for (rank, index) in by_name.into_iter().enumerate() {
            if let Some(slot) = name_ranks.get_mut(index) {
                *slot = rank as u32;
            }
        }
        if name_ranks.is_sorted() {
            name_ranks.clear();
        }
        let mut source_cluster = b",\"cluster\":".to_vec();
        write_string(&mut source_cluster, format.cluster.as_bytes());
        source_cluster.extend_from_slice(b",\"file\":");
        let mut source_table = b",\"keyspace\":".to_vec();
        write_string(&mut source_table, table.keyspace.as_bytes());
        source_table.extend_from_slice(b",\"table\":");
        write_string(&mut source_table, table.name.as_bytes());
        if format.layout.has_epoch() {
            let epoch = epoch.map_or("null".to_owned(), |epoch| epoch.to_string());
            source_table.extend_from_slice(b",\"epoch\":");
            source_table.extend_from_slice(epoch.as_bytes());
        }
        source_table.extend_from_slice(match format.layout {
            Layout::Current { .. } => b"},\"after\":{",
            Layout::DebeziumV1 => b",\"ts_micro\":",
        });
        Self {
            topic,
            avro,
            protobuf,
            encoding,
            partition_key_members: members(&table.partition_key, &shown.partition_key),
            clustering_members: members(&table.clustering, &shown.clustering),
            column_members: members(&table.columns, &shown.columns),
            source_cluster,
            source_table: source_table.into(),
            cells_table: format!("\",\"id\":\"{}\",\"pk\":", table.id)
                .into_bytes()
                .into(),
            canonical_start: canonical_start(table).into(),
            name_ranks,
            has_versions: table.has_versions(),
            shows_all,
            is_plain: shows_all && !table.has_versions(),
            left_out,
            table: Arc::clone(table),
            shown,
        }
    }

    /// Returns the schemas of key and value that need an id from the schema registry.
    pub fn schemas(&self) -> impl Iterator<Item = &UnregisteredSchema> {
        let avro = self.avro.iter().flat_map(|avro| &avro.schemas);
        let protobuf = self.protobuf.iter().flat_map(|protobuf| &protobuf.schemas);
        avro.chain(protobuf)
    }

    /// Returns the Confluent headers of messages, or `None` while a schema has no id.
    pub fn headers(&self, ids: &SchemaIds) -> Option<ConfluentHeaders> {
        let mut headers = ConfluentHeaders::default();
        for schema in self.schemas() {
            let header = confluent_header(ids.get(schema)?);
            match schema.part {
                MessagePart::Key => headers.key = header,
                MessagePart::Value => headers.value = header,
            }
        }
        Some(headers)
    }

    /// Returns whether a column is excluded from `after` and `cells`.
    #[inline]
    pub fn is_left_out(&self, column: u32) -> bool {
        !self.shows_all && self.left_out.get(column as usize).copied().unwrap_or(false)
    }

    pub fn column_name(&self, column: u32) -> &[u8] {
        let column = self.table.columns.get(column as usize);
        column.map_or(&[], |column| column.name.as_bytes())
    }

    /// Returns the name of a column in the canonical form of the event id.
    #[inline]
    pub fn canonical_name(&self, column: u32) -> Option<&StaticFragment> {
        let member = self.column_members.get(column as usize)?;
        Some(&member.canonical)
    }

    /// Returns whether the columns are sorted by name.
    #[inline]
    pub fn is_by_name(&self) -> bool {
        self.name_ranks.is_empty()
    }

    /// Returns the rank of a column by name.
    pub fn name_rank(&self, column: u32) -> u32 {
        let rank = self.name_ranks.get(column as usize);
        rank.copied().unwrap_or(column)
    }
}

/// Returns the type that identifies the cells of a set or map; cells of lists and user types have
/// a position instead.
fn element_type(column: &Column) -> Option<CqlType> {
    match &column.cql_type {
        CqlType::Set(element) if column.multi_cell => Some((**element).clone()),
        CqlType::Map(key, _) if column.multi_cell => Some((**key).clone()),
        _ => None,
    }
}
