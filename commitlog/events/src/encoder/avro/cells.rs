//! The member `cells` as Avro. Members that do not apply are null.

use commitlog_core::row::{Cell, CellState, Deletion, Expiry, Liveness, LocalDeletionTime};

use super::AvroEncoder;
use crate::avro::value::{END, NULL, THERE, block};
use crate::encoder::visitor::{CellsVisitor, RangeSide};
use crate::encoder::walk::element_key;
use crate::event::Kind;
use crate::event_writer::Out;

impl AvroEncoder<'_> {
    #[inline]
    fn local_deletion_time<'b>(&self, mut out: Out<'b>, time: LocalDeletionTime) -> Out<'b> {
        if time.is_none(self.context.version) {
            out.literal(NULL);
        } else {
            out.literal(THERE);
            out.varint(time.0);
        }
        out
    }

    #[inline]
    fn expiry<'b>(&self, mut out: Out<'b>, expiry: Option<Expiry>) -> Out<'b> {
        let Some(expiry) = expiry else {
            out.literal(&[0; 2]);
            return out;
        };
        out.literal(THERE);
        out.varint(i64::from(expiry.ttl_s));
        self.local_deletion_time(out, expiry.local_deletion_time)
    }

    #[inline]
    fn column_name<'b>(&self, mut out: Out<'b>, column: u32) -> Out<'b> {
        if let Some(name) = self.avro.names.get(column as usize) {
            out.fragment(name);
        }
        out
    }
}

impl CellsVisitor for AvroEncoder<'_> {
    #[inline]
    fn cells_start<'b>(&mut self, mut out: Out<'b>, kind: Kind, key: &[u8], token: i64) -> Out<'b> {
        out.literal(THERE);
        out.bytes(kind.name().as_bytes());
        out.fragment(&self.avro.table_id);
        out.bytes(key);
        out.varint(token);
        out
    }

    #[inline]
    fn absent<'b>(&mut self, mut out: Out<'b>, members: usize) -> Out<'b> {
        out.padded(&[0; 8], members);
        out
    }

    #[inline]
    fn clustering<'b>(&mut self, mut out: Out<'b>, values: &[Option<&[u8]>]) -> Out<'b> {
        out.literal(THERE);
        out.bytes(&self.scratch.comparable);
        out.literal(THERE);
        out = block(out, values.len() as i64);
        for value in values {
            match value {
                Some(value) => {
                    out.literal(THERE);
                    out.bytes(value);
                }
                None => out.literal(NULL),
            }
        }
        out.literal(END);
        out
    }

    fn range_bound<'b>(&mut self, mut out: Out<'b>, _: RangeSide) -> Out<'b> {
        out.literal(THERE);
        out.bytes(&self.scratch.comparable);
        out
    }

    #[inline]
    fn liveness<'b>(&mut self, mut out: Out<'b>, liveness: Liveness) -> Out<'b> {
        out.literal(THERE);
        out = self.time.write(out, liveness.timestamp_us);
        self.expiry(out, liveness.expiry)
    }

    fn deletion<'b>(&mut self, mut out: Out<'b>, deletion: Deletion) -> Out<'b> {
        out.literal(THERE);
        out = self.time.write(out, deletion.timestamp_us);
        self.local_deletion_time(out, deletion.local_deletion_time)
    }

    #[inline]
    fn collection_deletions<'b>(&mut self, mut out: Out<'b>, count: usize) -> Out<'b> {
        out.literal(THERE);
        block(out, count as i64)
    }

    #[inline]
    fn collection_deletion<'b>(
        &mut self,
        mut out: Out<'b>,
        _: usize,
        column: u32,
        deletion: Deletion,
    ) -> Out<'b> {
        out = self.column_name(out, column);
        out = self.time.write(out, deletion.timestamp_us);
        self.local_deletion_time(out, deletion.local_deletion_time)
    }

    #[inline]
    fn cell_array<'b>(&mut self, mut out: Out<'b>, count: usize) -> Out<'b> {
        out.literal(THERE);
        block(out, count as i64)
    }

    #[inline]
    fn cell<'b>(&mut self, mut out: Out<'b>, _: usize, cell: &Cell<'_>) -> Out<'b> {
        out = self.column_name(out, cell.column);
        match cell.path {
            Some(path) => {
                out.literal(THERE);
                out.bytes(path);
                match element_key(self.plan, self.scratch, cell.column, path) {
                    Some(key) => {
                        out.literal(THERE);
                        out.bytes(key);
                    }
                    None => out.literal(NULL),
                }
            }
            None => out.literal(&[0; 2]),
        }
        out = self.time.write(out, cell.timestamp_us);
        match cell.state {
            CellState::Live => out.literal(&[0; 2]),
            CellState::Expiring(expiry) => out = self.expiry(out, Some(expiry)),
            CellState::Tombstone(time) => {
                out.literal(NULL);
                out = self.local_deletion_time(out, time);
                out.literal(NULL);
                return out;
            }
        }
        out.literal(THERE);
        out.bytes(cell.value);
        out
    }

    #[inline]
    fn array_end<'b>(&mut self, mut out: Out<'b>) -> Out<'b> {
        out.literal(END);
        out
    }

    #[inline]
    fn object_end<'b>(&mut self, out: Out<'b>) -> Out<'b> {
        out
    }
}
