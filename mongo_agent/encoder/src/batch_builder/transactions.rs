//! Adds messages for the start and end of transactions.

use std::collections::BTreeMap;

use super::{BatchBuilder, Message};
use crate::batch::Kind;
use crate::bson::Timestamp;
use crate::change::{Change, Transaction};
use crate::error::Result;
use crate::schemas::Record;
use crate::transaction::{self, Boundary, TransactionOrder, Transition};

impl BatchBuilder<'_> {
    /// Adds a resume token, which ends an open transaction of an earlier time.
    pub(crate) fn add_token(&mut self, time: Timestamp) {
        if self
            .transactions
            .open()
            .is_some_and(|open| open.time < time)
        {
            self.end_transaction();
        }
        self.batch.events = self.batch.events.saturating_add(1);
    }

    /// Counts an event in its transaction if transaction metadata is enabled.
    pub(super) fn count_in_transaction(
        &mut self,
        change: &Change<'_>,
        topic: usize,
    ) -> Result<Option<TransactionOrder>> {
        self.end_other_transaction(change.source.transaction.as_ref())?;
        if self.format.transaction_topic.is_none() || change.source.transaction.is_none() {
            return Ok(None);
        }
        let event = self.batch.events;
        let time = (change.source.cluster_time, change.source.ts_ms);
        if self.transactions.open().is_none() {
            let id = self.transaction_id.clone();
            self.transactions.step(event, Transition::Began { id }, &[]);
            let counts = BTreeMap::new();
            self.add_boundary(Boundary::Begin, &self.transaction_id.clone(), time, &counts);
        }
        let topics = &self.batch.topics;
        let (time, ts_ms) = time;
        let counted = Transition::Counted { topic, time, ts_ms };
        Ok(self.transactions.step(event, counted, topics))
    }

    /// Ends the open transaction unless the event belongs to it. `transaction_id` becomes the
    /// event's transaction, or empty.
    pub(super) fn end_other_transaction(
        &mut self,
        transaction: Option<&Transaction<'_>>,
    ) -> Result<()> {
        if self.format.transaction_topic.is_none() {
            return Ok(());
        }
        self.transaction_id.clear();
        if let Some(transaction) = transaction {
            let mut id = std::mem::take(&mut self.transaction_id).into_bytes();
            transaction.write_id(&mut id)?;
            self.transaction_id = String::from_utf8(id).unwrap_or_default();
        }
        let open = self.transactions.open();
        if open.is_some_and(|open| open.id != self.transaction_id) {
            self.end_transaction();
        }
        Ok(())
    }

    fn end_transaction(&mut self) {
        if let Some(ended) = self.transactions.open().cloned() {
            let event = self.batch.events;
            self.transactions.step(event, Transition::Ended, &[]);
            let time = (ended.time, ended.ts_ms);
            self.add_boundary(Boundary::End, &ended.id, time, &ended.counts);
        }
    }

    fn add_boundary(
        &mut self,
        boundary: Boundary,
        id: &str,
        (cluster_time, ts_ms): (Timestamp, i64),
        counts: &BTreeMap<String, u64>,
    ) {
        let Some(name) = &self.format.transaction_topic else {
            return;
        };
        let topic = self.topic(Record::Transaction, "", name);
        // Messages of transactions are never rejected.
        let formats = self.formats(topic, Record::Transaction).unwrap_or_default();
        let out = &mut self.batch.bytes;
        let key_start = out.len();
        formats.key.write_id_key(out, self.format.key, id);
        let value_start = out.len();
        formats.value.around(out, self.format.value, |writer| {
            transaction::write_value(writer, boundary, (id, ts_ms), counts, self.format);
        });
        let message = Message {
            key_start,
            value_start,
            id: self
                .identity
                .boundary_id(boundary, &self.format.replica_set, id),
            kind: Kind::Transaction,
            timestamp_us: ts_ms.saturating_mul(1000),
            cluster_time,
        };
        self.push(topic, &message);
    }
}
