//! Encodes versions as the bytes of a state.

use super::{EQUAL_TIME, HAS_KEY, HAS_PATH, VERSION, Versions};
use crate::columns::Columns;
use crate::leb128;
use crate::partition::Store;
use crate::version::{Cell, Deletion, Rank};

impl Versions {
    /// Appends the state of these versions.
    pub fn encode(&mut self, pk: &[u8], store: &Store, columns: &Columns, state: &mut Vec<u8>) {
        let mut writer = Writer {
            state,
            last_ts_us: 0,
            last_ldt_s: 0,
        };
        writer.state.push(VERSION);
        writer.state.push(u8::from(self.ck.is_none()));
        writer.bytes(pk);
        if let Some(ck) = self.ck {
            writer.bytes(store.arena.get(ck));
            match self.ckv {
                Some(ckv) => writer.state.extend_from_slice(store.arena.get(ckv)),
                None => writer.count(0),
            }
        }
        writer.count(self.livenesses.len());
        for liveness in &self.livenesses {
            writer.time(liveness.ts_us);
            writer.count(liveness.ttl_s.unsigned_abs() as usize);
            if liveness.ttl_s != 0 {
                writer.expiry(liveness.ldt_s);
            }
        }
        writer.count(self.deletions.len());
        for deletion in &self.deletions {
            writer.deletion(deletion);
        }
        if self.ck.is_none() {
            writer.count(self.ranges.len());
            for range in &self.ranges {
                writer.bytes(store.arena.get(range.low));
                writer.bytes(store.arena.get(range.high));
                writer.deletion(&range.deletion);
            }
        }
        self.encode_columns(store, columns, &mut writer);
    }

    fn encode_columns(&mut self, store: &Store, columns: &Columns, writer: &mut Writer<'_>) {
        let column_of = |index: &usize| store.cells.get(*index).map_or(0, |cell| cell.column);
        let of_cells = self.cells.iter().map(column_of);
        let mut ids: Vec<u32> = self.complex.iter().map(|complex| complex.column).collect();
        ids.extend(of_cells);
        ids.sort_unstable();
        ids.dedup();
        if ids
            .last()
            .is_some_and(|id| !columns.is_in_order_of_names(*id))
        {
            ids.sort_by(|a, b| columns.name(*a).cmp(columns.name(*b)));
        }
        writer.count(ids.len());
        for id in ids {
            writer.bytes(columns.name(id).as_bytes());
            let first = self.complex.partition_point(|complex| complex.column < id);
            let complex = self.complex.get(first..).unwrap_or_default();
            let count = complex.partition_point(|complex| complex.column == id);
            writer.count(count);
            for complex in complex.iter().take(count) {
                writer.state.push(u8::from(!complex.deletion.is_plain));
                writer.deletion(&complex.deletion);
            }
            let first = self.cells.partition_point(|index| column_of(index) < id);
            let cells = self.cells.get(first..).unwrap_or_default();
            let count = cells.partition_point(|index| column_of(index) == id);
            writer.count(count);
            for cell in cells
                .iter()
                .take(count)
                .filter_map(|index| store.cells.get(*index))
            {
                writer.cell(cell, store);
            }
        }
    }
}

struct Writer<'s> {
    state: &'s mut Vec<u8>,
    last_ts_us: i64,
    last_ldt_s: i64,
}

impl Writer<'_> {
    fn count(&mut self, count: usize) {
        leb128::write(self.state, count as u64);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.state.extend_from_slice(bytes);
    }

    fn time(&mut self, ts_us: i64) {
        leb128::write_signed(self.state, ts_us.wrapping_sub(self.last_ts_us));
        self.last_ts_us = ts_us;
    }

    fn expiry(&mut self, ldt_s: i64) {
        leb128::write_signed(self.state, ldt_s.wrapping_sub(self.last_ldt_s));
        self.last_ldt_s = ldt_s;
    }

    fn deletion(&mut self, deletion: &Deletion) {
        self.time(deletion.ts_us);
        self.expiry(deletion.ldt_s);
    }

    fn cell(&mut self, cell: &Cell, store: &Store) {
        let is_shard = cell.rank == Rank::Shard;
        let mut flags = match cell.rank {
            Rank::Live => 0,
            Rank::Expiring => 1,
            Rank::Tombstone => 2,
            Rank::Shard => 3,
        };
        if cell.path.is_some() && !is_shard {
            flags |= HAS_PATH;
        }
        if cell.key.is_some() {
            flags |= HAS_KEY;
        }
        let is_equal = cell.ts_us == self.last_ts_us;
        if is_equal {
            flags |= EQUAL_TIME;
        }
        self.state.push(flags);
        if !is_equal {
            self.time(cell.ts_us);
        }
        if is_shard {
            let id = cell.path.map(|path| store.arena.get(path));
            self.state.extend_from_slice(id.unwrap_or_default());
            leb128::write_signed(self.state, cell.ldt_s);
            self.state.extend_from_slice(store.arena.get(cell.value));
            return;
        }
        for element in [cell.path, cell.key].into_iter().flatten() {
            self.bytes(store.arena.get(element));
        }
        match cell.rank {
            Rank::Expiring => {
                self.count(cell.ttl_s.unsigned_abs() as usize);
                self.expiry(cell.ldt_s);
                self.bytes(store.arena.get(cell.value));
            }
            Rank::Tombstone => self.expiry(cell.ldt_s),
            _ => self.bytes(store.arena.get(cell.value)),
        }
    }
}
