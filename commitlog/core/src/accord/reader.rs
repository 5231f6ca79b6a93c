//! Reads a journal segment forward and turns its entries into mutations.

use super::change::Change;
use super::entry::{CommandId, Found, inspect};
use super::rewrite::Rewriter;
use super::transactions::{Applied, Transactions};
use super::update_writer::WriteTime;
use crate::error::{DecodeError, Result};

/// Why a read stopped.
#[derive(Debug, PartialEq, Eq)]
pub enum Stop {
    /// The next entry extends past the given bytes; it ends at this offset in the segment.
    NeedsBytes { end: usize },
    /// The node has written nothing further.
    Unwritten,
    /// The next entry is partly written or damaged; it ends at this offset.
    Incomplete { end: usize },
    /// The mutations have reached the size limit.
    Full,
    /// The next entry's updates need a different schema or more column ids.
    Blocked(Box<DecodeError>),
    /// The next entry is complete but cannot be decoded; it ends at this offset.
    Undecodable { end: usize, error: Box<DecodeError> },
}

/// Mutations from a segment, in the order in which the node applied them.
#[derive(Debug, PartialEq, Eq)]
pub struct Read {
    /// Offset of the next entry.
    pub offset: usize,
    pub stop: Stop,
    pub mutations: Vec<Vec<u8>>,
}

/// Reads entries from `bytes`, which start at `offset` in a segment, until the mutations reach
/// `limit` bytes.
pub fn read(
    transactions: &mut Transactions,
    rewriter: &mut Rewriter,
    bytes: &[u8],
    offset: usize,
    limit: usize,
) -> Read {
    let mut read = Read {
        offset,
        stop: Stop::Full,
        mutations: Vec::new(),
    };
    let mut size = 0;
    read.stop = loop {
        if size >= limit {
            break Stop::Full;
        }
        let rest = bytes.get(read.offset - offset..).unwrap_or_default();
        let (command, record, end) = match inspect(rest, read.offset) {
            Found::Entry {
                command,
                record,
                end,
            } => (command, record, end),
            Found::NeedsBytes { end } => break Stop::NeedsBytes { end },
            Found::Unwritten => break Stop::Unwritten,
            Found::Incomplete { end } => break Stop::Incomplete { end },
        };
        if let Some(id) = command.filter(|id| id.txn_id.is_write()) {
            let before = transactions.get(id);
            match mutations(transactions, rewriter, id, record) {
                Ok(mutations) => {
                    size += mutations.iter().map(Vec::len).sum::<usize>();
                    read.mutations.extend(mutations);
                }
                Err(error) => {
                    transactions.restore(id, before);
                    break if error.asks_for_schema() {
                        Stop::Blocked(error)
                    } else {
                        Stop::Undecodable { end, error }
                    };
                }
            }
        }
        read.offset = end;
    };
    read
}

/// Skips the entry at the start of `bytes`; returns the next offset. If the entry is complete, its
/// transaction is forgotten.
pub fn skip(transactions: &mut Transactions, bytes: &[u8], offset: usize) -> Option<usize> {
    match inspect(bytes, offset) {
        Found::Entry { command, end, .. } => {
            if let Some(id) = command {
                transactions.restore(id, None);
            }
            Some(end)
        }
        Found::Incomplete { end } => Some(end),
        Found::NeedsBytes { .. } | Found::Unwritten => None,
    }
}

fn mutations(
    transactions: &mut Transactions,
    rewriter: &mut Rewriter,
    id: CommandId,
    record: &[u8],
) -> Result<Vec<Vec<u8>>> {
    let change = Change::parse(record, id.txn_id)?;
    match transactions.note(id, &change) {
        Some(applied) => rewrite_updates(rewriter, &applied),
        None => Ok(Vec::new()),
    }
}

fn rewrite_updates(rewriter: &mut Rewriter, applied: &Applied) -> Result<Vec<Vec<u8>>> {
    let (definition, outcome) = applied.read()?;
    let time = if definition.preserves_timestamps {
        WriteTime::Kept
    } else {
        WriteTime::Of(outcome.timestamp_us)
    };
    let updates = definition.updates(&outcome)?;
    let mutations = updates.iter().map(|update| rewriter.mutation(update, time));
    mutations.filter_map(Result::transpose).collect()
}
