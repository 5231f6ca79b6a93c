//! Rows, cells and range-tombstone markers (`UnfilteredSerializer`, `Cell.Serializer`,
//! `ClusteringPrefix.Serializer`; format notes §4.6 to §4.10).

// The cursor stays in registers as long as no function is called.
#![allow(clippy::inline_always)]

use crate::columns::{ListedColumn, Subset, ValueLength};
use crate::cursor::Cursor;
use crate::error::{DecodeError, Result};
use crate::row::{BoundKind, Cell, CellState, Expiry, Liveness, Marker, Row};
use crate::times::Times;

/// Clustering values come in batches, each after a header with two bits for each value.
const CLUSTERING_BATCH: usize = 32;

pub(crate) mod row_flag {
    pub const END_OF_PARTITION: u8 = 0x01;
    pub const IS_MARKER: u8 = 0x02;
    pub const HAS_TIMESTAMP: u8 = 0x04;
    pub const HAS_TTL: u8 = 0x08;
    pub const HAS_DELETION: u8 = 0x10;
    pub const HAS_ALL_COLUMNS: u8 = 0x20;
    pub const HAS_COMPLEX_DELETION: u8 = 0x40;
    pub const EXTENSION: u8 = 0x80;
    pub const EXTENDED_IS_STATIC: u8 = 0x01;
    pub const EXTENDED_HAS_SHADOWABLE_DELETION: u8 = 0x02;
}

pub(crate) mod cell_flag {
    pub const IS_DELETED: u8 = 0x01;
    pub const IS_EXPIRING: u8 = 0x02;
    pub const HAS_EMPTY_VALUE: u8 = 0x04;
    pub const USE_ROW_TIMESTAMP: u8 = 0x08;
    pub const USE_ROW_TTL: u8 = 0x10;
    pub const KNOWN: u8 = 0x1f;
}

/// Reads the items of one partition update.
pub(crate) struct UnfilteredReader<'a> {
    pub times: &'a Times,
    /// Value lengths of the clustering columns.
    pub clustering: &'a [ValueLength],
    /// Reused for each row.
    pub subset: &'a mut Subset,
}

