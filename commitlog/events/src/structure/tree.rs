//! The tree of one mutation: updates, rows, cells, markers, each with its place.

use std::fmt::Write as _;
use std::sync::Arc;

use commitlog_core::cql_type::CqlType;
use commitlog_core::descriptor::Version;
use commitlog_core::error::{DecodeError, Result};
use commitlog_core::mutation::{Decoder, MutationReader};
use commitlog_core::resync::resynchronise;
use commitlog_core::row::{
    Cell, CellState, Deletion, Expiry, LocalDeletionTime, Marker, Row, Unfiltered,
};
use commitlog_core::schema::{Column, Schema, Table};
use commitlog_core::update_head::{UpdateHead, read_row_estimate, read_update_head};
use serde_json::{Map, Value, json};

use crate::counters::shards_json;
use crate::partition::Partition;
use crate::value::json::write_json;
use crate::value::{DecimalMode, DurationMode, ValueModes, VarintMode};

/// No digit is lost, as in events it may be.
const MODES: ValueModes = ValueModes {
    decimal: DecimalMode::String,
    varint: VarintMode::String,
    duration: DurationMode::Nanos,
};

/// One payload and its position.
pub struct MutationTree<'d, 'p> {
    pub decoder: &'d mut Decoder,
    pub version: Version,
    pub payload: &'p [u8],
    /// Logical position of the payload's first byte.
    pub position: u64,
}

impl MutationTree<'_, '_> {
    /// `{"updates": n, "tree": […]}`; what cannot be decoded is in `undecoded`.
    pub fn read(self) -> Value {
        let Self {
            decoder,
            version,
            payload,
            position,
        } = self;
        let mut updates = Updates {
            schema: Arc::clone(decoder.schema()),
            version,
            payload,
            position,
            at: 0,
            trees: Vec::new(),
        };
        let mut count = None;
        let mut undecoded = None;
        let read = decoder.mutation(payload, version).and_then(|mutation| {
            count = Some(mutation.updates());
            updates.read(mutation, 0)
        });
        if let Err(error) = read {
            let resync = match *error {
                DecodeError::UnknownTable(_) => resynchronise(decoder, payload, version),
                _ => None,
            };
            let behind = resync.and_then(|resync| resync.behind);
            let end = behind.map_or(payload.len(), |place| place.offset);
            undecoded = Some(json!({
                "at": position + updates.at as u64,
                "bytes": end.saturating_sub(updates.at),
                "cause": error.to_string(),
            }));
            if let Some(place) = behind
                && let Ok(mutation) = decoder.mutation_from(payload, version, place)
            {
                // Such a place is one from which everything can be read.
                let _ = updates.read(mutation, place.index);
            }
        }
        let mut tree = json!({"updates": count, "tree": updates.trees});
        if let (Some(undecoded), Value::Object(tree)) = (undecoded, &mut tree) {
            tree.insert("undecoded".to_owned(), undecoded);
        }
        tree
    }
}

/// The trees of the updates that were met so far.
struct Updates<'p> {
    schema: Arc<Schema>,
    version: Version,
    payload: &'p [u8],
    position: u64,
    /// Offset of the update that is being read.
    at: usize,
    trees: Vec<Value>,
}

impl<'p> Updates<'p> {
    /// Reads on from an update to the end of the payload.
    fn read(&mut self, mut mutation: MutationReader<'_, 'p>, first: u64) -> Result<()> {
        let mut row = Row::default();
        for index in first..mutation.updates() {
            self.at = self.payload.len() - mutation.rest().len();
            let bytes = self.payload.get(self.at..).unwrap_or_default();
            let head = read_update_head(bytes, self.version)?;
            let table = self.schema.table(head.table_id);
            let at = self.position + self.at as u64;
            self.trees.push(head_of(&head, table, index, at));
            let update = UpdateTree {
                mutation: &mut mutation,
                version: self.version,
                payload: self.payload,
                position: self.position,
            };
            if let Some(Value::Object(members)) = self.trees.last_mut() {
                update.read(&head, table, members, &mut row)?;
            }
        }
        // No bytes may follow the last one.
        mutation.next_update().map(|_| ())
    }
}

/// The parts of an update that need no schema, and the names that the schema has for them.
fn head_of(head: &UpdateHead<'_>, table: Option<&Arc<Table>>, index: u64, at: u64) -> Value {
    let key_values = table.and_then(|table| {
        let partition = Partition::of(table, head.key)?;
        let values = partition.values().iter().map(|value| Some(*value));
        Some(named(&table.partition_key, values))
    });
    let mut members = json!({
        "update": index,
        "at": at,
        "table_id": head.table_id.to_string(),
        "keyspace": table.map(|table| &table.keyspace),
        "table": table.map(|table| &table.name),
        "key": hex(head.key),
        "key_values": key_values,
        "flags": head.flags,
        "bases": head.bases.map(|bases| json!({
            "ts": bases.timestamp_us,
            "ldt": bases.local_deletion_time_s,
            "ttl": bases.ttl_s,
        })),
        "static_columns": names(&head.static_columns),
        "regular_columns": names(&head.regular_columns),
    });
    if let (Some(epoch), Value::Object(members)) = (head.epoch, &mut members) {
        members.insert("epoch".to_owned(), json!(epoch));
    }
    members
}

