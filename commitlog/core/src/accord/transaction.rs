//! The writes of a transaction: its definition and its outcome (`PartialTxn`, `TxnUpdate`,
//! `Writes`, `TxnWrite`).
//!
//! The definition contains the statements as fragments, grouped into conditional blocks. A fragment
//! without references to read values is a complete partition update. The outcome contains the met
//! conditions, the execution time, and the updates that needed read values.

use super::bytes::{boolean, packed_numbers, table_id};
use super::participants::subset;
use super::txn_id::{clock, execution_clock};
use crate::cursor::Cursor;
use crate::error::{DecodeError, Result};
use crate::table_id::TableId;

/// `Routable.Domain.Key` in `AbstractSeekablesSerializer`.
const SEEKABLE_KEYS: u8 = 1;
/// `AccordUpdate.Kind.TXN`; the other kind, a read repair, writes nothing through Accord.
const TXN_UPDATE: u8 = 0;
const PRESERVES_TIMESTAMPS: u8 = 0x01;

/// A partition of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartitionKey<'b> {
    pub table: TableId,
    pub key: &'b [u8],
}

/// A partition update without its key, starting with its table index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredUpdate<'b> {
    pub key: PartitionKey<'b>,
    /// The number of tables; if it is 1, the update has no table index.
    pub tables: usize,
    pub bytes: &'b [u8],
    /// Whether the statement's references follow the update.
    pub is_fragment: bool,
}

/// `PartialTxn`: the part of a transaction that a command store needs.
#[derive(Debug, PartialEq, Eq)]
pub struct Definition<'b> {
    keys: Vec<PartitionKey<'b>>,
    tables: usize,
    blocks: Vec<Block<'b>>,
    /// Whether the writes keep their original timestamps, as in hints and batches.
    pub preserves_timestamps: bool,
}

#[derive(Debug, PartialEq, Eq)]
struct Block<'b> {
    fragments: Vec<Fragment<'b>>,
    /// Condition ids, each with the ids of the fragments that it enables.
    conditions: Vec<(u64, Vec<u64>)>,
}

#[derive(Debug, PartialEq, Eq)]
struct Fragment<'b> {
    id: u64,
    key: PartitionKey<'b>,
    bytes: &'b [u8],
}

/// `Writes`: the result of the execution.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome<'b> {
    /// The timestamp of all writes, in microseconds.
    pub timestamp_us: i64,
    /// A bitmap of the met conditions, lowest bit first.
    conditions: Vec<u64>,
    tables: usize,
    updates: Vec<(PartitionKey<'b>, &'b [u8])>,
}

impl<'b> Definition<'b> {
    pub fn read(cursor: &mut Cursor<'b>) -> Result<Self> {
        cursor.uvint()?;
        let tables = skip_tables(cursor)?;
        let keys = seekables(cursor)?;
        skip_read(cursor, keys.len())?;
        // The query, which selects the values to return to the client.
        cursor.u8()?;
        let mut definition = Self {
            keys,
            tables,
            blocks: Vec::new(),
            preserves_timestamps: false,
        };
        if boolean(cursor)? && cursor.u8()? == TXN_UPDATE {
            definition.read_update(cursor)?;
        }
        Ok(definition)
    }

    fn read_update(&mut self, cursor: &mut Cursor<'b>) -> Result<()> {
        self.preserves_timestamps = cursor.u8()? & PRESERVES_TIMESTAMPS != 0;
        subset(cursor, self.keys.len())?;
        skip_consistency_level(cursor)?;
        for _ in 0..cursor.uvint()? {
            let mut block = Block {
                fragments: Vec::new(),
                conditions: Vec::new(),
            };
            for _ in 0..cursor.uvint()? {
                block.fragments.push(Fragment {
                    id: cursor.uvint()?,
                    key: key_at(cursor, &self.keys)?,
                    bytes: cursor.vbytes()?,
                });
            }
            for _ in 0..cursor.uvint()? {
                let id = cursor.uvint()?;
                cursor.vbytes()?;
                block.conditions.push((id, packed_numbers(cursor)?));
            }
            self.blocks.push(block);
        }
        Ok(())
    }

