//! Rewrites a transaction's stored update as a commit-log mutation.
//!
//! Accord omits the key and identifies columns by id (`StableHeaderSerializer`). With the key and
//! the column names restored, the bytes form an ordinary update, which [`Decoder`] reads.

use std::sync::Arc;

use super::bytes::{write_uvint, write_vbytes};
use super::column_ids::ColumnIds;
use super::transaction::StoredUpdate;
use super::update_writer::{UpdateWriter, WriteTime};
use crate::cursor::Cursor;
use crate::descriptor::Version;
use crate::error::{DecodeError, Result};
use crate::mutation::{Decoder, update_flag};
use crate::row::{Row, Unfiltered};
use crate::schema::{ColumnKind, Schema, Table};

/// No flags, one update.
const HEAD: [u8; 2] = [0, 1];
/// The bases of times and TTLs: the smallest possible values.
const NO_BASES: [u8; 3] = [0; 3];

/// Rewrites updates with one schema.
pub struct Rewriter {
    decoder: Decoder,
    ids: Arc<ColumnIds>,
}

/// The header of an update, and the unparsed rest.
struct Header<'b> {
    epoch: &'b [u8],
    flags: u8,
    static_columns: Vec<u32>,
    regular_columns: Vec<u32>,
    bases: &'b [u8],
    /// The deletion, the rows and any bytes after the update.
    rest: &'b [u8],
}

impl Rewriter {
    pub fn new(schema: Arc<Schema>, ids: Arc<ColumnIds>) -> Self {
        Self {
            decoder: Decoder::new(schema),
            ids,
        }
    }

    /// Returns the mutation. The result is `None` if the table has no CDC, the update is empty, or
    /// the outcome contains the complete form of a fragment.
    pub fn mutation(
        &mut self,
        update: &StoredUpdate<'_>,
        time: WriteTime,
    ) -> Result<Option<Vec<u8>>> {
        let id = update.key.table;
        let table = self.decoder.schema().table(id);
        let table = Arc::clone(table.ok_or(DecodeError::UnknownTable(id))?);
        if !table.cdc {
            return Ok(None);
        }
        let Some(header) = self.header(update, &table)? else {
            return Ok(None);
        };
        let mut ordinary = start(&table, update, &header, header.flags, header.bases);
        ordinary.extend_from_slice(header.rest);
        // The output has no estimate of the number of rows.
        let flags = header.flags & !update_flag::HAS_ROW_ESTIMATE;
        let out = start(&table, update, &header, flags, &NO_BASES);
        let mut writer = UpdateWriter {
            out,
            table: &table,
            time,
            static_columns: &header.static_columns,
            regular_columns: &header.regular_columns,
        };
        let mut reader = self.decoder.mutation(&ordinary, Version::V9)?;
        if let Some(deletion) = reader.next_update()?.and_then(|update| update.deletion) {
            writer.deletion(deletion);
        }
        let mut row = Row::default();
        while let Some(item) = reader.next_unfiltered(&mut row)? {
            match item {
                Unfiltered::Row => writer.row(&row),
                Unfiltered::Marker(marker) => writer.marker(&marker),
            }
        }
        if update.is_fragment && reader.rest().first() != Some(&0) {
            return Ok(None);
        }
        writer.end();
        Ok(Some(writer.out))
    }

    fn header<'b>(&self, update: &StoredUpdate<'b>, table: &Table) -> Result<Option<Header<'b>>> {
        let mut cursor = Cursor::new(update.bytes);
        if update.tables > 1 {
            cursor.uvint()?;
        }
        let start = cursor;
        cursor.uvint()?;
        let epoch = cursor.bytes_since(&start);
        let flags = cursor.u8()?;
        if flags & update_flag::IS_EMPTY != 0 {
            return Ok(None);
        }
        let (mut static_columns, mut regular_columns) = (Vec::new(), Vec::new());
        for _ in 0..cursor.uvint()? {
            let (kind, index) = self.column(table, cursor.uvint()?)?;
            match kind {
                ColumnKind::Static => static_columns.push(index),
                _ => regular_columns.push(index),
            }
        }
        let start = cursor;
        for _ in 0..3 {
            cursor.uvint()?;
        }
        Ok(Some(Header {
            epoch,
            flags,
            static_columns,
            regular_columns,
            bases: cursor.bytes_since(&start),
            rest: cursor.rest(),
        }))
    }

    fn column(&self, table: &Table, id: u64) -> Result<(ColumnKind, u32)> {
        let unknown = || {
            Box::new(DecodeError::UnknownColumnId {
                table: table.id,
                id,
            })
        };
        let name = self.ids.name(table.id, id).ok_or_else(unknown)?;
        let columns = table.columns.iter().enumerate();
        let mut named = columns.filter(|(_, column)| column.name == name);
        let (index, column) = named.next().ok_or_else(unknown)?;
        Ok((column.kind, index as u32))
    }
}

/// Writes the start of the update, with its key and its column names.
fn start(
    table: &Table,
    update: &StoredUpdate<'_>,
    header: &Header<'_>,
    flags: u8,
    bases: &[u8],
) -> Vec<u8> {
    let mut out = HEAD.to_vec();
    out.extend_from_slice(&table.id.0);
    out.extend_from_slice(header.epoch);
    write_vbytes(&mut out, update.key.key);
    out.push(flags);
    out.extend_from_slice(bases);
    if flags & update_flag::HAS_STATIC_ROW != 0 {
        write_names(&mut out, table, &header.static_columns);
    }
    write_names(&mut out, table, &header.regular_columns);
    out
}

fn write_names(out: &mut Vec<u8>, table: &Table, columns: &[u32]) {
    write_uvint(out, columns.len() as u64);
    for index in columns {
        let column = table.columns.get(*index as usize);
        write_vbytes(out, column.map_or(&[], |column| column.name.as_bytes()));
    }
}
