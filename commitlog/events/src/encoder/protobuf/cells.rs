//! The member `cells` as Protobuf. Members that do not apply take no bytes.

use commitlog_core::row::{Cell, CellState, Deletion, Expiry, Liveness, LocalDeletionTime};

use super::ProtobufEncoder;
use crate::encoder::visitor::{CellsVisitor, RangeSide};
use crate::encoder::walk::element_key;
use crate::event::Kind;
use crate::event_writer::Out;
use crate::protobuf::field;

/// Fields of `live`, `del` and `cdel`.
mod times {
    pub const TS: u32 = 1;
    pub const TTL: u32 = 2;
    pub const LDT: u32 = 3;
    /// In `cdel`, where the column comes first.
    pub const TS_AFTER_COLUMN: u32 = 2;
}

impl ProtobufEncoder<'_> {
    #[inline]
    fn local_deletion_time(&mut self, number: u32, time: LocalDeletionTime) {
        if !time.is_none(self.context.version) {
            self.buffer().integer(number, time.0);
        }
    }

    #[inline]
    fn expiry(&mut self, ttl: u32, ldt: u32, expiry: Option<Expiry>) {
        if let Some(expiry) = expiry {
            self.buffer().integer(ttl, expiry.ttl_s.into());
            self.local_deletion_time(ldt, expiry.local_deletion_time);
        }
    }

    #[inline]
    fn open_column(&mut self, number: u32, column: u32) {
        let names = &self.protobuf.names;
        let buffer = &mut self.scratch.message;
        buffer.open(number);
        if let Some(name) = names.get(column as usize) {
            buffer.raw(name);
        }
    }
}

impl CellsVisitor for ProtobufEncoder<'_> {
    #[inline]
    fn cells_start<'b>(&mut self, out: Out<'b>, kind: Kind, key: &[u8], token: i64) -> Out<'b> {
        let table_id = &self.protobuf.table_id;
        let buffer = &mut self.scratch.message;
        buffer.open(field::CELLS);
        buffer.text(field::cells::KIND, kind.name().as_bytes());
        buffer.raw(table_id);
        buffer.text(field::cells::PK, key);
        buffer.fixed64(field::cells::TOKEN, token.to_le_bytes());
        out
    }

    #[inline]
    fn absent<'b>(&mut self, out: Out<'b>, _: usize) -> Out<'b> {
        out
    }

    #[inline]
    fn clustering<'b>(&mut self, out: Out<'b>, values: &[Option<&[u8]>]) -> Out<'b> {
        let scratch = &mut *self.scratch;
        scratch.message.text(field::cells::CK, &scratch.comparable);
        for value in values {
            scratch.message.open(field::cells::CKV);
            if let Some(value) = value {
                scratch.message.text(1, value);
            }
            scratch.message.close();
        }
        out
    }

    fn range_bound<'b>(&mut self, out: Out<'b>, side: RangeSide) -> Out<'b> {
        let number = match side {
            RangeSide::Start => field::cells::LO,
            RangeSide::End => field::cells::HI,
        };
        let scratch = &mut *self.scratch;
        scratch.message.text(number, &scratch.comparable);
        out
    }

    #[inline]
    fn liveness<'b>(&mut self, out: Out<'b>, liveness: Liveness) -> Out<'b> {
        let buffer = self.buffer();
        buffer.open(field::cells::LIVE);
        buffer.integer(times::TS, liveness.timestamp_us);
        self.expiry(times::TTL, times::LDT, liveness.expiry);
        self.buffer().close();
        out
    }

    fn deletion<'b>(&mut self, out: Out<'b>, deletion: Deletion) -> Out<'b> {
        let buffer = self.buffer();
        buffer.open(field::cells::DEL);
        buffer.integer(times::TS, deletion.timestamp_us);
        self.local_deletion_time(times::LDT, deletion.local_deletion_time);
        self.buffer().close();
        out
    }

    #[inline]
    fn collection_deletions<'b>(&mut self, out: Out<'b>, _: usize) -> Out<'b> {
        out
    }

    #[inline]
    fn collection_deletion<'b>(
        &mut self,
        out: Out<'b>,
        _: usize,
        column: u32,
        deletion: Deletion,
    ) -> Out<'b> {
        self.open_column(field::cells::CDEL, column);
        let buffer = self.buffer();
        buffer.integer(times::TS_AFTER_COLUMN, deletion.timestamp_us);
        self.local_deletion_time(times::LDT, deletion.local_deletion_time);
        self.buffer().close();
        out
    }

    #[inline]
    fn cell_array<'b>(&mut self, out: Out<'b>, _: usize) -> Out<'b> {
        out
    }

    #[inline]
    fn cell<'b>(&mut self, out: Out<'b>, _: usize, cell: &Cell<'_>) -> Out<'b> {
        use field::cell as number;

        self.open_column(field::cells::CELL, cell.column);
        if let Some(path) = cell.path {
            self.buffer().text(number::PATH, path);
            if element_key(self.plan, self.scratch, cell.column, path).is_some() {
                let scratch = &mut *self.scratch;
                scratch.message.text(number::KEY, &scratch.comparable);
            }
        }
        self.buffer().integer(number::TS, cell.timestamp_us);
        match cell.state {
            CellState::Live => self.buffer().text(number::VAL, cell.value),
            CellState::Expiring(expiry) => {
                self.expiry(number::TTL, number::LDT, Some(expiry));
                self.buffer().text(number::VAL, cell.value);
            }
            CellState::Tombstone(time) => self.local_deletion_time(number::LDT, time),
        }
        self.buffer().close();
        out
    }

    #[inline]
    fn array_end<'b>(&mut self, out: Out<'b>) -> Out<'b> {
        out
    }

    /// Ends a nested message, or writes the complete outermost message.
    #[inline]
    fn object_end<'b>(&mut self, mut out: Out<'b>) -> Out<'b> {
        let buffer = self.buffer();
        if buffer.is_nested() {
            buffer.close();
        } else {
            out.slice(buffer.bytes());
        }
        out
    }
}
