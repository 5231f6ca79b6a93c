//! Mutations: one or more partition updates of one partition key (`Mutation.MutationSerializer`,
//! `PartitionUpdate.PartitionUpdateSerializer`, `UnfilteredSerializer`; format notes §4).
//!
//! [`Decoder`] caches the tables and column lists of a schema; [`MutationReader`] reads the updates
//! and rows of one payload. An update does not store its length, so the reader must finish it to
//! find the next.

// Inlining keeps arguments and results in registers.
#![allow(clippy::inline_always)]

mod versions;

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::columns::{ColumnLists, Subset, ValueLength};
use crate::cursor::Cursor;
use crate::descriptor::Version;
use crate::error::{DecodeError, Result};
use crate::head::Head;
use crate::row::{Deletion, Row, Unfiltered};
use crate::schema::{ColumnKind, Schema, Table, TableId};
use crate::times::Times;
use crate::unfiltered::{self, row_flag};
use versions::MOST_READINGS;

pub(crate) mod update_flag {
    pub const IS_EMPTY: u8 = 0x01;
    pub const HAS_PARTITION_DELETION: u8 = 0x04;
    pub const HAS_STATIC_ROW: u8 = 0x08;
    pub const HAS_ROW_ESTIMATE: u8 = 0x10;
    /// `IS_REVERSED` (0x02) is never written to a commit log.
    pub const KNOWN: u8 = 0x1d;
}

/// Decodes payloads with one schema.
pub struct Decoder {
    schema: Arc<Schema>,
    /// One plan for each table and epoch in the updates so far.
    plans: Vec<TablePlan>,
    places: FxHashMap<(TableId, i64), usize>,
    /// Index of the latest plan: most updates belong to the same table as the previous update.
    last: usize,
    /// Reused for each row.
    subset: Subset,
}

/// Stands for the epoch of updates without an epoch.
const NO_EPOCH: i64 = i64::MAX;

/// The data for decoding the updates of a table.
struct TablePlan {
    table: Arc<Table>,
    epoch: i64,
    /// Whether columns were re-added with a different type.
    has_versions: bool,
    clustering: Vec<ValueLength>,
    static_lists: ColumnLists,
    regular_lists: ColumnLists,
}

impl TablePlan {
    fn new(table: Arc<Table>, epoch: i64) -> Self {
        Self {
            epoch,
            clustering: table
                .clustering
                .iter()
                .map(|column| ValueLength::from_fixed(column.cql_type.fixed_length()))
                .collect(),
            has_versions: table.has_versions(),
            table,
            static_lists: ColumnLists::default(),
            regular_lists: ColumnLists::default(),
        }
    }
}

/// A position in a payload at which reading can resume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResumePoint {
    /// Offset of the first byte of an update.
    pub offset: usize,
    /// Index of that update in its mutation.
    pub index: u64,
}

/// The part of a partition update before its rows.
#[derive(Debug, Clone)]
pub struct Update<'p> {
    /// See [`MutationReader::table`].
    pub table_id: TableId,
    /// Index in the mutation, and the number of updates in it.
    pub index: u64,
    pub updates: u64,
    /// The serialized key: composite keys include their framing (§6.3).
    pub key: &'p [u8],
    /// The epoch of the table's metadata at the time of the update ([`read_epoch`]); `None` before
    /// version 9.
    pub epoch: Option<i64>,
    pub deletion: Option<Deletion>,
}

/// Reads the epoch of an update (`Epoch.EpochSerializer`, format notes §4.2). It is stored as an
/// unsigned 64-bit number, but its value is signed. The two lowest belong to an upgrade to 6.0.
#[inline(always)]
pub(crate) fn read_epoch(cursor: &mut Cursor<'_>, version: Version) -> Result<Option<i64>> {
    if version.has_table_epochs() {
        Ok(Some(cursor.uvint()?.cast_signed()))
    } else {
        Ok(None)
    }
}

impl Decoder {
    pub fn new(schema: Arc<Schema>) -> Self {
        Self {
            schema,
            plans: Vec::new(),
            places: FxHashMap::default(),
            last: 0,
            subset: Subset::default(),
        }
    }

    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Returns the index of a table's plan.
    #[inline]
    fn place(&mut self, id: TableId, epoch: i64) -> Result<usize> {
        if self
            .plans
            .get(self.last)
            .is_none_or(|plan| plan.table.id != id || plan.epoch != epoch)
        {
            self.last = self.find(id, epoch)?;
        }
        Ok(self.last)
    }

    fn find(&mut self, id: TableId, epoch: i64) -> Result<usize> {
        if let Some(place) = self.places.get(&(id, epoch)) {
            return Ok(*place);
        }
        let known_epoch = Some(epoch).filter(|epoch| *epoch != NO_EPOCH);
        let table = self.schema.table_at(id, known_epoch);
        let table = table.ok_or(DecodeError::UnknownTable(id))?;
        let place = self.plans.len();
        self.plans.push(TablePlan::new(table, epoch));
        self.places.insert((id, epoch), place);
        Ok(place)
    }

