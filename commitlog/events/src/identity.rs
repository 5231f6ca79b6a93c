//! The event id: equal on all replicas, whoever reads the event and however it was stored.
//!
//! The first 16 bytes of BLAKE3 over a canonical form of what the event says
//! (`docs/event-format.md`, "Event id"). No node, segment, position or clock goes in, and no
//! local deletion time, of which every attempt of a statement has its own.

use commitlog_core::row::{Cell, CellState, Liveness};

use crate::event::{Bound, Content, Kind};
use crate::plan::TablePlan;

/// Version of the canonical form.
const VERSION: u8 = 1;
const ABSENT: u8 = 0;
const PRESENT: u8 = 1;

/// Reused from event to event.
#[derive(Default)]
pub struct Identity {
    canonical: Vec<u8>,
    order: Vec<u32>,
}

impl Identity {
    /// The id of an event of the partition `key`.
    pub fn of(&mut self, plan: &TablePlan, key: &[u8], content: &Content<'_, '_>) -> [u8; 16] {
        self.canonical.clear();
        self.canonical.push(VERSION);
        self.canonical.extend_from_slice(&plan.table.id.0);
        self.bytes(key);
        self.canonical.push(match content.kind() {
            Kind::Row => 0,
            Kind::Static => 1,
            Kind::Partition => 2,
            Kind::Range => 3,
        });
        match content {
            Content::PartitionDeletion(deletion) => self.deletion(Some(deletion.timestamp_us)),
            Content::RowDeletion {
                clustering,
                deletion,
            } => {
                self.clustering(clustering);
                self.liveness(None);
                self.deletion(Some(deletion.timestamp_us));
            }
            Content::Write(row) => {
                self.clustering(&row.clustering);
                self.liveness(row.liveness);
                self.deletion(None);
                self.complex_deletions(plan, &row.complex_deletions);
                self.cells(plan, &row.cells);
            }
            Content::RangeDeletion {
                start,
                end,
                deletion,
            } => {
                self.bound(start);
                self.bound(end);
                self.deletion(Some(deletion.timestamp_us));
            }
        }
        let mut id = [0; 16];
        blake3::Hasher::new()
            .update(&self.canonical)
            .finalize_xof()
            .fill(&mut id);
        id
    }

    fn bytes(&mut self, bytes: &[u8]) {
        let length = bytes.len() as u32;
        self.canonical.extend_from_slice(&length.to_be_bytes());
        self.canonical.extend_from_slice(bytes);
    }

    fn number(&mut self, number: i64) {
        self.canonical.extend_from_slice(&number.to_be_bytes());
    }

    fn clustering(&mut self, values: &[Option<&[u8]>]) {
        self.canonical
            .extend_from_slice(&(values.len() as u16).to_be_bytes());
        for value in values {
            match value {
                Some(value) => {
                    self.canonical.push(PRESENT);
                    self.bytes(value);
                }
                None => self.canonical.push(ABSENT),
            }
        }
    }

    fn bound(&mut self, bound: &Bound<'_, '_>) {
        self.canonical
            .extend_from_slice(bound.kind.name().as_bytes());
        self.canonical.push(0);
        self.clustering(bound.clustering);
    }

    fn liveness(&mut self, liveness: Option<Liveness>) {
        match liveness {
            Some(liveness) => {
                self.canonical.push(PRESENT);
                self.number(liveness.timestamp_us);
                self.ttl(liveness.expiry.map(|expiry| expiry.ttl_s));
            }
            None => self.canonical.push(ABSENT),
        }
    }

    /// No TTL and a TTL of zero are one thing.
    fn ttl(&mut self, ttl_s: Option<i32>) {
        self.canonical
            .extend_from_slice(&ttl_s.unwrap_or(0).to_be_bytes());
    }

    fn deletion(&mut self, timestamp_us: Option<i64>) {
        match timestamp_us {
            Some(timestamp_us) => {
                self.canonical.push(PRESENT);
                self.number(timestamp_us);
            }
            None => self.canonical.push(ABSENT),
        }
    }

    fn complex_deletions(
        &mut self,
        plan: &TablePlan,
        deletions: &[(u32, commitlog_core::row::Deletion)],
    ) {
        let count = deletions.len() as u32;
        self.canonical.extend_from_slice(&count.to_be_bytes());
        // Storage keeps complex columns in the order of their names already.
        for (column, deletion) in deletions {
            self.bytes(plan.column_name(*column));
            self.number(deletion.timestamp_us);
        }
    }

    /// Cells in the order of column name and path, both as unsigned bytes.
    fn cells(&mut self, plan: &TablePlan, cells: &[Cell<'_>]) {
        let mut order = std::mem::take(&mut self.order);
        order.clear();
        order.extend(0..cells.len() as u32);
        let key = |index: u32| {
            let cell = cells.get(index as usize)?;
            Some((plan.name_rank(cell.column), cell.path))
        };
        if !order.is_sorted_by_key(|index| key(*index)) {
            order.sort_unstable_by_key(|index| key(*index));
        }
        self.canonical
            .extend_from_slice(&(cells.len() as u32).to_be_bytes());
        for cell in order.iter().filter_map(|index| cells.get(*index as usize)) {
            self.cell(plan, cell);
        }
        self.order = order;
    }

    fn cell(&mut self, plan: &TablePlan, cell: &Cell<'_>) {
        self.bytes(plan.column_name(cell.column));
        match cell.path {
            Some(path) => {
                self.canonical.push(PRESENT);
                self.bytes(path);
            }
            None => self.canonical.push(ABSENT),
        }
        let (state, ttl_s) = match cell.state {
            CellState::Live => (0, None),
            CellState::Expiring(expiry) => (1, Some(expiry.ttl_s)),
            CellState::Tombstone(_) => (2, None),
        };
        self.canonical.push(state);
        self.number(cell.timestamp_us);
        self.ttl(ttl_s);
        self.bytes(cell.value);
    }
}
