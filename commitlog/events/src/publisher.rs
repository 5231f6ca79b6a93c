//! Selects the published tables, and writes the events of their partition updates.

use std::sync::Arc;

use commitlog_core::mutation::{MutationReader, Update};
use commitlog_core::row::{Marker, Row, Unfiltered};
use commitlog_core::schema::{Schema, Table, TableId, TableKind};
use rustc_hash::FxHashMap;

use crate::avro::ConfluentHeaders;
use crate::batch::{EventBatch, EventFacts, Topic, USUAL_ROOM};
use crate::counters::{self, CounterDelta, CounterHistory};
use crate::encoder::{JsonEncoder, KeyValueEncoder, Scratch, Walk};
use crate::event::{Bound, Content};
use crate::event_context::EventContext;
use crate::event_writer::{EventWriter, more_room};
use crate::format::{CounterEvents, EventFormat, PartitionBy};
use crate::identity::Identity;
use crate::operation::Op;
use crate::partition::Partition;
use crate::plan::TablePlan;
use crate::record_error::RecordError;
use crate::static_fragment::StaticFragment;
use crate::value::Result;
use event_encoding::partition_hash::kafka_partition_hash;
use event_encoding::schema_ids::SchemaIds;

/// Whether a table's updates are published.
pub(crate) enum Disposition {
    Publish(Box<PublishedTable>),
    /// Not published, for this reason.
    Skip(&'static str),
}

pub(crate) struct PublishedTable {
    plan: TablePlan,
    /// The number of a batch, and the topic's index in it.
    topic: Option<(u64, u32)>,
    /// [`EventContext::source_middle`] in that batch.
    source_middle: StaticFragment<128>,
    /// The Confluent headers of Avro and Protobuf messages, once their schemas have ids.
    headers: Option<ConfluentHeaders>,
}

impl PublishedTable {
    /// Returns the Confluent headers of messages; fails while a schema has no id.
    fn headers(&mut self, ids: &SchemaIds) -> Result<ConfluentHeaders, Box<RecordError>> {
        if self.headers.is_none() {
            self.headers = self.plan.headers(ids);
        }
        self.headers.ok_or_else(|| {
            let Table { keyspace, name, .. } = &*self.plan.table;
            Box::new(RecordError::Unregistered {
                table: format!("{keyspace}.{name}"),
                schemas: ids.missing(self.plan.schemas()),
            })
        })
    }

    /// Returns the index of the table's topic in the batch with this number.
    fn topic_in(&mut self, batch: &mut EventBatch, number: u64, context: &EventContext) -> u32 {
        match self.topic {
            Some((batch_number, topic)) if batch_number == number => topic,
            _ => {
                let table = &self.plan.table;
                let topic = batch.add_topic(Topic {
                    name: self.plan.topic.clone(),
                    table: format!("{}.{}", table.keyspace, table.name),
                });
                self.topic = Some((number, topic));
                self.source_middle = context.source_middle(&self.plan);
                topic
            }
        }
    }
}

/// A table at an epoch, if the log has epochs.
type TableAt = (TableId, Option<i64>);

/// Writes the events of partition updates into batches.
pub(crate) struct Publisher {
    schema: Arc<Schema>,
    format: Arc<EventFormat>,
    /// One entry for each table and epoch of the updates so far.
    dispositions: Vec<(TableAt, Disposition)>,
    places: FxHashMap<TableAt, usize>,
    /// Index of the last [`Self::disposition`] in `dispositions`.
    last: usize,
    scratch: Scratch,
    identity: Identity,
    counters: Vec<(u32, Vec<CounterDelta>)>,
    /// The generation of the schema ids in the cached headers.
    generation: u64,
}

/// The mutation being written.
pub(crate) struct MutationContext<'h> {
    /// Number of the batch.
    pub batch: u64,
    /// Logical end of the mutation.
    pub position: u64,
    /// Bytes of the mutation.
    pub size_bytes: usize,
    /// Events of this mutation so far.
    pub events: u32,
    pub counters: Option<&'h mut CounterHistory>,
    /// The table whose update was rejected.
    pub table: Option<TableId>,
}

