//! The event id: equal on all replicas, for every reader and storage format.
//!
//! It is the first 16 bytes of BLAKE3 over the event's canonical form, padded with zeros to whole
//! blocks (`docs/reference/event-format.md`, "Event id"). That form contains no node, segment,
//! position or clock, and no local deletion time, which differs between attempts of one statement.
//! `tests/unit/commitlog/events/test_cells.py` tests it.

#![allow(
    clippy::inline_always,
    reason = "a call would move the writer from registers to memory"
)]

use commitlog_core::row::{Cell, CellState, Expiry, Row};

use blake3::BLOCK_LEN;

use crate::batch::{EventBatch, USUAL_ROOM};
use crate::canonical_form::{write_bytes, write_count};
use crate::event::{Content, Kind};
use crate::event_writer::{EventWriter, Out, more_room};
use crate::plan::TablePlan;
use crate::row_cells::simple_cells;
use event_encoding::blake3_batch::Blake3Batch;

mod flag {
    /// Row flags: which parts follow.
    pub const HAS_LIVENESS: u8 = 0x01;
    pub const HAS_TTL: u8 = 0x02;
    pub const HAS_DELETION: u8 = 0x04;
    pub const HAS_COMPLEX_DELETIONS: u8 = 0x08;
    /// Cell flags.
    pub const IS_EXPIRING: u8 = 0x01;
    pub const IS_TOMBSTONE: u8 = 0x02;
    pub const HAS_PATH: u8 = 0x04;
    /// The time equals the previous time.
    pub const SAME_TIME: u8 = 0x08;
}

/// Computes event ids; reused from event to event.
#[derive(Default)]
pub struct Identity {
    order: Vec<u32>,
    hashes: Blake3Batch,
}

impl Identity {
    /// Computes the id of the event at index `event` of `batch`, and sets it now or later. `key` is
    /// its partition key, and `mutation_bytes` the size of its mutation.
    #[inline]
    pub fn give(
        &mut self,
        batch: &mut EventBatch,
        event: usize,
        plan: &TablePlan,
        key: &[u8],
        content: &Content<'_, '_>,
        mutation_bytes: usize,
    ) {
        let blocks = loop {
            let room = self.hashes.free();
            let whole = room.len();
            let form = EventWriter::new(room);
            let left = write_event(form, plan, key, content, &mut self.order).room();
            if left > 0 {
                break whole.saturating_sub(left) / BLOCK_LEN;
            }
            let likely = USUAL_ROOM.saturating_add(mutation_bytes);
            self.hashes.reserve(more_room(whole, likely));
        };
        self.hashes
            .add(blocks, event, |event, id| batch.set_id(event, id));
    }

    /// Drops the pending events of a batch that was never finished.
    pub fn forget(&mut self) {
        self.hashes.finish(|_, _| {});
    }

    /// Sets the ids of all pending events.
    pub fn settle(&mut self, batch: &mut EventBatch) {
        self.hashes.finish(|event, id| batch.set_id(event, id));
    }
}

/// Writes the canonical form, padded to whole blocks.
#[inline]
fn write_event<'b>(
    mut form: Out<'b>,
    plan: &TablePlan,
    key: &[u8],
    content: &Content<'_, '_>,
    order: &mut Vec<u32>,
) -> Out<'b> {
    let whole = form.room();
    form.fragment(&plan.canonical_start);
    write_bytes(&mut form, key);
    form.literal(&[match content.kind() {
        Kind::Row => 0,
        Kind::Static => 1,
        Kind::Partition => 2,
        Kind::Range => 3,
    }]);
    match content {
        Content::PartitionDeletion(deletion) => write_time(&mut form, deletion.timestamp_us),
        Content::RowDeletion {
            clustering,
            deletion,
        } => {
            write_clustering(&mut form, clustering);
            form.literal(&[flag::HAS_DELETION]);
            write_time(&mut form, deletion.timestamp_us);
        }
        Content::Write(row) => {
            form = write_row(form, plan, row, order);
        }
        Content::RangeDeletion {
            start,
            end,
            deletion,
        } => {
            for bound in [start, end] {
                write_bytes(&mut form, bound.kind.name().as_bytes());
                write_clustering(&mut form, bound.clustering);
            }
            write_time(&mut form, deletion.timestamp_us);
        }
    }
    let length = whole.saturating_sub(form.room());
    let padding = length.next_multiple_of(BLOCK_LEN).wrapping_sub(length);
    form.padded(&[0; BLOCK_LEN], padding);
    form
}

