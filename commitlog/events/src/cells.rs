//! The member `cells`: what an exact merge needs and the other members cannot say
//! (`docs/reference/event-format.md`, "cells"). Absent members are null.

use commitlog_core::descriptor::Version;
use commitlog_core::row::{BoundKind, Cell, CellState, Deletion, Expiry, LocalDeletionTime, Row};

use crate::byte_comparable::{Component, write_bound, write_clustering};
use crate::event::{Bound, Content};
use crate::event_text::EventText;
use crate::plan::TablePlan;
use crate::time_text::TimeText;
use crate::token::token;
use crate::value::ValueError;

/// Writes `,"cells":{…}`. `key` is the raw partition key.
pub struct CellsWriter<'w> {
    /// Scratch space for byte-comparable clusterings and elements.
    pub comparable: &'w mut Vec<u8>,
    /// The time that was written last.
    pub time: TimeText,
    pub plan: &'w TablePlan,
    pub version: Version,
    /// An element that does not fit its type. It stands here, since a result of every cell would
    /// go through memory.
    pub refused: Option<ValueError>,
}

type Written<'b> = Result<EventText<'b>, ValueError>;

impl CellsWriter<'_> {
    #[inline]
    pub fn write<'b>(
        &mut self,
        mut text: EventText<'b>,
        key: &[u8],
        content: &Content<'_, '_>,
    ) -> Written<'b> {
        text.literal(b",\"cells\":{\"kind\":\"");
        text.slice(content.kind().name().as_bytes());
        text.fixed(&self.plan.cells_table);
        text.base64(key);
        text.literal(b",\"token\":");
        text.number(token(key));
        match content {
            Content::PartitionDeletion(deletion) => text = self.deletion(text, *deletion),
            Content::RowDeletion {
                clustering,
                deletion,
            } => {
                text = self.clustering(text, clustering)?;
                text = self.deletion(text, *deletion);
            }
            Content::Write(row) => {
                if !row.is_static {
                    text = self.clustering(text, &row.clustering)?;
                }
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
                text.literal(b",\"lo\":");
                text = self.bound(text, start)?;
                text.literal(b",\"hi\":");
                text = self.bound(text, end)?;
                text = self.deletion(text, *deletion);
            }
        }
        text.literal(b"}");
        Ok(text)
    }

    #[inline]
    fn time<'b>(&mut self, mut text: EventText<'b>, us: i64) -> EventText<'b> {
        if us != self.time.us() {
            self.time = TimeText::of(us);
        }
        text.time_us(&self.time);
        text
    }

    #[inline]
    fn clustering<'b>(&mut self, mut text: EventText<'b>, values: &[Option<&[u8]>]) -> Written<'b> {
        text.literal(b",\"ck\":");
        self.comparable.clear();
        write_clustering(self.comparable, components(self.plan, values))?;
        text.base64(self.comparable);
        text.literal(b",\"ckv\":[");
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                text.literal(b",");
            }
            match value {
                Some(value) => text.base64(value),
                None => text.literal(b"null"),
            }
        }
        text.literal(b"]");
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
        text.base64(self.comparable);
        Ok(text)
    }

    fn deletion<'b>(&mut self, mut text: EventText<'b>, deletion: Deletion) -> EventText<'b> {
        text.literal(b",\"del\":{\"ts\":");
        text = self.time(text, deletion.timestamp_us);
        text = self.local_deletion_time(text, deletion.local_deletion_time);
        text.literal(b"}");
        text
    }

    #[inline]
    fn local_deletion_time<'b>(
        &self,
        mut text: EventText<'b>,
        time: LocalDeletionTime,
    ) -> EventText<'b> {
        if !time.is_none(self.version) {
            text.literal(b",\"ldt\":");
            text.number(time.0);
        }
        text
    }

    #[inline]
    fn expiry<'b>(&self, mut text: EventText<'b>, expiry: Expiry) -> EventText<'b> {
        text.literal(b",\"ttl\":");
        text.number(i64::from(expiry.ttl_s));
        self.local_deletion_time(text, expiry.local_deletion_time)
    }

    #[inline]
    fn written<'b>(&mut self, mut text: EventText<'b>, row: &Row<'_>) -> EventText<'b> {
        if let Some(liveness) = row.liveness {
            text.literal(b",\"live\":{\"ts\":");
            text = self.time(text, liveness.timestamp_us);
            if let Some(expiry) = liveness.expiry {
                text = self.expiry(text, expiry);
            }
            text.literal(b"}");
        }
        let has_deletions = match row.complex_deletions.as_slice() {
            [] => false,
            deletions => deletions
                .iter()
                .any(|(column, _)| !self.plan.is_left_out(*column)),
        };
        if has_deletions {
            text.literal(b",\"cdel\":[");
            let deletions = row.complex_deletions.iter();
            let deletions = deletions.filter(|(column, _)| !self.plan.is_left_out(*column));
            for (index, (column, deletion)) in deletions.enumerate() {
                text = self.column(text, index, *column);
                text = self.time(text, deletion.timestamp_us);
                text = self.local_deletion_time(text, deletion.local_deletion_time);
                text.literal(b"}");
            }
            text.literal(b"]");
        }
        if !self.plan.shows_all {
            return self.shown_cells(text, row);
        }
        if !row.cells.is_empty() {
            text.literal(b",\"cell\":[");
            for (index, cell) in row.cells.iter().enumerate() {
                text = self.column(text, index, cell.column);
                text = self.cell(text, cell);
            }
            text.literal(b"]");
        }
        text
    }

    /// The cells of a row less those of columns that are left out.
    #[cold]
    fn shown_cells<'b>(&mut self, mut text: EventText<'b>, row: &Row<'_>) -> EventText<'b> {
        let cells = row.cells.iter();
        let mut cells = cells
            .filter(|cell| !self.plan.is_left_out(cell.column))
            .enumerate();
        let mut next = cells.next();
        if next.is_none() {
            return text;
        }
        text.literal(b",\"cell\":[");
        while let Some((index, cell)) = next {
            text = self.column(text, index, cell.column);
            text = self.cell(text, cell);
            next = cells.next();
        }
        text.literal(b"]");
        text
    }

    /// The start of an object about a column, the `index`th one in its array, up to the time.
    #[inline]
    fn column<'b>(&self, mut text: EventText<'b>, index: usize, column: u32) -> EventText<'b> {
        if index > 0 {
            text.literal(b",");
        }
        if let Some(member) = self.plan.column_members.get(column as usize) {
            text.fixed(&member.cell);
        }
        text
    }

    /// The rest of a cell.
    #[inline]
    fn cell<'b>(&mut self, mut text: EventText<'b>, cell: &Cell<'_>) -> EventText<'b> {
        text = self.time(text, cell.timestamp_us);
        if let Some(path) = cell.path {
            text.literal(b",\"path\":");
            text.base64(path);
            text = self.element(text, cell.column, path);
        }
        match cell.state {
            CellState::Live => {}
            CellState::Expiring(expiry) => text = self.expiry(text, expiry),
            CellState::Tombstone(time) => {
                text = self.local_deletion_time(text, time);
                text.literal(b",\"val\":null}");
                return text;
            }
        }
        text.literal(b",\"val\":");
        text.base64(cell.value);
        text.literal(b"}");
        text
    }

    /// What elements have in common that are one to Cassandra, where their bytes may differ.
    #[inline(never)]
    fn element<'b>(&mut self, mut text: EventText<'b>, column: u32, path: &[u8]) -> EventText<'b> {
        let member = self.plan.column_members.get(column as usize);
        let Some(ty) = member.and_then(|member| member.element_type.as_ref()) else {
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
        text.literal(b",\"key\":");
        text.base64(self.comparable);
        text
    }
}

pub fn components<'c>(
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
