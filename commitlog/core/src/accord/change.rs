//! Changes to a command in one entry (`accord.impl.CommandChange`, `journal/CommandChanges`).
//!
//! A record starts with 32 flags: the high half marks the changed fields, the low half the fields
//! that became null. The values of the other changed fields follow in field order.

use super::participants::{skip_dependencies, skip_store_participants};
use super::transaction::{Definition, Outcome};
use super::txn_id::{self, TxnId};
use crate::cursor::Cursor;
use crate::error::{DecodeError, Result};

/// Field numbers, up to the last field that is read.
const PARTICIPANTS: u32 = 0;
const SAVE_STATUS: u32 = 1;
const DURABILITY: u32 = 2;
const EXECUTE_AT: u32 = 3;
const PROMISED: u32 = 4;
const ACCEPTED: u32 = 5;
const PARTIAL_TXN: u32 = 6;
const PARTIAL_DEPS: u32 = 7;
const WAITING_ON: u32 = 8;
const MIN_UNIQUE_HLC: u32 = 9;
const EXECUTES_AT_LEAST: u32 = 10;
const WRITES: u32 = 11;

/// `SaveStatus`, reduced to the states that the reader distinguishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// The outcome is undecided or unknown to this store.
    Undecided,
    /// The outcome is known, but earlier transactions must be applied first.
    PreApplied,
    /// The store is applying the outcome or has applied it.
    Applied,
    /// The store has truncated, erased or invalidated the transaction.
    Truncated,
}

impl Status {
    /// Converts a `SaveStatus` ordinal.
    fn from_ordinal(ordinal: u8) -> Result<Self> {
        match ordinal {
            0..=21 => Ok(Self::Undecided),
            22 => Ok(Self::PreApplied),
            23 | 24 => Ok(Self::Applied),
            25..=30 => Ok(Self::Truncated),
            _ => Err(DecodeError::out_of_range("status of a command", ordinal)),
        }
    }
}

/// The changed fields of a command that determine its writes, still serialized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change<'b> {
    pub status: Option<Status>,
    /// A serialized [`Definition`].
    pub definition: Option<&'b [u8]>,
    /// A serialized [`Outcome`].
    pub outcome: Option<&'b [u8]>,
}

impl<'b> Change<'b> {
    pub fn parse(record: &'b [u8], txn_id: TxnId) -> Result<Self> {
        let mut cursor = Cursor::new(record);
        let flags = cursor.u32()?;
        let (changed, null) = (flags >> 16, flags & 0xffff);
        let present = |field: u32| changed & !null & 1 << field != 0;
        let mut change = Self {
            status: None,
            definition: None,
            outcome: None,
        };
        for field in (PARTICIPANTS..=WRITES).filter(|field| present(*field)) {
            let start = cursor;
            match field {
                PARTICIPANTS => skip_store_participants(&mut cursor)?,
                SAVE_STATUS => change.status = Some(Status::from_ordinal(cursor.u8()?)?),
                DURABILITY => {
                    cursor.u8()?;
                }
                EXECUTE_AT => {
                    txn_id::execution_clock(&mut cursor, 0)?;
                }
                PROMISED | ACCEPTED => {
                    txn_id::clock(&mut cursor)?;
                }
                PARTIAL_TXN => {
                    Definition::read(&mut cursor)?;
                    change.definition = Some(cursor.bytes_since(&start));
                }
                PARTIAL_DEPS => skip_dependencies(&mut cursor)?,
                WAITING_ON => skip_waiting_on(&mut cursor, txn_id)?,
                MIN_UNIQUE_HLC => {
                    cursor.uvint()?;
                }
                EXECUTES_AT_LEAST => txn_id::skip_execution(&mut cursor)?,
                _ => {
                    Outcome::read(&mut cursor)?;
                    change.outcome = Some(cursor.bytes_since(&start));
                }
            }
        }
        Ok(change)
    }
}

/// `WaitingOnSerializer.skip`.
fn skip_waiting_on(cursor: &mut Cursor<'_>, txn_id: TxnId) -> Result<()> {
    let words = cursor.length()?;
    cursor.bytes(words.saturating_mul(8))?;
    if txn_id.is_range() {
        let fewer = cursor.length()?;
        cursor.bytes(words.saturating_sub(fewer).saturating_mul(8))?;
    }
    Ok(())
}
