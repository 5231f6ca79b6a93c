//! The event id: equal on all members of a replica set, whoever reads the event.
//!
//! The first 16 bytes of BLAKE3 over a canonical form (`docs/mongo-event-format.md`, "Event id"). No
//! clock of a reader goes in and nothing that was looked up: two readers may find different documents.

use crate::bson::Document;
use crate::change::{Change, Operation, OtherEvent};
use crate::transaction::Boundary;

/// Version of the canonical form.
const VERSION: u8 = 1;

/// Reused from event to event.
#[derive(Debug, Default)]
pub struct Identity {
    canonical: Vec<u8>,
}

impl Identity {
    pub fn of_change(&mut self, change: &Change<'_>) -> [u8; 16] {
        let kind = match change.operation {
            Operation::Insert => 0,
            Operation::Update => 1,
            Operation::Replace => 2,
            Operation::Delete => 3,
            Operation::Read => 4,
        };
        self.of(change, kind)
    }

    /// That of the message behind a delete: another one, or it would be taken for a repeat.
    pub fn of_tombstone(&mut self, change: &Change<'_>) -> [u8; 16] {
        self.of(change, 5)
    }

    /// That of the message with which a transaction begins or ends. Each replica set tells of its own part of
    /// a transaction, so its name goes in.
    pub fn of_boundary(&mut self, boundary: Boundary, replica_set: &str, id: &str) -> [u8; 16] {
        let kind = match boundary {
            Boundary::Begin => 6,
            Boundary::End => 7,
        };
        let form = &mut self.canonical;
        form.clear();
        form.extend_from_slice(&[VERSION, kind]);
        write_bytes(form, replica_set.as_bytes());
        write_bytes(form, id.as_bytes());
        self.hash()
    }

    /// That of an event of no document.
    pub fn of_other(&mut self, event: &OtherEvent<'_>) -> [u8; 16] {
        const KIND: u8 = 8;
        let form = &mut self.canonical;
        form.clear();
        form.extend_from_slice(&[VERSION, KIND]);
        form.extend_from_slice(&event.cluster_time.seconds.to_be_bytes());
        form.extend_from_slice(&event.cluster_time.increment.to_be_bytes());
        write_count(form, event.transaction_index);
        write_bytes(form, event.database.unwrap_or_default());
        write_bytes(form, event.collection.unwrap_or_default());
        write_bytes(form, event.operation);
        let (database, collection) = event.to.unwrap_or_default();
        write_bytes(form, database);
        write_bytes(form, collection);
        write_bytes(form, event.description);
        self.hash()
    }

    fn of(&mut self, change: &Change<'_>, kind: u8) -> [u8; 16] {
        let form = &mut self.canonical;
        form.clear();
        form.extend_from_slice(&[VERSION, kind]);
        form.extend_from_slice(&change.cluster_time.seconds.to_be_bytes());
        form.extend_from_slice(&change.cluster_time.increment.to_be_bytes());
        write_count(form, change.transaction_index);
        match &change.transaction {
            Some(transaction) => {
                form.push(1);
                write_bytes(form, transaction.lsid.bytes());
                form.extend_from_slice(&transaction.number.to_be_bytes());
            }
            None => form.push(0),
        }
        write_bytes(form, change.database);
        write_bytes(form, change.collection);
        write_bytes(form, change.key);
        match change.operation {
            Operation::Insert | Operation::Replace | Operation::Read => {
                write_document(form, change.after);
            }
            Operation::Update => {
                let update = change.update.unwrap_or_default();
                write_document(form, update.updated_fields);
                write_document(form, update.removed_fields);
                write_document(form, update.truncated_arrays);
            }
            Operation::Delete => {}
        }
        self.hash()
    }

    fn hash(&self) -> [u8; 16] {
        let hash = blake3::hash(&self.canonical);
        let first = hash.as_bytes().first_chunk::<16>();
        first.copied().unwrap_or_default()
    }
}

/// One that is empty is as good as none: servers of different versions send the one or the other.
fn write_document(form: &mut Vec<u8>, document: Option<Document<'_>>) {
    const EMPTY_BYTES: usize = 5;
    let bytes = document.map_or(&[][..], |document| document.bytes());
    write_bytes(
        form,
        if bytes.len() > EMPTY_BYTES {
            bytes
        } else {
            &[]
        },
    );
}

fn write_bytes(form: &mut Vec<u8>, bytes: &[u8]) {
    write_count(form, bytes.len() as u64);
    form.extend_from_slice(bytes);
}

/// Seven bits a byte, the lowest first, the high bit set in all but the last.
fn write_count(form: &mut Vec<u8>, mut count: u64) {
    while count >= 0x80 {
        form.push(count as u8 | 0x80);
        count >>= 7;
    }
    form.push(count as u8);
}