    /// Reads only the head of a payload; returns it and a cursor at the updates.
    #[inline]
    pub fn head<'p>(&self, payload: &'p [u8], version: Version) -> Result<(Head, Cursor<'p>)> {
        Head::read(payload, version)
    }

    /// Reads the epoch of the first update at the cursor from [`Self::head`].
    #[inline]
    pub fn first_epoch(updates: &Cursor<'_>, version: Version) -> Option<i64> {
        let mut updates = *updates;
        updates.uuid().ok()?;
        read_epoch(&mut updates, version).ok()?
    }

    /// Starts to read a payload.
    pub fn mutation<'d, 'p>(
        &'d mut self,
        payload: &'p [u8],
        version: Version,
    ) -> Result<MutationReader<'d, 'p>> {
        let (head, updates) = self.head(payload, version)?;
        Ok(self.updates(head, updates, version))
    }

    /// Starts to read the updates at the cursor from [`Self::head`].
    #[inline]
    pub fn updates<'d, 'p>(
        &'d mut self,
        head: Head,
        updates: Cursor<'p>,
        version: Version,
    ) -> MutationReader<'d, 'p> {
        MutationReader {
            decoder: self,
            version,
            cursor: updates,
            updates: head.updates,
            next_update: 0,
            place: usize::MAX,
            open: None,
            readings_left: MOST_READINGS,
        }
    }

    /// Starts to read a payload at one of its updates.
    pub fn mutation_from<'d, 'p>(
        &'d mut self,
        payload: &'p [u8],
        version: Version,
        point: ResumePoint,
    ) -> Result<MutationReader<'d, 'p>> {
        let mut mutation = self.mutation(payload, version)?;
        let mut cursor = Cursor::new(payload);
        cursor.bytes(point.offset)?;
        mutation.cursor = cursor;
        mutation.next_update = point.index;
        Ok(mutation)
    }
}

/// The update whose rows are being read.
#[derive(Clone, Copy)]
struct OpenUpdate {
    times: Times,
    /// Indexes into the lists of the table's plan.
    static_list: usize,
    regular_list: usize,
    static_row_is_next: bool,
    row_estimate_is_next: bool,
}

/// Reads the partition updates of one payload and their rows.
pub struct MutationReader<'d, 'p> {
    decoder: &'d mut Decoder,
    version: Version,
    cursor: Cursor<'p>,
    updates: u64,
    next_update: u64,
    /// Index of the plan for the current update's table.
    place: usize,
    open: Option<OpenUpdate>,
    readings_left: u32,
}

