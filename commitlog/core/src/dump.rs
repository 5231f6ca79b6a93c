//! The canonical dump: one JSON line for each partition update, independent of the reader
//! (`docs/reference/dump-format.md`).

use std::fmt::Write as _;
use std::sync::Arc;

use crate::descriptor::Version;
use crate::error::Result;
use crate::mutation::{Decoder, MutationReader, Update};
use crate::row::{
    Cell, CellState, Deletion, Expiry, Liveness, LocalDeletionTime, Marker, Row, Unfiltered,
};
use crate::schema::Table;

/// Appends the lines of one mutation. It appends nothing after an error, because Cassandra's reader
/// drops the whole mutation too.
pub fn write_mutation(
    out: &mut String,
    decoder: &mut Decoder,
    segment: &str,
    version: Version,
    end: u64,
    payload: &[u8],
) -> Result<()> {
    let length = out.len();
    let result = decoder.mutation(payload, version).and_then(|mut mutation| {
        let mut row = Row::default();
        while let Some(update) = mutation.next_update()? {
            let mut line = Line { out, version };
            line.update(segment, end, &update, &mut mutation, &mut row)?;
        }
        Ok(())
    });
    if result.is_err() {
        out.truncate(length);
    }
    result
}

struct Line<'o> {
    out: &'o mut String,
    version: Version,
}