impl Publisher {
    pub fn new(schema: Arc<Schema>, format: Arc<EventFormat>) -> Self {
        Self {
            schema,
            format,
            dispositions: Vec::new(),
            places: FxHashMap::default(),
            last: 0,
            scratch: Scratch::default(),
            identity: Identity::default(),
            counters: Vec::new(),
            generation: 0,
        }
    }

    /// Returns how a table is handled, or `None` if the schema does not contain it.
    #[allow(
        clippy::inline_always,
        reason = "passing the id on makes its comparison slower"
    )]
    #[inline(always)]
    pub fn disposition(&mut self, id: TableId, epoch: Option<i64>) -> Option<&mut Disposition> {
        let last = self.dispositions.get(self.last);
        if last.is_none_or(|((last_id, last_epoch), _)| *last_id != id || *last_epoch != epoch) {
            self.last = self.find((id, epoch))?;
        }
        let (_, disposition) = self.dispositions.get_mut(self.last)?;
        Some(disposition)
    }

    fn find(&mut self, key: TableAt) -> Option<usize> {
        if let Some(place) = self.places.get(&key) {
            return Some(*place);
        }
        let (id, epoch) = key;
        let table = self.schema.table_at(id, epoch)?;
        let disposition = match skip_reason(&table, &self.format) {
            Some(reason) => Disposition::Skip(reason),
            None => Disposition::Publish(Box::new(PublishedTable {
                plan: TablePlan::new(&table, epoch, &self.format),
                topic: None,
                source_middle: Vec::new().into(),
                headers: None,
            })),
        };
        let place = self.dispositions.len();
        self.dispositions.push((key, disposition));
        self.places.insert(key, place);
        Some(place)
    }

    /// Keeps only the first `events` events of `batch`.
    pub fn take_back(&mut self, batch: &mut EventBatch, events: usize) {
        // Pending ids are set first: otherwise they would go to later events at these indexes.
        self.identity.settle(batch);
        batch.truncate(events);
    }

    /// Begins a batch.
    pub fn begin(&mut self) {
        self.identity.forget();
        let generation = self.format.schema_ids.generation();
        if std::mem::replace(&mut self.generation, generation) != generation {
            for (_, disposition) in &mut self.dispositions {
                if let Disposition::Publish(published) = disposition {
                    published.headers = None;
                }
            }
        }
    }

    /// Finishes a batch by setting all pending ids.
    pub fn finish(&mut self, batch: &mut EventBatch) {
        self.identity.settle(batch);
    }

    /// Writes the events of `update`, whose rows come from `mutation`.
    pub fn update<'p>(
        &mut self,
        update: &Update<'p>,
        mutation: &mut MutationReader<'_, 'p>,
        row: &mut Row<'p>,
        context: &EventContext,
        current: &mut MutationContext<'_>,
        batch: &mut EventBatch,
    ) -> Result<(), Box<RecordError>> {
        match self.disposition(update.table_id, update.epoch) {
            Some(Disposition::Publish(_)) => {}
            Some(Disposition::Skip(reason)) => {
                let reason = *reason;
                batch.skip(reason, 1);
                return Ok(());
            }
            None => return Ok(()),
        }
        let Some((_, Disposition::Publish(published))) = self.dispositions.get_mut(self.last)
        else {
            return Ok(());
        };
        let headers = published.headers(&self.format.schema_ids)?;
        let topic = published.topic_in(batch, current.batch, context);
        let plan = &published.plan;
        let partition = Partition::parse(&plan.table, update.key).ok_or_else(|| {
            Box::new(RecordError::Key {
                table: format!("{}.{}", plan.table.keyspace, plan.table.name),
                length: update.key.len(),
            })
        })?;
        let mut events = UpdateEvents {
            plan,
            headers,
            source_middle: &published.source_middle,
            partition: &partition,
            partition_hash: partition_hash(&self.format, update.key),
            topic,
            context,
            mutation: current,
            batch,
            scratch: &mut self.scratch,
            identity: &mut self.identity,
            counters: &mut self.counters,
        };
        if let Some(deletion) = update.deletion {
            events.push(&Content::PartitionDeletion(deletion))?;
        }
        while let Some(unfiltered) = mutation.next_unfiltered(row)? {
            match unfiltered {
                Unfiltered::Row => events.row(row)?,
                Unfiltered::Marker(start) => events.range(&start, mutation)?,
            }
        }
        Ok(())
    }
}