fn names(columns: &[&[u8]]) -> Value {
    let names = columns.iter().map(|name| String::from_utf8_lossy(name));
    names.collect()
}

struct UpdateTree<'m, 'd, 'p> {
    mutation: &'m mut MutationReader<'d, 'p>,
    version: Version,
    payload: &'p [u8],
    position: u64,
}

impl<'p> UpdateTree<'_, '_, 'p> {
    /// Offset in the payload.
    fn offset(&self) -> usize {
        self.payload.len() - self.mutation.rest().len()
    }

    /// Adds what a schema is needed for: deletion, rows and markers.
    fn read(
        self,
        head: &UpdateHead<'_>,
        table: Option<&Arc<Table>>,
        members: &mut Map<String, Value>,
        row: &mut Row<'p>,
    ) -> Result<()> {
        let start = self.offset();
        let Some(update) = self.mutation.next_update()? else {
            return Ok(());
        };
        let Some(table) = table else {
            return Ok(());
        };
        let deletion = update.deletion.map(|deletion| self.deletion(deletion));
        members.insert("del".to_owned(), json!(deletion));
        members.insert("items".to_owned(), json!([]));
        let mut static_is_next = head.has_static_row();
        let mut estimate_is_next = head.has_row_estimate() && !head.is_empty();
        loop {
            let mut from = self.offset();
            if !static_is_next && std::mem::take(&mut estimate_is_next) {
                let rest = self.payload.get(from..).unwrap_or_default();
                let (estimate, length) = read_row_estimate(rest)?;
                members.insert("row_estimate".to_owned(), json!(estimate));
                from += length;
            }
            static_is_next = false;
            let Some(item) = self.mutation.next_unfiltered(row)? else {
                let bytes = self.offset() - start;
                members.insert("bytes".to_owned(), json!(bytes));
                return Ok(());
            };
            let mut item = match item {
                Unfiltered::Row => self.row(table, row),
                Unfiltered::Marker(marker) => self.marker(table, &marker),
            };
            if let Value::Object(item) = &mut item {
                item.insert("at".to_owned(), json!(self.position + from as u64));
                item.insert("bytes".to_owned(), json!(self.offset() - from));
            }
            if let Some(Value::Array(items)) = members.get_mut("items") {
                items.push(item);
            }
        }
    }

    fn local_deletion_time(&self, time: LocalDeletionTime) -> Option<i64> {
        (!time.is_none(self.version)).then_some(time.0)
    }

    fn deletion(&self, deletion: Deletion) -> Value {
        json!({
            "ts": deletion.timestamp_us,
            "ldt": self.local_deletion_time(deletion.local_deletion_time),
        })
    }

    fn row(&self, table: &Table, row: &Row<'_>) -> Value {
        let live = row.liveness.map(|liveness| {
            let expiry = liveness.expiry;
            json!({
                "ts": liveness.timestamp_us,
                "ttl": expiry.map(|expiry| expiry.ttl_s),
                "ldt": expiry.and_then(|e| self.local_deletion_time(e.local_deletion_time)),
            })
        });
        let mut deletion = row.deletion.map(|deletion| self.deletion(deletion));
        if let Some(Value::Object(deletion)) =
            deletion.as_mut().filter(|_| row.deletion_is_shadowable)
        {
            deletion.insert("shadowable".to_owned(), json!(true));
        }
        let column = |index: u32| table.columns.get(index as usize);
        let complex_deletions = row.complex_deletions.iter().map(|(index, deletion)| {
            let mut members = json!({"col": column(*index).map(|column| &column.name)});
            if let (Value::Object(members), Value::Object(deletion)) =
                (&mut members, self.deletion(*deletion))
            {
                members.extend(deletion);
            }
            members
        });
        let mut members = json!({"t": if row.is_static { "static" } else { "row" }});
        if let Value::Object(members) = &mut members {
            if !row.is_static {
                members.extend(clustering(table, &row.clustering));
            }
            members.insert("live".to_owned(), json!(live));
            members.insert("del".to_owned(), json!(deletion));
            members.insert("cdel".to_owned(), complex_deletions.collect());
            let cells = row
                .cells
                .iter()
                .map(|cell| self.cell(column(cell.column), cell));
            members.insert("cells".to_owned(), cells.collect());
        }
        members
    }

