//! Counters in events. A record contains one leader's running total, which is neither the value of
//! the counter nor its change (format notes §6.4). An event contains this total, and its change if
//! the previous shard is known.

mod context;
mod history;

use commitlog_core::cql_type::CqlType;
use commitlog_core::row::{Cell, CellState, Row};

use crate::event::Content;
use crate::plan::TablePlan;
use crate::value::Result;
use context::{ShardKind, read_shards};
use history::{CellPlace, Growth};

pub use context::Shard;
pub use history::CounterHistory;

/// One shard of a counter cell in an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CounterDelta {
    pub shard: Shard,
    /// `None` if the growth is not certain.
    pub growth: Option<Growth>,
}

/// Updates `history` from the counters in an event's content, and appends the column and shards of
/// each live counter cell to `news`.
// Inlined, it slows the events of all other tables down.
#[inline(never)]
pub fn follow(
    history: Option<&mut CounterHistory>,
    plan: &TablePlan,
    key: &[u8],
    content: &Content<'_, '_>,
    news: &mut Vec<(u32, Vec<CounterDelta>)>,
) -> Result<()> {
    news.clear();
    let mut history = history;
    let partition = hash(&[&plan.table.id.0, key]);
    match content {
        // After a deletion, shards may restart or continue, depending on the leader's cache.
        Content::PartitionDeletion(_) | Content::RangeDeletion { .. } => {
            if let Some(history) = history {
                history.forget_partition(&partition);
            }
        }
        Content::RowDeletion { clustering, .. } => {
            if let Some(history) = history {
                history.forget_row(&partition, &row_place(false, clustering));
            }
        }
        Content::Write(row) => {
            let row_place = row_place(row.is_static, &row.clustering);
            for cell in counter_cells(plan, row) {
                let place = CellPlace {
                    partition,
                    row: row_place,
                    column: hash(&[plan.column_name(cell.column)]),
                };
                if let CellState::Tombstone(_) = cell.state {
                    if let Some(history) = &mut history {
                        history.forget_cell(&place);
                    }
                    continue;
                }
                let shards = read_shards(cell.value)?.into_iter();
                let shards = shards.map(|shard| CounterDelta {
                    growth: history.as_mut().and_then(|h| h.follow(&place, &shard)),
                    shard,
                });
                news.push((cell.column, shards.collect()));
            }
        }
    }
    Ok(())
}

fn counter_cells<'r, 'p>(
    plan: &'r TablePlan,
    row: &'r Row<'p>,
) -> impl Iterator<Item = &'r Cell<'p>> {
    let is_counter = |cell: &&Cell<'p>| {
        let column = plan.table.columns.get(cell.column as usize);
        column.is_some_and(|column| column.cql_type == CqlType::Counter)
    };
    row.cells.iter().filter(is_counter)
}

fn row_place(is_static: bool, clustering: &[Option<&[u8]>]) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&[u8::from(is_static)]);
    for value in clustering {
        match value {
            Some(value) => {
                hasher.update(&[1]);
                hasher.update(&(value.len() as u64).to_be_bytes());
                hasher.update(value);
            }
            None => {
                hasher.update(&[0]);
            }
        }
    }
    half(&hasher)
}

/// Hashes parts, of which only the last may vary in length.
fn hash(parts: &[&[u8]]) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(part);
    }
    half(&hasher)
}

fn half(hasher: &blake3::Hasher) -> [u8; 16] {
    let mut half = [0; 16];
    hasher.finalize_xof().fill(&mut half);
    half
}

/// Appends `{"value":null,…,"shards":[…]}`; no shard is the value of the counter.
pub fn write_shards(out: &mut Vec<u8>, shards: &[CounterDelta]) {
    out.extend_from_slice(b"{\"value\":null,\"deletion_ts\":null,\"set\":true,\"shards\":[");
    for (index, shard) in shards.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_shard(out, shard);
    }
    out.extend_from_slice(b"]}");
}

/// Returns the `kind` of a shard, or `None` for a shard of a current release.
pub(crate) fn kind_name(kind: ShardKind) -> Option<&'static str> {
    match kind {
        ShardKind::Global => None,
        ShardKind::Local => Some("local"),
        ShardKind::Remote => Some("remote"),
    }
}

fn write_shard(out: &mut Vec<u8>, CounterDelta { shard, growth }: &CounterDelta) {
    out.extend_from_slice(b"{\"id\":\"");
    write_uuid(out, &shard.counter_id);
    out.extend_from_slice(b"\",\"clock\":");
    write_number(out, shard.clock);
    out.extend_from_slice(b",\"count\":");
    write_number(out, shard.count);
    if let Some(kind) = kind_name(shard.kind) {
        out.extend_from_slice(b",\"kind\":\"");
        out.extend_from_slice(kind.as_bytes());
        out.push(b'"');
    }
    if let Some(growth) = growth {
        out.extend_from_slice(b",\"delta\":");
        write_number(out, growth.delta);
        out.extend_from_slice(b",\"since\":");
        write_number(out, growth.since);
    }
    out.push(b'}');
}

fn write_number(out: &mut Vec<u8>, number: i64) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

fn write_uuid(out: &mut Vec<u8>, id: &[u8; 16]) {
    let id = commitlog_core::schema::TableId(*id);
    out.extend_from_slice(id.to_string().as_bytes());
}