#[inline]
fn write_row<'b>(
    mut form: Out<'b>,
    plan: &TablePlan,
    row: &Row<'_>,
    order: &mut Vec<u32>,
) -> Out<'b> {
    write_clustering(&mut form, &row.clustering);
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
    form.literal(&[flags]);
    if let Some(liveness) = row.liveness {
        write_time(&mut form, liveness.timestamp_us);
    }
    if let Some(ttl_s) = ttl_s {
        form.literal(&ttl_s.to_be_bytes());
    }
    if !row.complex_deletions.is_empty() {
        write_count(&mut form, row.complex_deletions.len());
        // Storage already sorts complex columns by name.
        for (column, deletion) in &row.complex_deletions {
            write_column_name(&mut form, plan, *column);
            write_time(&mut form, deletion.timestamp_us);
        }
    }
    write_cells(form, plan, row, order)
}

/// Writes the cells sorted by column name and path, both as unsigned bytes.
#[inline]
fn write_cells<'b>(
    mut form: Out<'b>,
    plan: &TablePlan,
    row: &Row<'_>,
    order: &mut Vec<u32>,
) -> Out<'b> {
    let cells = row.cells.as_slice();
    write_count(&mut form, cells.len());
    let mut last_us = row.liveness.map(|liveness| liveness.timestamp_us);
    let is_simple = plan.is_by_name() && simple_cells(row).is_some();
    if is_simple || cells.is_sorted_by(|a, b| place_of(plan, a) <= place_of(plan, b)) {
        for cell in cells {
            write_cell(&mut form, plan, cell, &mut last_us);
        }
        return form;
    }
    order.clear();
    order.extend(0..cells.len() as u32);
    order.sort_unstable_by_key(|place| cells.get(*place as usize).map(|c| place_of(plan, c)));
    for cell in order.iter().filter_map(|place| cells.get(*place as usize)) {
        write_cell(&mut form, plan, cell, &mut last_us);
    }
    form
}

#[inline(always)]
fn write_cell(
    form: &mut EventWriter<'_>,
    plan: &TablePlan,
    cell: &Cell<'_>,
    last_us: &mut Option<i64>,
) {
    write_column_name(form, plan, cell.column);
    // Most cells are live and short, and repeat the previous time.
    if cell.state == CellState::Live
        && cell.path.is_none()
        && *last_us == Some(cell.timestamp_us)
        && cell.value.len() < 0x80
    {
        form.literal(&[flag::SAME_TIME, cell.value.len() as u8]);
        form.slice(cell.value);
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
    form.literal(&[flags]);
    if let Some(path) = cell.path {
        write_bytes(form, path);
    }
    if *last_us != Some(cell.timestamp_us) {
        write_time(form, cell.timestamp_us);
        *last_us = Some(cell.timestamp_us);
    }
    if let Some(ttl_s) = ttl_s {
        form.literal(&ttl_s.to_be_bytes());
    }
    write_bytes(form, cell.value);
}

/// Writes each value after its length plus one; a null is 0.
#[inline(always)]
fn write_clustering(form: &mut EventWriter<'_>, values: &[Option<&[u8]>]) {
    write_count(form, values.len());
    for value in values {
        match value {
            Some(value) => {
                write_count(form, value.len() + 1);
                form.slice(value);
            }
            None => form.literal(&[0]),
        }
    }
}

#[inline(always)]
fn write_time(form: &mut EventWriter<'_>, timestamp_us: i64) {
    form.literal(&timestamp_us.to_be_bytes());
}

#[inline(always)]
fn write_column_name(form: &mut EventWriter<'_>, plan: &TablePlan, column: u32) {
    if let Some(name) = plan.canonical_name(column) {
        form.fragment(name);
    }
}

fn ttl_of(expiry: Option<Expiry>) -> Option<i32> {
    expiry
        .map(|expiry| expiry.ttl_s)
        .filter(|ttl_s| *ttl_s != 0)
}

fn place_of<'c>(plan: &TablePlan, cell: &Cell<'c>) -> (u32, Option<&'c [u8]>) {
    (plan.name_rank(cell.column), cell.path)
}
