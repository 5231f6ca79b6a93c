//! Adds the writes of an event to its partition.

use crate::arena::{Span, append_base64};
use crate::columns::Columns;
use crate::counter::read_shards;
use crate::error::{MergeError, Result};
use crate::event::{Cells, Kind, Text, Written, not_an_event, read_event};
use crate::leb128;
use crate::partition::{ComplexDeletion, Group, RangeDeletion, RowWrite};
use crate::version::{Cell, Deletion, Liveness, NEVER_S, Rank};
use crate::window::Window;

/// The destination of the writes of a batch.
pub struct Ingest<'g> {
    pub group: &'g mut Group,
    pub columns: &'g mut Columns,
    pub window: &'g Window,
}

impl Ingest<'_> {
    /// Adds an event. With `is_new`, the event is one of the changes to evaluate.
    pub fn add_event(&mut self, text: &str, is_new: bool) -> Result<()> {
        let cells = read_event(text)?;
        let mut pk = std::mem::take(&mut self.group.scratch);
        pk.clear();
        let place = append_base64(&mut pk, &cells.pk.0).map(|()| self.group.place_of(&pk));
        self.group.scratch = pk;
        let place = place.ok_or_else(|| not_base64(text, "pk"))?;
        let new_us = is_new.then(|| largest_ts(&cells));
        match cells.kind {
            Kind::Partition => {
                let deletion = deletion(required(text, cells.del.as_ref(), "del")?);
                if self.window.admits(deletion.written_us())
                    && let Some(partition) = self.group.partitions.get_mut(place)
                {
                    partition.deletions.push((deletion, new_us));
                }
            }
            Kind::Range => {
                let deletion = deletion(required(text, cells.del.as_ref(), "del")?);
                let low = self.bytes(text, required(text, cells.lo.as_ref(), "lo")?, "lo")?;
                let high = self.bytes(text, required(text, cells.hi.as_ref(), "hi")?, "hi")?;
                if self.window.admits(deletion.written_us())
                    && let Some(partition) = self.group.partitions.get_mut(place)
                {
                    partition.ranges.push(RangeDeletion {
                        low,
                        high,
                        deletion,
                        new_us,
                    });
                }
            }
            Kind::Static => {
                let write = self.row_write(text, &cells, new_us)?;
                if let Some(partition) = self.group.partitions.get_mut(place) {
                    partition.statics.push(write);
                }
            }
            Kind::Row => {
                let ck = self.bytes(text, required(text, cells.ck.as_ref(), "ck")?, "ck")?;
                let ckv = self.clustering(text, cells.ckv.as_deref().unwrap_or_default())?;
                let write = self.row_write(text, &cells, new_us)?;
                if let Some(partition) = self.group.partitions.get_mut(place) {
                    partition.rows.push(RowWrite {
                        ck,
                        ckv: Some(ckv),
                        ..write
                    });
                }
            }
        }
        Ok(())
    }

    fn row_write(
        &mut self,
        text: &str,
        cells: &Cells<'_>,
        new_us: Option<i64>,
    ) -> Result<RowWrite> {
        let window = self.window;
        let (first_cell, first_complex) = {
            let store = &self.group.store;
            (store.cells.len(), store.complex.len())
        };
        for written in cells.cdel.iter().flatten() {
            let column = self.column(text, written)?;
            let deletion = Deletion {
                is_plain: !replaces(cells, written.ts),
                ..deletion(written)
            };
            if window.admits(deletion.written_us()) {
                let complex = &mut self.group.store.complex;
                complex.push(ComplexDeletion { column, deletion });
            }
        }
        for written in cells.cell.iter().flatten() {
            if window.admits(written.ts) {
                self.add_cell(text, written)?;
            }
        }
        let store = &self.group.store;
        Ok(RowWrite {
            liveness: cells.live.as_ref().map(liveness),
            deletion: cells.del.as_ref().map(deletion),
            cells: first_cell..store.cells.len(),
            complex: first_complex..store.complex.len(),
            new_us,
            ..RowWrite::default()
        }
        .clip(window))
    }

    fn add_cell(&mut self, text: &str, written: &Written<'_>) -> Result<()> {
        let column = self.column(text, written)?;
        let ttl_s = written.ttl.unwrap_or(0).max(0);
        let mut cell = Cell {
            column,
            rank: Rank::Tombstone,
            ttl_s: 0,
            ts_us: written.ts,
            ldt_s: written.ldt.unwrap_or(NEVER_S),
            value: Span::default(),
            path: None,
            key: None,
        };
        if let Some(path) = &written.path {
            cell.path = Some(self.bytes(text, path, "path")?);
        }
        if let Some(key) = &written.key {
            cell.key = Some(self.bytes(text, key, "key")?);
        }
        if let Some(value) = &written.val {
            let value = self.bytes(text, value, "val")?;
            if self.columns.has_counters {
                return self.add_shards(cell, value);
            }
            cell.value = value;
            if ttl_s > 0 {
                cell.rank = Rank::Expiring;
                cell.ttl_s = ttl_s;
            } else {
                cell.rank = Rank::Live;
                cell.ldt_s = NEVER_S;
            }
        }
        self.group.store.cells.push(cell);
        Ok(())
    }

    fn add_shards(&mut self, cell: Cell, context: Span) -> Result<()> {
        let store = &mut self.group.store;
        // The shards are appended to the arena, which also contains the context.
        let context = store.arena.get(context).to_vec();
        let Some(shards) = read_shards(&context) else {
            let context = context
                .iter()
                .fold(String::new(), |text, byte| format!("{text}{byte:02X}"));
            return Err(MergeError::CounterContext { context });
        };
        for shard in shards {
            store.cells.push(Cell {
                rank: Rank::Shard,
                ldt_s: shard.clock,
                path: Some(store.arena.push(&shard.counter_id)),
                key: None,
                value: store.arena.push(&shard.count),
                ..cell
            });
        }
        Ok(())
    }

    fn column(&mut self, text: &str, written: &Written<'_>) -> Result<u32> {
        let name = required(text, written.col.as_ref(), "col")?;
        Ok(self.columns.id(&name.0))
    }

    fn clustering(&mut self, text: &str, values: &[Option<Text<'_>>]) -> Result<Span> {
        let mut scratch = std::mem::take(&mut self.group.scratch);
        let span = self.group.store.arena.push_with(|bytes| {
            leb128::write(bytes, values.len() as u64);
            for value in values {
                let Some(value) = value else {
                    leb128::write(bytes, 0);
                    continue;
                };
                scratch.clear();
                append_base64(&mut scratch, &value.0).ok_or_else(|| not_base64(text, "ckv"))?;
                leb128::write(bytes, scratch.len() as u64 + 1);
                bytes.extend_from_slice(&scratch);
            }
            Ok(())
        });
        self.group.scratch = scratch;
        span
    }

    fn bytes(&mut self, text: &str, base64: &Text<'_>, member: &str) -> Result<Span> {
        let arena = &mut self.group.store.arena;
        arena
            .push_base64(&base64.0)
            .ok_or_else(|| not_base64(text, member))
    }
}

