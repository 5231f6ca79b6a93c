//! Encodings that are prepared once for each table whose keys or values are not plain JSON.

use std::sync::Arc;

use commitlog_core::row::Row;
use commitlog_core::schema::Table;

use super::table::TableSchemas;
use crate::event::Content;
use crate::format::{EventFormat, Layout};
use crate::value::ValueModes;
use event_encoding::connect::Schema;
use event_encoding::encoding::Encoding;

/// The encodings of both parts of a table's messages.
pub struct KeyValueEncoding {
    pub key: PartEncoding,
    pub value: PartEncoding,
    table: Arc<Table>,
    /// The table with its names in events.
    shown: Arc<Table>,
    /// Marks the excluded [`Table::columns`].
    left_out: Vec<bool>,
    has_dropped: bool,
    has_cells: bool,
    prefix: String,
    layout: Layout,
}

/// The encoding of a key or a value.
pub struct PartEncoding {
    pub encoding: Encoding,
    pub modes: ValueModes,
    /// `{"schema":…,"payload":`; empty for encodings other than JSON with a schema.
    pub envelope: Vec<u8>,
    /// The schema of a part without dropped columns.
    pub schema: Schema,
}

impl PartEncoding {
    fn new(
        encoding: Encoding,
        modes: ValueModes,
        schema: impl FnOnce(ValueModes) -> Schema,
    ) -> Self {
        let modes = match encoding {
            // Java prints the digits, not the bytes.
            Encoding::Text => modes.with_digits(),
            _ => modes,
        };
        let schema = schema(modes);
        Self {
            envelope: match encoding {
                Encoding::JsonWithSchema => schema.json_envelope(),
                _ => Vec::new(),
            },
            encoding,
            modes,
            schema,
        }
    }

    pub fn is_json(&self) -> bool {
        matches!(self.encoding, Encoding::Json | Encoding::JsonWithSchema)
    }
}

impl KeyValueEncoding {
    /// Returns `None` if key and value are plain JSON with the same modes.
    pub fn new(
        table: &Arc<Table>,
        shown: &Arc<Table>,
        left_out: &[bool],
        format: &EventFormat,
    ) -> Option<Self> {
        let (key_modes, value_modes) = (format.key_modes(), format.value_modes());
        let is_plain = format.key == Encoding::Json && format.value == Encoding::Json;
        if is_plain && key_modes == value_modes {
            return None;
        }
        let schemas = |modes| TableSchemas {
            table,
            prefix: &format.topic_prefix,
            modes,
            layout: format.layout,
        };
        let keys = || shown.partition_key.iter().chain(&shown.clustering);
        let present = || {
            let columns = shown.columns.iter().zip(left_out);
            let present = columns
                .filter(|(column, is_left_out)| !**is_left_out && column.dropped_at_us.is_none());
            keys().chain(present.map(|(column, _)| column))
        };
        Some(Self {
            key: PartEncoding::new(format.key, key_modes, |modes| schemas(modes).key(keys())),
            value: PartEncoding::new(format.value, value_modes, |modes| {
                schemas(modes).value(present(), format.cells)
            }),
            table: Arc::clone(table),
            shown: Arc::clone(shown),
            left_out: left_out.to_vec(),
            has_dropped: table.columns.iter().any(|c| c.dropped_at_us.is_some()),
            has_cells: format.cells,
            prefix: format.topic_prefix.clone(),
            layout: format.layout,
        })
    }

    /// Returns the size of the schemas in a message.
    pub fn envelope_bytes(&self) -> usize {
        self.key
            .envelope
            .len()
            .saturating_add(self.value.envelope.len())
    }

    /// Returns the columns of an event in member order, as indexes in [`Table::columns`]. `None` if
    /// it contains no dropped column, so that the prepared schema fits.
    pub fn columns_with_dropped(&self, content: &Content<'_, '_>) -> Option<Vec<u32>> {
        let Content::Write(row) = content else {
            return None;
        };
        if !self.has_dropped {
            return None;
        }
        let mut columns: Vec<u32> = Vec::new();
        let mut has_dropped = false;
        for (index, column) in (0_u32..).zip(&self.table.columns) {
            let is_written = says_something(row, index);
            let is_left_out = self.left_out.get(index as usize).copied().unwrap_or(false);
            if is_left_out || column.dropped_at_us.is_some() && !is_written {
                continue;
            }
            has_dropped |= column.dropped_at_us.is_some();
            // The member is the version of the column that was written; of two written versions,
            // the later one.
            let namesake = columns.iter().position(|other| {
                let other = self.table.columns.get(*other as usize);
                other.is_some_and(|other| other.name == column.name)
            });
            match namesake {
                Some(_) if !is_written => continue,
                Some(place) => drop(columns.remove(place)),
                None => {}
            }
            columns.push(index);
        }
        has_dropped.then_some(columns)
    }

    /// Builds the schema of values with these columns.
    pub fn value_schema(&self, columns: &[u32]) -> Schema {
        let schemas = TableSchemas {
            table: &self.table,
            prefix: &self.prefix,
            modes: self.value.modes,
            layout: self.layout,
        };
        let shown = &self.shown;
        let keys = shown.partition_key.iter().chain(&shown.clustering);
        let columns = columns.iter();
        let columns = columns.filter_map(|index| shown.columns.get(*index as usize));
        schemas.value(keys.chain(columns), self.has_cells)
    }
}

fn says_something(row: &Row<'_>, column: u32) -> bool {
    row.cells.iter().any(|cell| cell.column == column)
        || row.complex_deletions.iter().any(|entry| entry.0 == column)
}
