//! The member `cells` as JSON. Members that do not apply are omitted.

use commitlog_core::row::{Cell, CellState, Deletion, Expiry, Liveness, LocalDeletionTime};

use super::JsonEncoder;
use crate::encoder::visitor::{CellsVisitor, RangeSide};
use crate::encoder::walk::element_key;
use crate::event::Kind;
use crate::event_writer::Out;
use crate::time_text::TimeText;

impl JsonEncoder<'_> {
    #[inline]
    fn time<'b>(&mut self, mut out: Out<'b>, us: i64) -> Out<'b> {
        if us != self.time.us() {
            self.time = TimeText::from_us(us);
        }
        out.time_us(&self.time);
        out
    }

    #[inline]
    fn local_deletion_time<'b>(&self, mut out: Out<'b>, time: LocalDeletionTime) -> Out<'b> {
        if !time.is_none(self.context.version) {
            out.literal(b",\"ldt\":");
            out.number(time.0);
        }
        out
    }

    #[inline]
    fn expiry<'b>(&self, mut out: Out<'b>, expiry: Expiry) -> Out<'b> {
        out.literal(b",\"ttl\":");
        out.number(i64::from(expiry.ttl_s));
        self.local_deletion_time(out, expiry.local_deletion_time)
    }

    /// Starts the object of a column, at `index` in its array, up to the time.
    #[inline]
    fn cell_column<'b>(&self, mut out: Out<'b>, index: usize, column: u32) -> Out<'b> {
        if index > 0 {
            out.literal(b",");
        }
        if let Some(member) = self.plan.column_members.get(column as usize) {
            out.fragment(&member.cell);
        }
        out
    }
}

impl CellsVisitor for JsonEncoder<'_> {
    #[inline]
    fn cells_start<'b>(&mut self, mut out: Out<'b>, kind: Kind, key: &[u8], token: i64) -> Out<'b> {
        out.literal(b",\"cells\":{\"kind\":\"");
        out.slice(kind.name().as_bytes());
        out.fragment(&self.plan.cells_table);
        out.base64(key);
        out.literal(b",\"token\":");
        out.number(token);
        out
    }

    #[inline]
    fn absent<'b>(&mut self, out: Out<'b>, _: usize) -> Out<'b> {
        out
    }

    #[inline]
    fn clustering<'b>(&mut self, mut out: Out<'b>, values: &[Option<&[u8]>]) -> Out<'b> {
        out.literal(b",\"ck\":");
        out.base64(&self.scratch.comparable);
        out.literal(b",\"ckv\":[");
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                out.literal(b",");
            }
            match value {
                Some(value) => out.base64(value),
                None => out.literal(b"null"),
            }
        }
        out.literal(b"]");
        out
    }

    fn range_bound<'b>(&mut self, mut out: Out<'b>, side: RangeSide) -> Out<'b> {
        out.literal(match side {
            RangeSide::Start => b",\"lo\":",
            RangeSide::End => b",\"hi\":",
        });
        out.base64(&self.scratch.comparable);
        out
    }

    #[inline]
    fn liveness<'b>(&mut self, mut out: Out<'b>, liveness: Liveness) -> Out<'b> {
        out.literal(b",\"live\":{\"ts\":");
        out = self.time(out, liveness.timestamp_us);
        if let Some(expiry) = liveness.expiry {
            out = self.expiry(out, expiry);
        }
        out.literal(b"}");
        out
    }

    fn deletion<'b>(&mut self, mut out: Out<'b>, deletion: Deletion) -> Out<'b> {
        out.literal(b",\"del\":{\"ts\":");
        out = self.time(out, deletion.timestamp_us);
        out = self.local_deletion_time(out, deletion.local_deletion_time);
        out.literal(b"}");
        out
    }

    #[inline]
    fn collection_deletions<'b>(&mut self, mut out: Out<'b>, _: usize) -> Out<'b> {
        out.literal(b",\"cdel\":[");
        out
    }

    #[inline]
    fn collection_deletion<'b>(
        &mut self,
        mut out: Out<'b>,
        index: usize,
        column: u32,
        deletion: Deletion,
    ) -> Out<'b> {
        out = self.cell_column(out, index, column);
        out = self.time(out, deletion.timestamp_us);
        out = self.local_deletion_time(out, deletion.local_deletion_time);
        out.literal(b"}");
        out
    }

    #[inline]
    fn cell_array<'b>(&mut self, mut out: Out<'b>, _: usize) -> Out<'b> {
        out.literal(b",\"cell\":[");
        out
    }

    #[inline]
    fn cell<'b>(&mut self, mut out: Out<'b>, index: usize, cell: &Cell<'_>) -> Out<'b> {
        out = self.cell_column(out, index, cell.column);
        out = self.time(out, cell.timestamp_us);
        if let Some(path) = cell.path {
            out.literal(b",\"path\":");
            out.base64(path);
            if let Some(key) = element_key(self.plan, self.scratch, cell.column, path) {
                out.literal(b",\"key\":");
                out.base64(key);
            }
        }
        match cell.state {
            CellState::Live => {}
            CellState::Expiring(expiry) => out = self.expiry(out, expiry),
            CellState::Tombstone(time) => {
                out = self.local_deletion_time(out, time);
                out.literal(b",\"val\":null}");
                return out;
            }
        }
        out.literal(b",\"val\":");
        out.base64(cell.value);
        out.literal(b"}");
        out
    }

    #[inline]
    fn array_end<'b>(&mut self, mut out: Out<'b>) -> Out<'b> {
        out.literal(b"]");
        out
    }

    #[inline]
    fn object_end<'b>(&mut self, mut out: Out<'b>) -> Out<'b> {
        out.literal(b"}");
        out
    }
}
