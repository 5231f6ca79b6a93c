//! The event id: equal on all replicas, whoever reads the event and however it was stored.
//!
//! The first 16 bytes of BLAKE3 over a canonical form of what the event says, padded with zeros to
//! whole blocks (`docs/event-format.md`, "Event id"). No node, segment, position or clock goes in, and no
//! local deletion time, of which every attempt of a statement has its own.

use commitlog_core::row::{Cell, CellState, Expiry, Row};
use commitlog_core::schema::Table;

use blake3::BLOCK_LEN;

use crate::batch::EventBatch;
use crate::event::{Bound, Content, Kind};
use crate::plan::TablePlan;
use crate::short_hashes::ShortHashes;

/// Version of the canonical form.
const VERSION: u8 = 1;

mod flag {
    /// Of a row: what follows.
    pub const HAS_LIVENESS: u8 = 0x01;
    pub const HAS_TTL: u8 = 0x02;
    pub const HAS_DELETION: u8 = 0x04;
    pub const HAS_COMPLEX_DELETIONS: u8 = 0x08;
    /// Of a cell.
    pub const IS_EXPIRING: u8 = 0x01;
    pub const IS_TOMBSTONE: u8 = 0x02;
    pub const HAS_PATH: u8 = 0x04;
    /// The time is the one that was written last.
    pub const SAME_TIME: u8 = 0x08;
}

/// Reused from event to event.
#[derive(Default)]
pub struct Identity {
    canonical: Vec<u8>,
    order: Vec<u32>,
    hashes: ShortHashes,
}

impl Identity {
    /// Gives the `event`th event of `batch`, one of the partition `key`, its id at once or later.
    pub fn give(
        &mut self,
        batch: &mut EventBatch,
        event: usize,
        plan: &TablePlan,
        key: &[u8],
        content: &Content<'_, '_>,
    ) {
        self.canonical.clear();
        plan.canonical_start.write(&mut self.canonical);
        self.bytes(key);
        self.canonical.push(match content.kind() {
            Kind::Row => 0,
            Kind::Static => 1,
            Kind::Partition => 2,
            Kind::Range => 3,
        });
        match content {
            Content::PartitionDeletion(deletion) => self.time(deletion.timestamp_us),
            Content::RowDeletion {
                clustering,
                deletion,
            } => {
                self.clustering(clustering);
                self.canonical.push(flag::HAS_DELETION);
                self.time(deletion.timestamp_us);
            }
            Content::Write(row) => self.write(plan, row),
            Content::RangeDeletion {
                start,
                end,
                deletion,
            } => {
                self.bound(start);
                self.bound(end);
                self.time(deletion.timestamp_us);
            }
        }
        let length = self.canonical.len().next_multiple_of(BLOCK_LEN);
        self.canonical.resize(length, 0);
        self.hashes
            .add(&self.canonical, event, |event, id| batch.set_id(event, id));
    }

    /// Forgets events that wait, of a batch that was never finished.
    pub fn forget(&mut self) {
        self.hashes.finish(|_, _| {});
    }

    /// Gives the events that wait for their ids theirs.
    pub fn settle(&mut self, batch: &mut EventBatch) {
        self.hashes.finish(|event, id| batch.set_id(event, id));
    }

    #[inline]
    fn count(&mut self, count: usize) {
        write_count(&mut self.canonical, count);
    }