/// Returns the hash that all events of a partition share, if the partition key determines it.
pub(crate) fn partition_hash(format: &EventFormat, partition_key: &[u8]) -> Option<u32> {
    match format.partition_by {
        PartitionBy::PartitionKey => Some(kafka_partition_hash(partition_key)),
        PartitionBy::Key => None,
    }
}

/// Returns why a table is not published, or `None` if it is published.
pub(crate) fn skip_reason(table: &Table, format: &EventFormat) -> Option<&'static str> {
    if table.kind == TableKind::View {
        Some("view")
    } else if !table.cdc && !format.tables.all_tables {
        Some("not_cdc")
    } else if !format.tables.admits(&table.keyspace, &table.name) {
        Some("filtered")
    } else if table.counter && format.counter_events == CounterEvents::Skip {
        Some("counter")
    } else {
        None
    }
}

/// The events of one update.
pub(crate) struct UpdateEvents<'u, 'p, 'h> {
    pub plan: &'u TablePlan,
    pub headers: ConfluentHeaders,
    pub source_middle: &'u StaticFragment<128>,
    pub partition: &'u Partition<'p>,
    pub partition_hash: Option<u32>,
    pub topic: u32,
    pub context: &'u EventContext,
    pub mutation: &'u mut MutationContext<'h>,
    pub batch: &'u mut EventBatch,
    pub scratch: &'u mut Scratch,
    pub identity: &'u mut Identity,
    pub counters: &'u mut Vec<(u32, Vec<CounterDelta>)>,
}

impl<'p> UpdateEvents<'_, 'p, '_> {
    /// Writes the events of a row: two if one mutation deletes and writes it.
    fn row(&mut self, row: &Row<'p>) -> Result<(), Box<RecordError>> {
        if let Some(deletion) = row.deletion {
            self.push(&Content::RowDeletion {
                clustering: &row.clustering,
                deletion,
            })?;
            let is_written = row.liveness.is_some()
                || !row.cells.is_empty()
                || !row.complex_deletions.is_empty();
            if !is_written {
                return Ok(());
            }
        }
        self.push(&Content::Write(row))
    }

    /// Writes the range that starts at a marker, reading its end ahead. The event precedes the rows
    /// inside, so a consumer that applies events in order never deletes a newer row.
    fn range(
        &mut self,
        start: &Marker<'p>,
        mutation: &mut MutationReader<'_, 'p>,
    ) -> Result<(), Box<RecordError>> {
        let (Some(start_kind), Some(deletion)) = (start.kind.opening(), start.open) else {
            return Ok(());
        };
        let open_range = || Box::new(RecordError::OpenRange);
        let end = mutation.peek_marker()?.ok_or_else(open_range)?;
        let end_kind = end.kind.closing().ok_or_else(open_range)?;
        self.push(&Content::RangeDeletion {
            start: Bound {
                kind: start_kind,
                clustering: &start.clustering,
            },
            end: Bound {
                kind: end_kind,
                clustering: &end.clustering,
            },
            deletion,
        })
    }