fn required<'w, T>(text: &str, member: Option<&'w T>, name: &str) -> Result<&'w T> {
    member.ok_or_else(|| not_an_event(text, &format!("`{name}` is missing")))
}

#[cold]
fn not_base64(text: &str, member: &str) -> MergeError {
    not_an_event(text, &format!("`{member}` is not base64"))
}

fn liveness(written: &Written<'_>) -> Liveness {
    let ttl_s = written.ttl.unwrap_or(0).max(0);
    let expiry_s = written.ldt.filter(|_| ttl_s > 0);
    Liveness {
        ts_us: written.ts,
        ttl_s,
        ldt_s: expiry_s.unwrap_or(NEVER_S),
    }
}

fn deletion(written: &Written<'_>) -> Deletion {
    Deletion {
        ts_us: written.ts,
        ldt_s: written.ldt.unwrap_or(NEVER_S),
        is_plain: true,
    }
}

/// Whether the event wrote one microsecond later, so that it deleted a collection to replace it.
fn replaces(cells: &Cells<'_>, ts_us: i64) -> bool {
    let is_later = |written: &Written<'_>| written.ts.checked_sub(1) == Some(ts_us);
    cells.live.iter().any(is_later) || cells.cell.iter().flatten().any(is_later)
}

fn largest_ts(cells: &Cells<'_>) -> i64 {
    let members = cells.live.iter().chain(&cells.del);
    let lists = cells.cdel.iter().chain(&cells.cell).flatten();
    members.chain(lists).map(|w| w.ts).max().unwrap_or(i64::MIN)
}