    #[inline]
    fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.canonical.extend_from_slice(bytes);
    }

    #[inline]
    fn time(&mut self, timestamp_us: i64) {
        self.canonical
            .extend_from_slice(&timestamp_us.to_be_bytes());
    }

    #[inline]
    fn column_name(&mut self, plan: &TablePlan, column: u32) {
        if let Some(name) = plan.canonical_name(column) {
            name.write(&mut self.canonical);
        }
    }

    /// No TTL and a TTL of zero are one thing.
    fn ttl(&mut self, ttl_s: i32) {
        self.canonical.extend_from_slice(&ttl_s.to_be_bytes());
    }

    /// A null counts as 0 and a value as one more than its length.
    fn clustering(&mut self, values: &[Option<&[u8]>]) {
        self.count(values.len());
        for value in values {
            match value {
                Some(value) => {
                    self.count(value.len() + 1);
                    self.canonical.extend_from_slice(value);
                }
                None => self.count(0),
            }
        }
    }

    fn bound(&mut self, bound: &Bound<'_, '_>) {
        self.bytes(bound.kind.name().as_bytes());
        self.clustering(bound.clustering);
    }

    fn write(&mut self, plan: &TablePlan, row: &Row<'_>) {
        self.clustering(&row.clustering);
        let ttl_s = row.liveness.and_then(|liveness| ttl_of(liveness.expiry));
        let mut flags = 0;
        if row.liveness.is_some() {
            flags |= flag::HAS_LIVENESS;
        }
        if ttl_s.is_some() {
            flags |= flag::HAS_TTL;
        }
        if !row.complex_deletions.is_empty() {
            flags |= flag::HAS_COMPLEX_DELETIONS;
        }
        self.canonical.push(flags);
        if let Some(liveness) = row.liveness {
            self.time(liveness.timestamp_us);
        }
        if let Some(ttl_s) = ttl_s {
            self.ttl(ttl_s);
        }
        if !row.complex_deletions.is_empty() {
            self.count(row.complex_deletions.len());
            // Storage keeps complex columns in the order of their names already.
            for (column, deletion) in &row.complex_deletions {
                self.column_name(plan, *column);
                self.time(deletion.timestamp_us);
            }
        }
        self.cells(plan, row);
    }

    /// Cells in the order of column name and path, both as unsigned bytes.
    fn cells(&mut self, plan: &TablePlan, row: &Row<'_>) {
        let cells = row.cells.as_slice();
        self.count(cells.len());
        let mut last_us = row.liveness.map(|liveness| liveness.timestamp_us);
        if cells.is_sorted_by(|a, b| order(plan, a) <= order(plan, b)) {
            for cell in cells {
                self.cell(plan, cell, &mut last_us);
            }
            return;
        }
        let mut places = std::mem::take(&mut self.order);
        places.clear();
        places.extend(0..cells.len() as u32);
        places.sort_unstable_by_key(|place| cells.get(*place as usize).map(|c| order(plan, c)));
        for cell in places.iter().filter_map(|place| cells.get(*place as usize)) {
            self.cell(plan, cell, &mut last_us);
        }
        self.order = places;
    }

    fn cell(&mut self, plan: &TablePlan, cell: &Cell<'_>, last_us: &mut Option<i64>) {
        self.column_name(plan, cell.column);
        // Most cells are live, short and of the time of the one before.
        if cell.state == CellState::Live
            && cell.path.is_none()
            && *last_us == Some(cell.timestamp_us)
            && cell.value.len() < 0x80
        {
            self.canonical
                .extend_from_slice(&[flag::SAME_TIME, cell.value.len() as u8]);
            self.canonical.extend_from_slice(cell.value);
            return;
        }
        let (mut flags, ttl_s) = match cell.state {
            CellState::Live => (0, None),
            CellState::Expiring(expiry) => (flag::IS_EXPIRING, Some(expiry.ttl_s)),
            CellState::Tombstone(_) => (flag::IS_TOMBSTONE, None),
        };
        if cell.path.is_some() {
            flags |= flag::HAS_PATH;
        }
        if *last_us == Some(cell.timestamp_us) {
            flags |= flag::SAME_TIME;
        }
        self.canonical.push(flags);
        if let Some(path) = cell.path {
            self.bytes(path);
        }
        if *last_us != Some(cell.timestamp_us) {
            self.time(cell.timestamp_us);
            *last_us = Some(cell.timestamp_us);
        }
        if let Some(ttl_s) = ttl_s {
            self.ttl(ttl_s);
        }
        self.bytes(cell.value);
    }
}

/// What the canonical form of every event of a table starts with.
pub(crate) fn canonical_start(table: &Table) -> Vec<u8> {
    [&[VERSION][..], &table.id.0].concat()
}

/// A column's name in the canonical form.
pub(crate) fn canonical_name(name: &[u8]) -> Vec<u8> {
    let mut canonical = Vec::new();
    write_count(&mut canonical, name.len());
    canonical.extend_from_slice(name);
    canonical
}

/// Seven bits a byte, the lowest first, the high bit set in all but the last (LEB128).
#[inline]
fn write_count(out: &mut Vec<u8>, mut count: usize) {
    while count >= 0x80 {
        out.push(count as u8 | 0x80);
        count >>= 7;
    }
    out.push(count as u8);
}

fn ttl_of(expiry: Option<Expiry>) -> Option<i32> {
    expiry
        .map(|expiry| expiry.ttl_s)
        .filter(|ttl_s| *ttl_s != 0)
}

fn order<'c>(plan: &TablePlan, cell: &Cell<'c>) -> (u32, Option<&'c [u8]>) {
    (plan.name_rank(cell.column), cell.path)
}