    pub fn push(&mut self, content: &Content<'_, 'p>) -> Result<(), Box<RecordError>> {
        if self.plan.table.counter {
            let history = self.mutation.counters.as_deref_mut();
            counters::follow(
                history,
                self.plan,
                self.partition.key,
                content,
                self.counters,
            )?;
        }
        let op = self.context.op(content, &self.plan.table);
        if self.context.format.skipped.has(op) {
            self.batch.skip("skipped_operation", 1);
            // The setting must not change the indexes of the other events.
            self.mutation.events += 1;
            return Ok(());
        }
        let timestamp_us = self.context.timestamp_us(content);
        let room = if self.batch.size_bytes() < self.context.memory.event_bytes() {
            self.usual_room()
        } else {
            self.larger_room()?
        };
        self.batch.make_room(room);
        let (key, value) = loop {
            if let Some(lengths) = self.write(content, op, timestamp_us)? {
                break lengths;
            }
            let room = self.larger_room()?;
            self.batch.make_room(room);
        };
        let partition_hash = self.partition_hash.unwrap_or_else(|| {
            let key = self.batch.room().get(..key);
            kafka_partition_hash(key.unwrap_or_default())
        });
        let facts = EventFacts {
            topic: self.topic,
            kind: content.kind(),
            op,
            timestamp_us,
            position: self.mutation.position,
            index: self.mutation.events,
            partition_hash,
        };
        let event = self.batch.len();
        self.batch.push(key, value, &facts);
        self.identity.give(
            self.batch,
            event,
            self.plan,
            self.partition.key,
            content,
            self.mutation.size_bytes,
        );
        if op == Op::Delete && self.context.format.tombstones {
            self.batch.push_tombstone();
        }
        self.mutation.events += 1;
        Ok(())
    }

    /// Returns a larger size for the free space, or fails if the memory limit does not allow it.
    #[cold]
    fn larger_room(&mut self) -> Result<usize, Box<RecordError>> {
        let room = self.batch.room().len();
        let wanted = more_room(room, self.likely_room());
        let (memory, used) = (self.context.memory, self.batch.size_bytes());
        let allowed = wanted.min(memory.event_bytes().saturating_sub(used));
        if allowed <= room {
            let refused = memory.allows_events(used.saturating_add(wanted));
            refused.map_err(|refused| Box::new(RecordError::TooLarge(refused)))?;
        }
        Ok(allowed)
    }

    /// Returns a size that is enough for most events.
    #[inline]
    fn usual_room(&self) -> usize {
        let encoding = self.plan.encoding.as_ref();
        USUAL_ROOM.saturating_add(encoding.map_or(0, |encoding| encoding.envelope_bytes()))
    }

    /// Returns a size that is enough for an event with a few large values.
    fn likely_room(&self) -> usize {
        let copies = if self.context.format.cells { 2 } else { 1 };
        let base64 = self.mutation.size_bytes.div_ceil(3).saturating_mul(4);
        self.usual_room()
            .saturating_add(base64.saturating_mul(copies))
    }

    /// Writes key and value into the free space of the batch. Returns their lengths, or `None` if
    /// they do not fit.
    #[inline]
    fn write(
        &mut self,
        content: &Content<'_, 'p>,
        op: Op,
        timestamp_us: i64,
    ) -> Result<Option<(usize, usize)>> {
        let walk = Walk {
            context: self.context,
            partition: self.partition,
            content,
            op,
            timestamp_us,
            position: self.mutation.position,
            counters: self.counters,
        };
        if let Some(encoding) = &self.plan.encoding {
            let mut encoder = KeyValueEncoder {
                scratch: self.scratch,
                plan: self.plan,
                headers: self.headers,
                source_middle: self.source_middle,
                walk,
            };
            return encoder.write(encoding, self.batch.room());
        }
        let modes = self.context.format.value_modes();
        let mut encoder = JsonEncoder::new(
            self.scratch,
            self.context,
            self.plan,
            modes,
            self.source_middle,
        );
        let room = self.batch.room();
        let whole = room.len();
        let left = walk.key(&mut encoder, EventWriter::new(room))?.room();
        let length = whole.saturating_sub(left);
        let (key, room) = self.batch.room().split_at_mut(length);
        encoder.set_key(key);
        let value = walk.value(&mut encoder, EventWriter::new(room))?;
        // If the key did not fit, no space is left for the value.
        let rest = value.room();
        if rest == 0 {
            return Ok(None);
        }
        let value = encoder.without_comma(room, left.saturating_sub(rest));
        Ok(Some((length, value)))
    }
}
