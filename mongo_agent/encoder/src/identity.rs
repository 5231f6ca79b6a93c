//! Computes event ids, which are equal on all members of a replica set and for all readers.
//!
//! The first 16 bytes of BLAKE3 over a canonical form (`docs/reference/mongodb-event-format.md`,
//! "Event id"). The form contains no clock of a reader and no looked-up document, because they may
//! differ between readers.

use event_encoding::blake3_batch::{Blake3Batch, HalfDigest, half_digest};

use crate::batch::{Kind, MessageEntry};
use crate::bson::Document;
use crate::change::{Change, DdlEvent, Operation};
use crate::transaction::Boundary;

/// Version of the canonical form.
const VERSION: u8 = 1;

/// Forms are padded with zeros to whole blocks, so that many can be hashed together.
const BLOCK_BYTES: usize = 64;

/// Hashes changes in groups, so an id may be set several events later.
#[derive(Default)]
pub struct Identity {
    canonical: Vec<u8>,
    hashes: Blake3Batch,
}

impl Identity {
    /// Sets the id of a change's message or of its tombstone, immediately or later. The ids differ
    /// by `kind`, or the tombstone would be a duplicate.
    pub fn set(
        &mut self,
        change: &Change<'_>,
        kind: Kind,
        entry: usize,
        entries: &mut [MessageEntry],
    ) {
        self.write_form(change, kind as u8);
        self.hashes.add_copy(&self.canonical, entry, |entry, id| {
            set_id(entries, entry, id);
        });
    }

    /// Sets all pending ids.
    pub fn finish(&mut self, entries: &mut [MessageEntry]) {
        self.hashes.finish(|entry, id| {
            set_id(entries, entry, id);
        });
    }

    /// Returns the id of the start or end of a transaction. It includes the replica set, because
    /// each replica set reports its part of a transaction.
    pub fn boundary_id(&mut self, boundary: Boundary, replica_set: &str, id: &str) -> [u8; 16] {
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

    /// Returns the id of a DDL event.
    pub fn ddl_id(&mut self, event: &DdlEvent<'_>) -> [u8; 16] {
        const KIND: u8 = 8;
        let form = &mut self.canonical;
        form.clear();
        form.extend_from_slice(&[VERSION, KIND]);
        form.extend_from_slice(&event.source.cluster_time.seconds.to_be_bytes());
        form.extend_from_slice(&event.source.cluster_time.increment.to_be_bytes());
        write_count(form, event.source.transaction_index);
        write_bytes(form, event.source.database.unwrap_or_default());
        write_bytes(form, event.source.collection.unwrap_or_default());
        write_bytes(form, event.operation);
        let (database, collection) = event.to.unwrap_or_default();
        write_bytes(form, database);
        write_bytes(form, collection);
        write_bytes(form, event.description);
        self.hash()
    }

    fn write_form(&mut self, change: &Change<'_>, kind: u8) {
        let form = &mut self.canonical;
        form.clear();
        form.extend_from_slice(&[VERSION, kind]);
        form.extend_from_slice(&change.source.cluster_time.seconds.to_be_bytes());
        form.extend_from_slice(&change.source.cluster_time.increment.to_be_bytes());
        write_count(form, change.source.transaction_index);
        match &change.source.transaction {
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
        self.pad();
    }

    fn pad(&mut self) {
        let length = self.canonical.len().next_multiple_of(BLOCK_BYTES);
        self.canonical.resize(length, 0);
    }

    fn hash(&mut self) -> HalfDigest {
        self.pad();
        half_digest(&self.canonical)
    }
}

fn set_id(entries: &mut [MessageEntry], entry: usize, id: HalfDigest) {
    if let Some(entry) = entries.get_mut(entry) {
        entry.id = id;
    }
}

/// Treats an empty document as absent, because server versions differ in this respect.
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

/// Writes seven bits per byte, the lowest first. The high bit is set in all bytes but the last.
fn write_count(form: &mut Vec<u8>, mut count: u64) {
    while count >= 0x80 {
        form.push(count as u8 | 0x80);
        count >>= 7;
    }
    form.push(count as u8);
}
