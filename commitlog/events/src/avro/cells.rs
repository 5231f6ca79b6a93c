//! The member `cells` as Avro: what the JSON has, bytes as they are.

use commitlog_core::descriptor::Version;
use commitlog_core::row::{BoundKind, Cell, CellState, Deletion, Expiry, LocalDeletionTime, Row};

use super::plan::AvroPlan;
use super::time_varint::TimeVarint;
use super::value::{END, NULL, THERE, Written, block};
use crate::byte_comparable::{Component, write_bound, write_clustering};
use crate::cells::components;
use crate::event::{Bound, Content};
use crate::event_text::EventText;
use crate::plan::TablePlan;
use crate::token::token;
use crate::value::ValueError;

/// Writes `cells`. `key` is the raw partition key.
pub struct CellsWriter<'w> {
    /// Scratch space for byte-comparable clusterings and elements.
    pub comparable: &'w mut Vec<u8>,
    /// The time that was written last.
    pub time: TimeVarint,
    pub plan: &'w TablePlan,
    pub avro: &'w AvroPlan,
    pub version: Version,
    /// An element that does not fit its type. It stands here, since a result of every cell would
    /// go through memory.
    pub refused: Option<ValueError>,
}

impl CellsWriter<'_> {
    #[inline]
    pub fn write<'b>(
        &mut self,
        mut text: EventText<'b>,
        key: &[u8],
        content: &Content<'_, '_>,
    ) -> Written<'b> {
        text.literal(THERE);
        text.bytes(content.kind().name().as_bytes());
        text.fixed(&self.avro.table_id);
        text.bytes(key);
        text.varint(token(key));
        match content {
            // ck, ckv, lo, hi, live; del; cdel, cell.
            Content::PartitionDeletion(deletion) => {
                text.literal(&[0; 5]);
                text = self.deletion(text, *deletion);
                text.literal(&[0; 2]);
            }
            Content::RowDeletion {
                clustering,
                deletion,
            } => {
                text = self.clustering(text, clustering)?;
                text.literal(&[0; 3]);
                text = self.deletion(text, *deletion);
                text.literal(&[0; 2]);
            }
            Content::Write(row) => {
                if row.is_static {
                    text.literal(&[0; 2]);
                } else {
                    text = self.clustering(text, &row.clustering)?;
                }
                text.literal(&[0; 2]);
                text = self.written(text, row);
                if let Some(error) = self.refused.take() {
                    return Err(error);
                }
            }
            Content::RangeDeletion {
                start,
                end,
                deletion,
            } => {
                text.literal(&[0; 2]);
                text = self.bound(text, start)?;
                text = self.bound(text, end)?;
                text.literal(NULL);
                text = self.deletion(text, *deletion);
                text.literal(&[0; 2]);
            }
        }
        Ok(text)
    }

    #[inline]
    fn clustering<'b>(&mut self, mut text: EventText<'b>, values: &[Option<&[u8]>]) -> Written<'b> {
        self.comparable.clear();
        write_clustering(self.comparable, components(self.plan, values))?;
        text.literal(THERE);
        text.bytes(self.comparable);
        text.literal(THERE);
        text = block(text, values.len() as i64);
        for value in values {
            match value {
                Some(value) => {
                    text.literal(THERE);
                    text.bytes(value);
                }
                None => text.literal(NULL),
            }
        }
        text.literal(END);
        Ok(text)
    }

    fn bound<'b>(&mut self, mut text: EventText<'b>, bound: &Bound<'_, '_>) -> Written<'b> {
        // Both ends of a half-open range stand before or after everything with their prefix.
        let is_after = matches!(
            bound.kind,
            BoundKind::ExclusiveStart | BoundKind::InclusiveEnd
        );
        self.comparable.clear();
        let components = components(self.plan, bound.clustering);
        write_bound(self.comparable, components, is_after)?;
        text.literal(THERE);
        text.bytes(self.comparable);
        Ok(text)
    }

    /// `del`.
    fn deletion<'b>(&mut self, mut text: EventText<'b>, deletion: Deletion) -> EventText<'b> {
        text.literal(THERE);
        text = self.time.write(text, deletion.timestamp_us);
        self.local_deletion_time(text, deletion.local_deletion_time)
    }

    #[inline]
    fn local_deletion_time<'b>(
        &self,
        mut text: EventText<'b>,
        time: LocalDeletionTime,
    ) -> EventText<'b> {
        if time.is_none(self.version) {
            text.literal(NULL);
        } else {
            text.literal(THERE);
            text.varint(time.0);
        }
        text
    }

    #[inline]
    fn expiry<'b>(&self, mut text: EventText<'b>, expiry: Option<Expiry>) -> EventText<'b> {
        let Some(expiry) = expiry else {
            text.literal(&[0; 2]);
            return text;
        };
        text.literal(THERE);
        text.varint(i64::from(expiry.ttl_s));
        self.local_deletion_time(text, expiry.local_deletion_time)
    }

    /// `live`, `del`, `cdel`, `cell`.
    #[inline]
    fn written<'b>(&mut self, mut text: EventText<'b>, row: &Row<'_>) -> EventText<'b> {
        match row.liveness {
            Some(liveness) => {
                text.literal(THERE);
                text = self.time.write(text, liveness.timestamp_us);
                text = self.expiry(text, liveness.expiry);
            }
            None => text.literal(NULL),
        }
        text.literal(NULL);
        let plan = self.plan;
        let deletions = row.complex_deletions.iter();
        let deletions = deletions.filter(|(column, _)| !plan.is_left_out(*column));
        let count = deletions.clone().count() as i64;
        text.literal(if count == 0 { NULL } else { THERE });
        if count > 0 {
            text = block(text, count);
            for (column, deletion) in deletions {
                text = self.column(text, *column);
                text = self.time.write(text, deletion.timestamp_us);
                text = self.local_deletion_time(text, deletion.local_deletion_time);
            }
            text.literal(END);
        }
        let count = if plan.shows_all {
            row.cells.len()
        } else {
            let cells = row.cells.iter();
            cells.filter(|cell| !plan.is_left_out(cell.column)).count()
        };
        if count == 0 {
            text.literal(NULL);
            return text;
        }
        text.literal(THERE);
        text = block(text, count as i64);
        for cell in &row.cells {
            if plan.shows_all || !plan.is_left_out(cell.column) {
                text = self.column(text, cell.column);
                text = self.cell(text, cell);
            }
        }
        text.literal(END);
        text
    }

    #[inline]
    fn column<'b>(&self, mut text: EventText<'b>, column: u32) -> EventText<'b> {
        if let Some(name) = self.avro.names.get(column as usize) {
            text.fixed(name);
        }
        text
    }

    /// A cell behind the name of its column.
    #[inline]
    fn cell<'b>(&mut self, mut text: EventText<'b>, cell: &Cell<'_>) -> EventText<'b> {
        match cell.path {
            Some(path) => {
                text.literal(THERE);
                text.bytes(path);
                text = self.element(text, cell.column, path);
            }
            None => text.literal(&[0; 2]),
        }
        text = self.time.write(text, cell.timestamp_us);
        match cell.state {
            CellState::Live => text.literal(&[0; 2]),
            CellState::Expiring(expiry) => text = self.expiry(text, Some(expiry)),
            CellState::Tombstone(time) => {
                text.literal(NULL);
                text = self.local_deletion_time(text, time);
                text.literal(NULL);
                return text;
            }
        }
        text.literal(THERE);
        text.bytes(cell.value);
        text
    }

    /// What elements have in common that are one to Cassandra, where their bytes may differ.
    #[inline(never)]
    fn element<'b>(&mut self, mut text: EventText<'b>, column: u32, path: &[u8]) -> EventText<'b> {
        let member = self.plan.column_members.get(column as usize);
        let Some(ty) = member.and_then(|member| member.element_type.as_ref()) else {
            text.literal(NULL);
            return text;
        };
        self.comparable.clear();
        let element = Component {
            ty,
            reversed: false,
            value: Some(path),
        };
        if let Err(error) = write_clustering(self.comparable, [element]) {
            self.refused = Some(error);
        }
        text.literal(THERE);
        text.bytes(self.comparable);
        text
    }
}