    /// Returns the fragments that the met conditions enable, complete or not.
    fn fragments(&self, outcome: &Outcome<'_>) -> impl Iterator<Item = &Fragment<'b>> {
        let mut allowed = Vec::new();
        for block in &self.blocks {
            for (condition, fragments) in &block.conditions {
                if outcome.is_met(*condition) {
                    let is_allowed = |fragment: &&Fragment<'_>| fragments.contains(&fragment.id);
                    allowed.extend(block.fragments.iter().filter(is_allowed));
                }
            }
        }
        allowed.into_iter()
    }

    /// Returns the updates that the outcome applies to the definition's partitions. Updates that
    /// depend on read values come first, as in `TxnWrite.applyDirect`.
    pub fn updates(&self, outcome: &Outcome<'b>) -> Result<Vec<StoredUpdate<'b>>> {
        if outcome.conditions.iter().all(|word| *word == 0) {
            return Ok(Vec::new());
        }
        let mut updates = Vec::new();
        for (key, bytes) in &outcome.updates {
            if self.keys.contains(key) {
                updates.push(StoredUpdate {
                    key: *key,
                    tables: outcome.tables,
                    bytes,
                    is_fragment: false,
                });
            }
        }
        for fragment in self.fragments(outcome) {
            let mut cursor = Cursor::new(fragment.bytes);
            let version = cursor.uvint()?;
            if version != 1 {
                return Err(DecodeError::out_of_range("version of a fragment", version));
            }
            cursor.uvint()?;
            updates.push(StoredUpdate {
                key: fragment.key,
                tables: self.tables,
                bytes: cursor.rest(),
                is_fragment: true,
            });
        }
        Ok(updates)
    }
}

impl<'b> Outcome<'b> {
    pub fn read(cursor: &mut Cursor<'b>) -> Result<Self> {
        let base = clock(cursor)?.unwrap_or_default();
        let timestamp_us = execution_clock(cursor, base)? as i64;
        let has_write = boolean(cursor)?;
        let keys = seekables(cursor)?;
        let mut outcome = Self {
            timestamp_us,
            conditions: Vec::new(),
            tables: 0,
            updates: Vec::new(),
        };
        if !has_write {
            return Ok(outcome);
        }
        outcome.tables = skip_tables(cursor)?;
        outcome.conditions = bits(cursor)?;
        for _ in 0..cursor.uvint()? {
            let key = key_at(cursor, &keys)?;
            // The index of the statement in the transaction.
            cursor.bytes(4)?;
            outcome.updates.push((key, cursor.vbytes()?));
        }
        Ok(outcome)
    }

    fn is_met(&self, condition: u64) -> bool {
        let word = self.conditions.get((condition / 64) as usize);
        word.is_some_and(|word| word >> (condition % 64) & 1 != 0)
    }
}

/// `TableMetadatas.deserializeSelf`; returns the number of tables.
fn skip_tables(cursor: &mut Cursor<'_>) -> Result<usize> {
    let count = cursor.length()?;
    for _ in 0..count {
        table_id(cursor, true)?;
    }
    Ok(count)
}

/// `AbstractSeekablesSerializer`; rejects ranges, which no write contains.
fn seekables<'b>(cursor: &mut Cursor<'b>) -> Result<Vec<PartitionKey<'b>>> {
    let kind = cursor.u8()?;
    if kind != SEEKABLE_KEYS {
        return Err(DecodeError::out_of_range("domain of a write", kind));
    }
    let mut keys = Vec::new();
    for _ in 0..cursor.uvint()? {
        keys.push(PartitionKey {
            table: table_id(cursor, false)?,
            key: cursor.vbytes()?,
        });
    }
    Ok(keys)
}

fn key_at<'b>(cursor: &mut Cursor<'_>, keys: &[PartitionKey<'b>]) -> Result<PartitionKey<'b>> {
    let place = cursor.uvint()?;
    let key = keys.get(place as usize).copied();
    key.ok_or_else(|| DecodeError::out_of_range("key index", place))
}

/// `TxnRead`.
fn skip_read(cursor: &mut Cursor<'_>, keys: usize) -> Result<()> {
    const NOT_EMPTY: u8 = 2;
    if cursor.u8()? != NOT_EMPTY {
        return Ok(());
    }
    for _ in 0..cursor.uvint()? {
        cursor.bytes(4)?;
        let place = cursor.uvint()?;
        if place == 0 || place > keys as u64 {
            return Err(DecodeError::out_of_range("read key index", place));
        }
        if !boolean(cursor)? {
            cursor.vbytes()?;
        }
    }
    skip_consistency_level(cursor)
}

fn skip_consistency_level(cursor: &mut Cursor<'_>) -> Result<()> {
    if boolean(cursor)? {
        cursor.u8()?;
    }
    Ok(())
}

/// `SimpleBitSetSerializers.any`.
fn bits(cursor: &mut Cursor<'_>) -> Result<Vec<u64>> {
    let words = match cursor.uvint()? {
        0 | 1 => 1,
        _ => cursor.uvint()?,
    };
    (0..words).map(|_| cursor.uvint()).collect()
}