impl Line<'_> {
    fn text(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn number(&mut self, number: impl std::fmt::Display) {
        // Writing to a String cannot fail.
        let _ = write!(self.out, "{number}");
    }

    fn string(&mut self, text: &str) {
        match serde_json::to_string(text) {
            Ok(quoted) => self.out.push_str(&quoted),
            Err(_) => self.out.push_str("\"\""),
        }
    }

    fn hex(&mut self, bytes: &[u8]) {
        self.out.push('"');
        for byte in bytes {
            let _ = write!(self.out, "{byte:02x}");
        }
        self.out.push('"');
    }

    fn optional_hex(&mut self, bytes: Option<&[u8]>) {
        match bytes {
            Some(bytes) => self.hex(bytes),
            None => self.text("null"),
        }
    }

    /// The number that means "none" depends on the version; the dump writes null instead.
    fn local_deletion_time(&mut self, time: LocalDeletionTime) {
        if time.is_none(self.version) {
            self.text("null");
        } else {
            self.number(time.0);
        }
    }

    fn deletion(&mut self, deletion: Deletion) {
        self.text("{\"ts\":");
        self.number(deletion.timestamp_us);
        self.text(",\"ldt\":");
        self.local_deletion_time(deletion.local_deletion_time);
        self.text("}");
    }

    fn expiry(&mut self, expiry: Option<Expiry>) {
        match expiry {
            Some(expiry) => {
                self.text(",\"ttl\":");
                self.number(expiry.ttl_s);
                self.text(",\"ldt\":");
                self.local_deletion_time(expiry.local_deletion_time);
            }
            None => self.text(",\"ttl\":null,\"ldt\":null"),
        }
    }

    fn update<'p>(
        &mut self,
        segment: &str,
        end: u64,
        update: &Update<'p>,
        mutation: &mut MutationReader<'_, 'p>,
        row: &mut Row<'p>,
    ) -> Result<()> {
        let Some(table) = mutation.table().map(Arc::clone) else {
            return Ok(());
        };
        let table = &table;
        self.text("{\"segment\":");
        self.string(segment);
        self.text(",\"pos\":");
        self.number(end);
        self.text(",\"update\":");
        self.number(update.index);
        self.text(",\"updates\":");
        self.number(update.updates);
        self.text(",\"ks\":");
        self.string(&table.keyspace);
        self.text(",\"table\":");
        self.string(&table.name);
        self.text(",\"id\":\"");
        self.number(table.id);
        self.text("\",\"key\":");
        self.hex(update.key);
        self.text(",\"del\":");
        match update.deletion {
            Some(deletion) => self.deletion(deletion),
            None => self.text("null"),
        }
        let mut item = mutation.next_unfiltered(row)?;
        let is_empty = update.deletion.is_none() && item.is_none();
        self.text(",\"static\":");
        if item == Some(Unfiltered::Row) && row.is_static {
            self.row(table, row);
            item = mutation.next_unfiltered(row)?;
        } else {
            self.text("null");
        }
        self.text(",\"items\":[");
        let mut separator = "";
        while let Some(unfiltered) = item {
            self.text(separator);
            separator = ",";
            match unfiltered {
                Unfiltered::Row => self.row(table, row),
                Unfiltered::Marker(marker) => self.marker(&marker),
            }
            item = mutation.next_unfiltered(row)?;
        }
        self.text("]");
        // Cassandra's reader discards the epoch of an empty update.
        if let Some(epoch) = update.epoch.filter(|_| !is_empty) {
            self.text(",\"epoch\":");
            self.number(epoch);
        }
        self.text("}\n");
        Ok(())
    }

    fn clustering(&mut self, values: &[Option<&[u8]>]) {
        self.text("\"ck\":[");
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                self.text(",");
            }
            self.optional_hex(*value);
        }
        self.text("]");
    }

    fn row(&mut self, table: &Table, row: &Row<'_>) {
        self.text("{");
        if !row.is_static {
            self.text("\"t\":\"row\",");
            self.clustering(&row.clustering);
            self.text(",");
        }
        self.text("\"live\":");
        match row.liveness {
            Some(Liveness {
                timestamp_us,
                expiry,
            }) => {
                self.text("{\"ts\":");
                self.number(timestamp_us);
                self.expiry(expiry);
                self.text("}");
            }
            None => self.text("null"),
        }
        self.text(",\"del\":");
        match row.deletion {
            Some(deletion) => {
                self.deletion(deletion);
                if row.deletion_is_shadowable {
                    self.out.pop();
                    self.text(",\"shadowable\":true}");
                }
            }
            None => self.text("null"),
        }
        self.text(",\"cdel\":[");
        let mut deletions: Vec<_> = row
            .complex_deletions
            .iter()
            .map(|(column, deletion)| (column_name(table, *column), deletion))
            .collect();
        deletions.sort_by_key(|(name, _)| name.as_bytes());
        for (index, (name, deletion)) in deletions.into_iter().enumerate() {
            if index > 0 {
                self.text(",");
            }
            self.text("{\"col\":");
            self.string(name);
            self.text(",\"ts\":");
            self.number(deletion.timestamp_us);
            self.text(",\"ldt\":");
            self.local_deletion_time(deletion.local_deletion_time);
            self.text("}");
        }
        self.text("],\"cells\":[");
        let mut cells: Vec<&Cell<'_>> = row.cells.iter().collect();
        cells.sort_by_key(|cell| (column_name(table, cell.column).as_bytes(), cell.path));
        for (index, cell) in cells.into_iter().enumerate() {
            if index > 0 {
                self.text(",");
            }
            self.cell(table, cell);
        }
        self.text("]}");
    }

    fn cell(&mut self, table: &Table, cell: &Cell<'_>) {
        self.text("{\"col\":");
        self.string(column_name(table, cell.column));
        self.text(",\"path\":");
        self.optional_hex(cell.path);
        self.text(",\"kind\":\"");
        self.text(match cell.state {
            CellState::Live => "live",
            CellState::Expiring(_) => "expiring",
            CellState::Tombstone(_) => "tombstone",
        });
        self.text("\",\"ts\":");
        self.number(cell.timestamp_us);
        match cell.state {
            CellState::Live => self.expiry(None),
            CellState::Expiring(expiry) => self.expiry(Some(expiry)),
            CellState::Tombstone(time) => {
                self.text(",\"ttl\":null,\"ldt\":");
                self.local_deletion_time(time);
            }
        }
        self.text(",\"val\":");
        if matches!(cell.state, CellState::Tombstone(_)) {
            self.text("null");
        } else {
            self.hex(cell.value);
        }
        self.text("}");
    }

    fn marker(&mut self, marker: &Marker<'_>) {
        let is_boundary = marker.close.is_some() && marker.open.is_some();
        self.text(if is_boundary {
            "{\"t\":\"boundary\",\"kind\":\""
        } else {
            "{\"t\":\"bound\",\"kind\":\""
        });
        self.text(marker.kind.name());
        self.text("\",");
        self.clustering(&marker.clustering);
        match (marker.close, marker.open) {
            (Some(close), Some(open)) => {
                self.text(",\"close\":");
                self.deletion(close);
                self.text(",\"open\":");
                self.deletion(open);
            }
            (deletion, other) => {
                self.text(",\"del\":");
                match deletion.or(other) {
                    Some(deletion) => self.deletion(deletion),
                    None => self.text("null"),
                }
            }
        }
        self.text("}");
    }
}

fn column_name(table: &Table, column: u32) -> &str {
    table
        .columns
        .get(column as usize)
        .map_or("", |column| column.name.as_str())
}
