//! The canonical dump: one JSON line for each partition update, independent of the reader
//! (`docs/reference/dump-format.md`).

use std::fmt::{self, Display, Formatter, Write as _};
use std::sync::Arc;

use crate::descriptor::Version;
use crate::error::Result;
use crate::mutation::{Decoder, MutationReader, Update};
use crate::row::{Cell, CellState, Deletion, Expiry, LocalDeletionTime, Marker, Row, Unfiltered};
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

/// Formats a value, or `null`.
struct OrNull<T>(Option<T>);

impl<T: Display> Display for OrNull<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(value) => value.fmt(f),
            None => f.write_str("null"),
        }
    }
}

/// Formats bytes as a JSON string of hexadecimal digits.
struct Hex<'p>(&'p [u8]);

impl Display for Hex<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for byte in self.0 {
            write!(f, "{byte:02x}")?;
        }
        f.write_char('"')
    }
}

/// Returns a text as a JSON string.
fn quoted(text: &str) -> String {
    // Texts can always be serialized.
    serde_json::to_string(text).unwrap_or_default()
}

impl Line<'_> {
    fn push(&mut self, text: fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = self.out.write_fmt(text);
    }

    /// Writes a member that is an array.
    fn list<T>(
        &mut self,
        name: &str,
        elements: impl IntoIterator<Item = T>,
        write: impl Fn(&mut Self, T),
    ) {
        self.push(format_args!("\"{name}\":["));
        for (index, element) in elements.into_iter().enumerate() {
            if index > 0 {
                self.out.push(',');
            }
            write(self, element);
        }
        self.out.push(']');
    }

    /// The number that means "none" depends on the version; the dump writes null instead.
    fn local_deletion_time(&self, time: LocalDeletionTime) -> OrNull<i64> {
        OrNull((!time.is_none(self.version)).then_some(time.0))
    }

    /// Writes the members of a deletion.
    fn times(&mut self, deletion: Deletion) {
        let ldt = self.local_deletion_time(deletion.local_deletion_time);
        self.push(format_args!(
            r#""ts":{},"ldt":{ldt}"#,
            deletion.timestamp_us
        ));
    }

    /// Writes a member that is a deletion.
    fn deletion(&mut self, name: &str, deletion: Option<Deletion>) {
        let Some(deletion) = deletion else {
            return self.push(format_args!("\"{name}\":null"));
        };
        self.push(format_args!("\"{name}\":{{"));
        self.times(deletion);
        self.out.push('}');
    }

    fn expiry(&mut self, expiry: Option<Expiry>) {
        let ttl = OrNull(expiry.map(|expiry| expiry.ttl_s));
        let ldt = expiry.map(|expiry| self.local_deletion_time(expiry.local_deletion_time));
        self.push(format_args!(r#","ttl":{ttl},"ldt":{}"#, OrNull(ldt)));
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
        let Update { index, updates, .. } = update;
        let (keyspace, name) = (quoted(&table.keyspace), quoted(&table.name));
        let (segment, key) = (quoted(segment), Hex(update.key));
        self.push(format_args!(
            r#"{{"segment":{segment},"pos":{end},"update":{index},"updates":{updates},"#
        ));
        self.push(format_args!(
            r#""ks":{keyspace},"table":{name},"id":"{}","key":{key},"#,
            table.id
        ));
        self.deletion("del", update.deletion);
        let mut item = mutation.next_unfiltered(row)?;
        let is_empty = update.deletion.is_none() && item.is_none();
        self.out.push_str(",\"static\":");
        if item == Some(Unfiltered::Row) && row.is_static {
            self.row(&table, row);
            item = mutation.next_unfiltered(row)?;
        } else {
            self.out.push_str("null");
        }
        self.out.push_str(",\"items\":[");
        let mut separator = "";
        while let Some(unfiltered) = item {
            self.out.push_str(separator);
            separator = ",";
            match unfiltered {
                Unfiltered::Row => self.row(&table, row),
                Unfiltered::Marker(marker) => self.marker(&marker),
            }
            item = mutation.next_unfiltered(row)?;
        }
        self.out.push(']');
        // Cassandra's reader discards the epoch of an empty update.
        if let Some(epoch) = update.epoch.filter(|_| !is_empty) {
            self.push(format_args!(",\"epoch\":{epoch}"));
        }
        self.out.push_str("}\n");
        Ok(())
    }

    fn clustering(&mut self, values: &[Option<&[u8]>]) {
        self.list("ck", values, |line, value| {
            line.push(format_args!("{}", OrNull(value.map(Hex))));
        });
    }

    fn row(&mut self, table: &Table, row: &Row<'_>) {
        self.out.push('{');
        if !row.is_static {
            self.out.push_str("\"t\":\"row\",");
            self.clustering(&row.clustering);
            self.out.push(',');
        }
        if let Some(liveness) = row.liveness {
            let timestamp_us = liveness.timestamp_us;
            self.push(format_args!(r#""live":{{"ts":{timestamp_us}"#));
            self.expiry(liveness.expiry);
            self.out.push_str("},");
        } else {
            self.out.push_str("\"live\":null,");
        }
        self.deletion("del", row.deletion);
        if row.deletion.is_some() && row.deletion_is_shadowable {
            self.out.pop();
            self.out.push_str(",\"shadowable\":true}");
        }
        self.out.push(',');
        let deletions = row.complex_deletions.iter();
        let mut deletions: Vec<_> = deletions
            .map(|(column, deletion)| (column_name(table, *column), *deletion))
            .collect();
        deletions.sort_by_key(|(name, _)| name.as_bytes());
        self.list("cdel", deletions, |line, (name, deletion)| {
            line.push(format_args!("{{\"col\":{},", quoted(name)));
            line.times(deletion);
            line.out.push('}');
        });
        self.out.push(',');
        let mut cells: Vec<&Cell<'_>> = row.cells.iter().collect();
        cells.sort_by_key(|cell| (column_name(table, cell.column).as_bytes(), cell.path));
        self.list("cells", cells, |line, cell| line.cell(table, cell));
        self.out.push('}');
    }

    fn cell(&mut self, table: &Table, cell: &Cell<'_>) {
        let name = quoted(column_name(table, cell.column));
        let path = OrNull(cell.path.map(Hex));
        let (kind, value) = match cell.state {
            CellState::Live => ("live", Some(Hex(cell.value))),
            CellState::Expiring(_) => ("expiring", Some(Hex(cell.value))),
            CellState::Tombstone(_) => ("tombstone", None),
        };
        let timestamp_us = cell.timestamp_us;
        self.push(format_args!(
            r#"{{"col":{name},"path":{path},"kind":"{kind}","ts":{timestamp_us}"#
        ));
        match cell.state {
            CellState::Live => self.expiry(None),
            CellState::Expiring(expiry) => self.expiry(Some(expiry)),
            CellState::Tombstone(time) => {
                let ldt = self.local_deletion_time(time);
                self.push(format_args!(r#","ttl":null,"ldt":{ldt}"#));
            }
        }
        self.push(format_args!(",\"val\":{}}}", OrNull(value)));
    }

    fn marker(&mut self, marker: &Marker<'_>) {
        let is_boundary = marker.close.is_some() && marker.open.is_some();
        let shape = if is_boundary { "boundary" } else { "bound" };
        let kind = marker.kind.name();
        self.push(format_args!(r#"{{"t":"{shape}","kind":"{kind}","#));
        self.clustering(&marker.clustering);
        self.out.push(',');
        if is_boundary {
            self.deletion("close", marker.close);
            self.out.push(',');
            self.deletion("open", marker.open);
        } else {
            self.deletion("del", marker.close.or(marker.open));
        }
        self.out.push('}');
    }
}

fn column_name(table: &Table, column: u32) -> &str {
    table
        .columns
        .get(column as usize)
        .map_or("", |column| column.name.as_str())
}
