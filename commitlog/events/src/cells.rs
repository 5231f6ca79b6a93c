//! The member `cells`: what an exact merge needs and the other members cannot say
//! (`docs/event-format.md`, "cells"). Absent members are null.

use commitlog_core::descriptor::Version;
use commitlog_core::row::{BoundKind, Cell, CellState, Deletion, Expiry, LocalDeletionTime, Row};

use crate::byte_comparable::{Component, write_bound, write_clustering};
use crate::event::{Bound, Content};
use crate::hash::token;
use crate::plan::TablePlan;
use crate::time_text::TimeText;
use crate::value::ValueError;
use crate::value::json::write_base64;

/// Writes `,"cells":{…}`. `key` is the raw partition key.
pub struct CellsWriter<'w> {
    pub out: &'w mut Vec<u8>,
    /// Scratch space for byte-comparable clusterings.
    pub comparable: &'w mut Vec<u8>,
    pub time: &'w mut TimeText,
    pub plan: &'w TablePlan,
    pub version: Version,
}

impl CellsWriter<'_> {
    pub fn write(&mut self, key: &[u8], content: &Content<'_, '_>) -> Result<(), ValueError> {
        self.literal(b",\"cells\":{\"kind\":\"");
        self.raw(content.kind().name().as_bytes());
        self.raw(&self.plan.cells_table);
        self.base64(key);
        self.literal(b",\"token\":");
        self.number(token(key));
        match content {
            Content::PartitionDeletion(deletion) => self.deletion(*deletion),
            Content::RowDeletion {
                clustering,
                deletion,
            } => {
                self.clustering(clustering)?;
                self.deletion(*deletion);
            }
            Content::Write(row) => {
                if !row.is_static {
                    self.clustering(&row.clustering)?;
                }
                self.written(row);
            }
            Content::RangeDeletion {
                start,
                end,
                deletion,
            } => {
                self.bound(b",\"lo\":", start)?;
                self.bound(b",\"hi\":", end)?;
                self.deletion(*deletion);
            }
        }
        self.literal(b"}");
        Ok(())
    }

    fn raw(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// Bytes whose number the compiler knows, which it can copy without a call.
    #[inline]
    fn literal<const N: usize>(&mut self, bytes: &[u8; N]) {
        self.out.extend_from_slice(bytes);
    }

    fn time(&mut self, us: i64) {
        self.time.write_us(self.out, us);
    }

    fn number(&mut self, number: impl itoa::Integer) {
        let mut buffer = itoa::Buffer::new();
        self.out.extend_from_slice(buffer.format(number).as_bytes());
    }

    fn base64(&mut self, bytes: &[u8]) {
        write_base64(self.out, bytes);
    }

    fn clustering(&mut self, values: &[Option<&[u8]>]) -> Result<(), ValueError> {
        self.literal(b",\"ck\":");
        let mut comparable = std::mem::take(self.comparable);
        comparable.clear();
        let written = write_clustering(&mut comparable, components(self.plan, values));
        self.base64(&comparable);
        *self.comparable = comparable;
        written?;
        self.literal(b",\"ckv\":[");
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                self.literal(b",");
            }
            match value {
                Some(value) => self.base64(value),
                None => self.literal(b"null"),
            }
        }
        self.literal(b"]");
        Ok(())
    }

    fn bound(&mut self, member: &[u8], bound: &Bound<'_, '_>) -> Result<(), ValueError> {
        // Both ends of a half-open range stand before or after everything with their prefix.
        let is_after = matches!(
            bound.kind,
            BoundKind::ExclusiveStart | BoundKind::InclusiveEnd
        );
        self.raw(member);
        let mut comparable = std::mem::take(self.comparable);
        comparable.clear();
        let written = write_bound(
            &mut comparable,
            components(self.plan, bound.clustering),
            is_after,
        );
        self.base64(&comparable);
        *self.comparable = comparable;
        written
    }

    fn deletion(&mut self, deletion: Deletion) {
        self.literal(b",\"del\":{\"ts\":");
        self.time(deletion.timestamp_us);
        self.local_deletion_time(deletion.local_deletion_time);
        self.literal(b"}");
    }

    fn local_deletion_time(&mut self, time: LocalDeletionTime) {
        if !time.is_none(self.version) {
            self.literal(b",\"ldt\":");
            self.number(time.0);
        }
    }

    fn expiry(&mut self, expiry: Expiry) {
        self.literal(b",\"ttl\":");
        self.number(expiry.ttl_s);
        self.local_deletion_time(expiry.local_deletion_time);
    }

    fn written(&mut self, row: &Row<'_>) {
        if let Some(liveness) = row.liveness {
            self.literal(b",\"live\":{\"ts\":");
            self.time(liveness.timestamp_us);
            if let Some(expiry) = liveness.expiry {
                self.expiry(expiry);
            }
            self.literal(b"}");
        }
        if !row.complex_deletions.is_empty() {
            self.literal(b",\"cdel\":[");
            for (index, (column, deletion)) in row.complex_deletions.iter().enumerate() {
                self.column(index, *column);
                self.time(deletion.timestamp_us);
                self.local_deletion_time(deletion.local_deletion_time);
                self.literal(b"}");
            }
            self.literal(b"]");
        }
        if !row.cells.is_empty() {
            self.literal(b",\"cell\":[");
            for (index, cell) in row.cells.iter().enumerate() {
                self.column(index, cell.column);
                self.cell(cell);
            }
            self.literal(b"]");
        }
    }

    /// The start of an object about a column, the `index`th one in its array, up to the time.
    fn column(&mut self, index: usize, column: u32) {
        if index > 0 {
            self.out.push(b',');
        }
        if let Some(member) = self.plan.column_members.get(column as usize) {
            member.cell.write(self.out);
        }
    }

    /// The rest of a cell.
    fn cell(&mut self, cell: &Cell<'_>) {
        self.time(cell.timestamp_us);
        if let Some(path) = cell.path {
            self.literal(b",\"path\":");
            self.base64(path);
        }
        match cell.state {
            CellState::Live => {}
            CellState::Expiring(expiry) => self.expiry(expiry),
            CellState::Tombstone(time) => {
                self.local_deletion_time(time);
                self.literal(b",\"val\":null}");
                return;
            }
        }
        self.literal(b",\"val\":");
        self.base64(cell.value);
        self.literal(b"}");
    }
}

fn components<'c>(
    plan: &'c TablePlan,
    values: &'c [Option<&'c [u8]>],
) -> impl Iterator<Item = Component<'c>> {
    let columns = plan.table.clustering.iter().zip(values);
    columns.map(|(column, value)| Component {
        ty: &column.cql_type,
        reversed: column.reversed,
        value: *value,
    })
}