    fn cell(&self, column: Option<&Column>, cell: &Cell<'_>) -> Value {
        let (kind, ttl_s, time) = match cell.state {
            CellState::Live => ("live", None, None),
            CellState::Expiring(Expiry {
                ttl_s,
                local_deletion_time,
            }) => ("expiring", Some(ttl_s), Some(local_deletion_time)),
            CellState::Tombstone(time) => ("tombstone", None, Some(time)),
        };
        let is_tombstone = matches!(cell.state, CellState::Tombstone(_));
        let cql_type = column.map(|column| &column.cql_type);
        let (element_type, value_type) = match (cql_type, cell.path) {
            (Some(CqlType::List(element)), Some(_)) => (Some(&CqlType::TimeUuid), Some(&**element)),
            (Some(CqlType::Set(element)), Some(_)) => (Some(&**element), None),
            (Some(CqlType::Map(key, value)), Some(_)) => (Some(&**key), Some(&**value)),
            (Some(CqlType::Udt(user_type)), Some(path)) => {
                let index = path.first_chunk().map(|index| u16::from_be_bytes(*index));
                let field = index.and_then(|index| user_type.fields.get(usize::from(index)));
                let element = field.map(|field| json!(field.name));
                let value_type = field.map(|field| &field.cql_type);
                return self.cell_members(column, cell, (kind, ttl_s, time), element, value_type);
            }
            (cql_type, _) => (None, cql_type),
        };
        let element = match (element_type, cell.path) {
            (Some(element_type), Some(path)) => Some(decoded(element_type, path)),
            _ => None,
        };
        let value_type = value_type.filter(|_| !is_tombstone);
        self.cell_members(column, cell, (kind, ttl_s, time), element, value_type)
    }

    fn cell_members(
        &self,
        column: Option<&Column>,
        cell: &Cell<'_>,
        (kind, ttl_s, time): (&str, Option<i32>, Option<LocalDeletionTime>),
        element: Option<Value>,
        value_type: Option<&CqlType>,
    ) -> Value {
        let is_tombstone = matches!(cell.state, CellState::Tombstone(_));
        let mut members = json!({
            "col": column.map(|column| &column.name),
            "path": cell.path.map(hex),
            "kind": kind,
            "ts": cell.timestamp_us,
            "ttl": ttl_s,
            "ldt": time.and_then(|time| self.local_deletion_time(time)),
            "val": (!is_tombstone).then(|| hex(cell.value)),
        });
        if let Value::Object(members) = &mut members {
            if let Some(element) = element {
                members.insert("element".to_owned(), element);
            }
            if let Some(value_type) = value_type.filter(|_| !is_tombstone) {
                members.insert("value".to_owned(), decoded(value_type, cell.value));
            }
        }
        members
    }

    fn marker(&self, table: &Table, marker: &Marker<'_>) -> Value {
        let is_boundary = marker.close.is_some() && marker.open.is_some();
        let mut members = json!({
            "t": if is_boundary { "boundary" } else { "bound" },
            "kind": marker.kind.name(),
        });
        if let Value::Object(members) = &mut members {
            members.extend(clustering(table, &marker.clustering));
            match (marker.close, marker.open) {
                (Some(close), Some(open)) => {
                    members.insert("close".to_owned(), self.deletion(close));
                    members.insert("open".to_owned(), self.deletion(open));
                }
                (close, open) => {
                    let deletion = close.or(open).map(|deletion| self.deletion(deletion));
                    members.insert("del".to_owned(), json!(deletion));
                }
            }
        }
        members
    }
}

/// `ck`, and what its values mean.
fn clustering(table: &Table, values: &[Option<&[u8]>]) -> Map<String, Value> {
    let raw: Value = values.iter().map(|value| value.map(hex)).collect();
    let mut members = Map::new();
    members.insert("ck".to_owned(), raw);
    let named = named(&table.clustering, values.iter().copied());
    members.insert("ck_values".to_owned(), named);
    members
}

fn named<'b>(columns: &[Column], values: impl Iterator<Item = Option<&'b [u8]>>) -> Value {
    let pairs = columns.iter().zip(values);
    let named = pairs.map(|(column, value)| {
        let value = value.map(|value| decoded(&column.cql_type, value));
        (column.name.clone(), json!(value))
    });
    Value::Object(named.collect())
}

/// The JSON of a value; null where its bytes do not fit the type.
fn decoded(cql_type: &CqlType, bytes: &[u8]) -> Value {
    if *cql_type == CqlType::Counter {
        return shards_json(bytes);
    }
    let mut json = Vec::new();
    match write_json(&mut json, cql_type, bytes, &MODES) {
        Ok(()) => serde_json::from_slice(&json).unwrap_or_default(),
        Err(_) => Value::Null,
    }
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