impl UnfilteredReader<'_> {
    /// Reads the static row, including its flags.
    #[inline(never)]
    pub fn static_row<'p>(
        &mut self,
        cursor: &mut Cursor<'p>,
        columns: &[ListedColumn],
        row: &mut Row<'p>,
    ) -> Result<()> {
        let flags = cursor.u8()?;
        if flags & row_flag::EXTENSION == 0 {
            return Err(DecodeError::out_of_range("flags of a static row", flags));
        }
        row.clear();
        row.is_static = true;
        let extended = cursor.u8()?;
        if extended & row_flag::EXTENDED_IS_STATIC == 0 {
            return Err(DecodeError::out_of_range(
                "extended flags of a static row",
                extended,
            ));
        }
        self.row_body(cursor, flags, extended, columns, row)
    }

    /// Reads a row after its first flags byte.
    #[inline(always)]
    pub fn row<'p>(
        &mut self,
        cursor: &mut Cursor<'p>,
        flags: u8,
        columns: &[ListedColumn],
        row: &mut Row<'p>,
    ) -> Result<()> {
        row.clear();
        let extended = if flags & row_flag::EXTENSION == 0 {
            0
        } else {
            cursor.u8()?
        };
        if extended & !row_flag::EXTENDED_HAS_SHADOWABLE_DELETION != 0 {
            return Err(DecodeError::out_of_range(
                "extended flags of a row",
                extended,
            ));
        }
        read_clustering(cursor, self.clustering, &mut row.clustering)?;
        self.row_body(cursor, flags, extended, columns, row)
    }

    #[inline(always)]
    fn row_body<'p>(
        &mut self,
        cursor: &mut Cursor<'p>,
        flags: u8,
        extended: u8,
        columns: &[ListedColumn],
        row: &mut Row<'p>,
    ) -> Result<()> {
        if flags & row_flag::HAS_TIMESTAMP != 0 {
            let timestamp_us = self.times.timestamp(cursor)?;
            let expiry = if flags & row_flag::HAS_TTL == 0 {
                None
            } else {
                Some(cursor.out_of_line(|c| self.row_expiry(c))?)
            };
            row.liveness = Some(Liveness {
                timestamp_us,
                expiry,
            });
        } else if flags & row_flag::HAS_TTL != 0 {
            return Err(DecodeError::out_of_range(
                "flags of a row (TTL without timestamp)",
                flags,
            ));
        }
        if flags & row_flag::HAS_DELETION != 0 {
            row.deletion = Some(cursor.out_of_line(|c| self.times.deletion(c))?);
            row.deletion_is_shadowable = extended & row_flag::EXTENDED_HAS_SHADOWABLE_DELETION != 0;
        }
        let has_complex_deletion = flags & row_flag::HAS_COMPLEX_DELETION != 0;
        if flags & row_flag::HAS_ALL_COLUMNS != 0 {
            for column in columns {
                self.column(cursor, column, has_complex_deletion, row)?;
            }
        } else {
            cursor.out_of_line(|c| self.subset.read(c, columns.len()))?;
            for index in self.subset.present() {
                if let Some(column) = columns.get(*index as usize) {
                    self.column(cursor, column, has_complex_deletion, row)?;
                }
            }
        }
        Ok(())
    }

    #[inline(never)]
    fn row_expiry(&self, cursor: &mut Cursor<'_>) -> Result<Expiry> {
        Ok(Expiry {
            ttl_s: self.times.ttl(cursor)?,
            local_deletion_time: self.times.local_deletion_time(cursor)?,
        })
    }

    #[inline(always)]
    fn column<'p>(
        &self,
        cursor: &mut Cursor<'p>,
        column: &ListedColumn,
        has_complex_deletion: bool,
        row: &mut Row<'p>,
    ) -> Result<()> {
        if !column.multi_cell {
            return self.cell(cursor, column, row);
        }
        if has_complex_deletion {
            let deletion = cursor.out_of_line(|c| self.times.deletion(c))?;
            if !deletion.is_live() {
                row.complex_deletions.push((column.index, deletion));
            }
        }
        let count = cursor.uvint()?;
        for _ in 0..count {
            self.cell(cursor, column, row)?;
        }
        Ok(())
    }

    #[inline(always)]
    fn cell<'p>(
        &self,
        cursor: &mut Cursor<'p>,
        column: &ListedColumn,
        row: &mut Row<'p>,
    ) -> Result<()> {
        let flags = cursor.u8()?;
        // Most cells are live and use the row's timestamp.
        let (timestamp_us, state) = match row.liveness {
            Some(liveness)
                if flags & !cell_flag::HAS_EMPTY_VALUE == cell_flag::USE_ROW_TIMESTAMP =>
            {
                (liveness.timestamp_us, CellState::Live)
            }
            liveness => cursor.out_of_line(|c| self.cell_times(c, flags, liveness))?,
        };
        let path = if column.multi_cell {
            Some(cursor.vbytes()?)
        } else {
            None
        };
        let value = if flags & cell_flag::HAS_EMPTY_VALUE != 0 {
            &[]
        } else {
            // Elements have a length prefix, regardless of their type (§4.8.2).
            match column.value_length {
                ValueLength::Fixed(length) if !column.multi_cell => cursor.bytes(length)?,
                _ => cursor.vbytes()?,
            }
        };
        row.cells.push(Cell {
            column: column.index,
            state,
            timestamp_us,
            path,
            value,
        });
        Ok(())
    }

    /// Reads the timestamp and state of a cell, between its flags and its path.
    #[inline(never)]
    fn cell_times(
        &self,
        cursor: &mut Cursor<'_>,
        flags: u8,
        liveness: Option<Liveness>,
    ) -> Result<(i64, CellState)> {
        let is_deleted = flags & cell_flag::IS_DELETED != 0;
        let is_expiring = flags & cell_flag::IS_EXPIRING != 0;
        if flags & !cell_flag::KNOWN != 0 || is_deleted && is_expiring {
            return Err(DecodeError::out_of_range("flags of a cell", flags));
        }
        let timestamp_us = if flags & cell_flag::USE_ROW_TIMESTAMP == 0 {
            self.times.timestamp(cursor)?
        } else {
            let Some(liveness) = liveness else {
                let subject = "flags of a cell (no row timestamp)";
                return Err(DecodeError::out_of_range(subject, flags));
            };
            liveness.timestamp_us
        };
        let state = if flags & cell_flag::USE_ROW_TTL != 0 {
            match liveness.and_then(|liveness| liveness.expiry) {
                Some(expiry) if is_expiring => CellState::Expiring(expiry),
                _ => {
                    let subject = "flags of a cell (no row TTL)";
                    return Err(DecodeError::out_of_range(subject, flags));
                }
            }
        } else if is_deleted {
            CellState::Tombstone(self.times.local_deletion_time(cursor)?)
        } else if is_expiring {
            // The reverse order of the row's liveness.
            let local_deletion_time = self.times.local_deletion_time(cursor)?;
            CellState::Expiring(Expiry {
                ttl_s: self.times.ttl(cursor)?,
                local_deletion_time,
            })
        } else {
            CellState::Live
        };
        Ok((timestamp_us, state))
    }

    /// Reads a range-tombstone marker after its flags byte.
    #[inline(never)]
    pub fn marker<'p>(&self, cursor: &mut Cursor<'p>) -> Result<Marker<'p>> {
        let ordinal = cursor.u8()?;
        let Some(kind) = BoundKind::from_ordinal(ordinal) else {
            return Err(DecodeError::out_of_range(
                "kind of a range-tombstone marker",
                ordinal,
            ));
        };
        let size = cursor.u16()?;
        let Some(columns) = self.clustering.get(..usize::from(size)) else {
            return Err(DecodeError::out_of_range(
                "number of clustering values of a range-tombstone marker",
                size,
            ));
        };
        let mut clustering = Vec::with_capacity(columns.len());
        read_clustering(cursor, columns, &mut clustering)?;
        // A boundary has both deletions; the deletion of the ending range comes first.
        let close = match kind.closing() {
            Some(_) => Some(self.times.deletion(cursor)?),
            None => None,
        };
        let open = match kind.opening() {
            Some(_) => Some(self.times.deletion(cursor)?),
            None => None,
        };
        Ok(Marker {
            kind,
            clustering,
            close,
            open,
        })
    }
}

/// Reads clustering values, one for each of `columns` (§4.8.1).
#[inline(always)]
fn read_clustering<'p>(
    cursor: &mut Cursor<'p>,
    columns: &[ValueLength],
    values: &mut Vec<Option<&'p [u8]>>,
) -> Result<()> {
    for batch in columns.chunks(CLUSTERING_BATCH) {
        let mut header = cursor.uvint()?;
        for length in batch {
            let value = match header & 0b11 {
                0b00 => Some(match length {
                    ValueLength::Fixed(length) => cursor.bytes(*length)?,
                    ValueLength::Prefixed => cursor.vbytes()?,
                }),
                0b01 => Some(&[][..]),
                _ => None,
            };
            values.push(value);
            header >>= 2;
        }
    }
    Ok(())
}
