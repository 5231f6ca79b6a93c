//! Joins the journal entries of each transaction.
//!
//! Separate entries record the definition, outcome and application of a transaction, for each
//! command store of the node. A store applies the transactions of a partition in execution order.
//! The updates are returned when the transaction is applied, so their order matches the table's
//! data.

use std::collections::BTreeMap;

use super::bytes::write_uvint;
use super::change::{Change, Status};
use super::entry::CommandId;
use super::transaction::{Definition, Outcome};
use crate::cursor::Cursor;
use crate::error::{DecodeError, Result};

const STORED_VERSION: u8 = 1;

/// The known parts of a transaction that is not applied yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parts {
    pub definition: Option<Vec<u8>>,
    pub outcome: Option<Vec<u8>>,
}

/// An applied transaction, with its parts still serialized.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    definition: Vec<u8>,
    outcome: Vec<u8>,
}

impl Applied {
    /// Deserializes the parts.
    pub fn read(&self) -> Result<(Definition<'_>, Outcome<'_>)> {
        Ok((
            Definition::read(&mut Cursor::new(&self.definition))?,
            Outcome::read(&mut Cursor::new(&self.outcome))?,
        ))
    }
}

/// The transactions of one node that are not applied yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transactions {
    open: BTreeMap<CommandId, Parts>,
}

impl Transactions {
    /// Records a change; returns the transaction if the change applies it.
    ///
    /// If a transaction began before the first entry that was read, its definition is missing, and
    /// it yields no updates.
    pub fn note(&mut self, id: CommandId, change: &Change<'_>) -> Option<Applied> {
        let is_over = matches!(change.status, Some(Status::Applied | Status::Truncated));
        let has_part = change.definition.is_some() || change.outcome.is_some();
        // A new part always comes with a status. A part without a status extends a known part,
        // which no longer matters after the transaction is over.
        let is_new = has_part && change.status.is_some();
        if !is_new && !self.open.contains_key(&id) {
            return None;
        }
        let mut parts = self.open.remove(&id).unwrap_or_default();
        if let Some(definition) = change.definition {
            parts.definition = Some(definition.to_vec());
        }
        if let Some(outcome) = change.outcome {
            parts.outcome = Some(outcome.to_vec());
        }
        if is_over {
            return Some(Applied {
                definition: parts.definition?,
                outcome: parts.outcome?,
            });
        }
        self.open.insert(id, parts);
        None
    }

    /// Returns the known parts of one transaction.
    pub(super) fn get(&self, id: CommandId) -> Option<Parts> {
        self.open.get(&id).cloned()
    }

    /// Restores the earlier parts of a transaction; `None` removes it.
    pub(super) fn restore(&mut self, id: CommandId, parts: Option<Parts>) {
        match parts {
            Some(parts) => self.open.insert(id, parts),
            None => self.open.remove(&id),
        };
    }

    /// Returns the number of unapplied transactions and the start of the oldest, in microseconds.
    pub fn waiting(&self) -> (usize, Option<i64>) {
        let starts = self.open.keys().map(|id| id.txn_id.clock_us());
        (self.open.len(), starts.min())
    }

    /// Serializes the transactions for an agent to store; [`Self::from_stored`] reads them.
    pub fn to_stored(&self) -> Vec<u8> {
        let mut out = vec![STORED_VERSION];
        for (id, parts) in &self.open {
            id.write(&mut out);
            for part in [&parts.definition, &parts.outcome] {
                match part {
                    // The length plus one, so that 0 means `None`.
                    Some(bytes) => {
                        write_uvint(&mut out, bytes.len() as u64 + 1);
                        out.extend_from_slice(bytes);
                    }
                    None => out.push(0),
                }
            }
        }
        out
    }

    /// Fails if the version is unsupported or the bytes are truncated.
    pub fn from_stored(bytes: &[u8]) -> Result<Self> {
        let mut cursor = Cursor::new(bytes);
        let version = cursor.u8()?;
        if version != STORED_VERSION {
            return Err(DecodeError::out_of_range(
                "version of stored transactions",
                version,
            ));
        }
        let mut transactions = Self::default();
        while !cursor.rest().is_empty() {
            let id = CommandId::read(&mut cursor)?;
            let parts = Parts {
                definition: stored_part(&mut cursor)?,
                outcome: stored_part(&mut cursor)?,
            };
            transactions.open.insert(id, parts);
        }
        Ok(transactions)
    }
}

fn stored_part(cursor: &mut Cursor<'_>) -> Result<Option<Vec<u8>>> {
    match cursor.length()?.checked_sub(1) {
        Some(length) => Ok(Some(cursor.bytes(length)?.to_vec())),
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accord::txn_id::TxnId;

    fn id(store: u32) -> CommandId {
        let txn_id = TxnId::of_bits(&[1; 20]).unwrap();
        CommandId { txn_id, store }
    }

    fn change<'b>(
        status: Option<Status>,
        definition: Option<&'b [u8]>,
        outcome: Option<&'b [u8]>,
    ) -> Change<'b> {
        Change {
            status,
            definition,
            outcome,
        }
    }

    #[test]
    fn transaction_is_returned_once_when_applied() {
        let mut transactions = Transactions::default();
        let steps = [
            change(Some(Status::Undecided), Some(b"d"), None),
            change(Some(Status::Undecided), None, None),
            change(Some(Status::PreApplied), None, Some(b"o")),
        ];
        for step in steps {
            assert_eq!(transactions.note(id(1), &step), None);
        }
        assert_eq!(transactions.waiting(), (1, Some(id(1).txn_id.clock_us())));
        let applied = Applied {
            definition: b"d".to_vec(),
            outcome: b"o".to_vec(),
        };
        let applying = change(Some(Status::Applied), None, None);
        assert_eq!(transactions.note(id(1), &applying), Some(applied));
        assert_eq!(transactions.note(id(1), &applying), None);
        assert_eq!(transactions.note(id(1), &change(None, None, None)), None);
        assert_eq!(transactions.waiting(), (0, None));
    }

    #[test]
    fn invalidated_and_undefined_transactions_write_nothing() {
        let mut transactions = Transactions::default();
        transactions.note(id(1), &change(Some(Status::Undecided), Some(b"d"), None));
        let invalidated = change(Some(Status::Truncated), None, None);
        assert_eq!(transactions.note(id(1), &invalidated), None);
        let applied = change(Some(Status::Applied), None, Some(b"o"));
        assert_eq!(transactions.note(id(2), &applied), None);
        assert_eq!(transactions, Transactions::default());
    }

    #[test]
    fn open_transactions_are_stored() {
        let mut transactions = Transactions::default();
        transactions.note(id(1), &change(Some(Status::Undecided), Some(b"d"), None));
        transactions.note(
            id(2),
            &change(Some(Status::PreApplied), Some(b""), Some(b"o")),
        );
        let stored = transactions.to_stored();
        assert_eq!(Transactions::from_stored(&stored), Ok(transactions));
        for cut in [0, 1, 10, stored.len() - 1] {
            let read = Transactions::from_stored(&stored[..cut]);
            assert_eq!(read.is_err(), cut != 1, "{cut}");
        }
        assert!(Transactions::from_stored(&[9]).is_err());
    }
}