impl<'p> MutationReader<'_, 'p> {
    /// Returns the table of the current update, or `None` before the first update.
    pub fn table(&self) -> Option<&Arc<Table>> {
        self.decoder.plans.get(self.place).map(|plan| &plan.table)
    }

    /// Returns the columns that the current update lists, as indexes into [`Table::columns`].
    pub fn listed_columns(&self) -> impl Iterator<Item = u32> {
        let plan = self.decoder.plans.get(self.place);
        let lists = self.open.zip(plan).map(|(open, plan)| {
            let regular = plan.regular_lists.columns(open.regular_list);
            let statics = if open.static_row_is_next {
                plan.static_lists.columns(open.static_list)
            } else {
                &[]
            };
            statics.iter().chain(regular)
        });
        lists.into_iter().flatten().map(|column| column.index)
    }

    /// Number of updates in the mutation.
    pub fn updates(&self) -> u64 {
        self.updates
    }

    /// Returns the unread bytes.
    pub fn rest(&self) -> &'p [u8] {
        self.cursor.rest()
    }

    /// Skips the rest of the current update.
    pub(crate) fn finish_update(&mut self) -> Result<()> {
        if self.open.is_some() {
            self.pass_over()?;
        }
        Ok(())
    }

    /// Skips the rest of the current update and reads the next one. No bytes may remain after the
    /// last update.
    #[inline(always)]
    pub fn next_update(&mut self) -> Result<Option<Update<'p>>> {
        self.finish_update()?;
        if self.next_update == self.updates {
            let left = self.cursor.rest().len();
            return if left == 0 {
                Ok(None)
            } else {
                Err(Box::new(DecodeError::TrailingBytes { left }))
            };
        }
        let index = self.next_update;
        self.next_update += 1;

        // A copy stays in registers.
        let mut cursor = self.cursor;
        let table_id = TableId(*cursor.uuid()?);
        let epoch = read_epoch(&mut cursor, self.version)?;
        self.place = self.decoder.place(table_id, epoch.unwrap_or(NO_EPOCH))?;
        let Some(plan) = self.decoder.plans.get_mut(self.place) else {
            return Err(Box::new(DecodeError::UnknownTable(table_id)));
        };
        let key = cursor.vbytes()?;
        let flags = cursor.u8()?;
        let mut update = Update {
            table_id,
            index,
            updates: self.updates,
            key,
            epoch,
            deletion: None,
        };
        if flags & update_flag::IS_EMPTY != 0 {
            self.cursor = cursor;
            return Ok(Some(update));
        }
        if flags & !update_flag::KNOWN != 0 {
            return Err(DecodeError::out_of_range(
                "flags of a partition update",
                flags,
            ));
        }
        let static_row_is_next = flags & update_flag::HAS_STATIC_ROW != 0;
        let times = Times::read(&mut cursor, self.version)?;
        let static_list = if static_row_is_next {
            let lists = &mut plan.static_lists;
            cursor.out_of_line(|c| lists.read(c, &plan.table, ColumnKind::Static))?
        } else {
            0
        };
        let lists = &mut plan.regular_lists;
        let regular_list =
            cursor.out_of_line(|c| lists.read(c, &plan.table, ColumnKind::Regular))?;
        if flags & update_flag::HAS_PARTITION_DELETION != 0 {
            update.deletion = Some(cursor.out_of_line(|c| times.deletion(c))?);
        }
        let has_versions = plan.has_versions;
        self.cursor = cursor;
        self.open = Some(OpenUpdate {
            times,
            static_list,
            regular_list,
            static_row_is_next,
            row_estimate_is_next: flags & update_flag::HAS_ROW_ESTIMATE != 0,
        });
        if has_versions {
            self.choose()?;
        }
        Ok(Some(update))
    }

    /// Reads the current update to its end.
    #[cold]
    fn pass_over(&mut self) -> Result<()> {
        let mut row = Row::default();
        while self.next_unfiltered(&mut row)?.is_some() {}
        Ok(())
    }

    /// Reads the next item of the current update, the static row first; `None` after the last item.
    /// Like Cassandra's reader, it skips empty rows: a statement without an effect leaves one
    /// (format notes §4.7).
    #[inline(always)]
    pub fn next_unfiltered(&mut self, row: &mut Row<'p>) -> Result<Option<Unfiltered<'p>>> {
        // Most updates have one row, so the end is checked before a reader is prepared.
        if let Some(open) = &self.open
            && !open.static_row_is_next
            && !open.row_estimate_is_next
            && let Some((flags, rest)) = self.cursor.rest().split_first()
            && flags & row_flag::END_OF_PARTITION != 0
        {
            self.cursor = Cursor::new(rest);
            self.open = None;
            return Ok(None);
        }
        self.read_unfiltered(row)
    }

    fn read_unfiltered(&mut self, row: &mut Row<'p>) -> Result<Option<Unfiltered<'p>>> {
        let Some(open) = &mut self.open else {
            return Ok(None);
        };
        let Decoder { plans, subset, .. } = &mut *self.decoder;
        let Some(plan) = plans.get(self.place) else {
            return Ok(None);
        };
        let mut cursor = self.cursor;
        let mut reader = unfiltered::UnfilteredReader {
            times: &open.times,
            clustering: &plan.clustering,
            subset,
        };
        if open.static_row_is_next {
            open.static_row_is_next = false;
            let columns = plan.static_lists.columns(open.static_list);
            cursor.out_of_line(|c| reader.static_row(c, columns, row))?;
            if !row.is_empty() {
                self.cursor = cursor;
                return Ok(Some(Unfiltered::Row));
            }
        }
        if open.row_estimate_is_next {
            open.row_estimate_is_next = false;
            cursor.uvint()?;
        }
        let columns = plan.regular_lists.columns(open.regular_list);
        loop {
            let flags = cursor.u8()?;
            if flags & row_flag::END_OF_PARTITION != 0 {
                self.cursor = cursor;
                self.open = None;
                return Ok(None);
            }
            if flags & row_flag::IS_MARKER != 0 {
                let marker = Box::new(cursor.out_of_line(|c| reader.marker(c))?);
                self.cursor = cursor;
                return Ok(Some(Unfiltered::Marker(marker)));
            }
            reader.row(&mut cursor, flags, columns, row)?;
            if !row.is_empty() {
                self.cursor = cursor;
                return Ok(Some(Unfiltered::Row));
            }
        }
    }

    /// Finds the next range-tombstone marker of the current update without moving the cursor.
    /// Returns `None` if there are no more markers.
    pub fn peek_marker(&mut self) -> Result<Option<crate::row::Marker<'p>>> {
        let cursor = self.cursor;
        let open = self.open;
        let mut row = Row::default();
        let found = loop {
            match self.next_unfiltered(&mut row) {
                Ok(Some(Unfiltered::Row)) => {}
                Ok(Some(Unfiltered::Marker(marker))) => break Ok(Some(*marker)),
                Ok(None) => break Ok(None),
                Err(error) => break Err(error),
            }
        };
        self.cursor = cursor;
        self.open = open;
        found
    }
}
