//! Reads a segment into batches of events: which records are read, which updates are published, and
//! how the others are reported.

use std::sync::Arc;

use commitlog_core::error::SegmentError;
use commitlog_core::memory::TooLarge;
use commitlog_core::mutation::{Decoder, MutationReader};
use commitlog_core::record::{OVERHEAD, Record};
use commitlog_core::resync::{Resync, resynchronise};
use commitlog_core::row::Row;
use commitlog_core::schema::{AnnouncedSchema, EntryContent, Schema};
use commitlog_core::schema_log::SchemaChangeReader;
use commitlog_core::segment::{Gap, SegmentReader, Step};
use commitlog_core::source::Source;

use crate::announcements::Announcements;
use crate::batch::{Blocked, EventBatch, MissingSchema, Origin, Stop};
use crate::buffer_pool::BufferPool;
use crate::counters::CounterHistory;
use crate::event_context::EventContext;
use crate::format::EventFormat;
use crate::publisher::{Disposition, MutationContext, Publisher};
use crate::record_error::RecordError;

/// How much of a segment one read may scan, as a multiple of `max_bytes`, so that a read without
/// events returns too.
const SCAN_FACTOR: u64 = 16;
/// Limits of one read: damaged ranges, and section boundaries.
const MAX_GAPS: usize = 1000;
const MAX_EMPTY_SECTIONS: usize = 1 << 16;

/// The parameters of one read.
#[derive(Debug, Clone)]
pub struct ReadRequest {
    /// Only sections that end at or before this logical position are read.
    pub limit: Option<u64>,
    /// Whether the file is final.
    pub complete: bool,
    /// See [`SegmentReader::expect_end`]; 0 without an index file.
    pub expected_end: u64,
    /// See [`SegmentReader::expect_completed`]; 0 without COMPLETED.
    pub completed_at: u64,
    pub max_events: usize,
    pub max_bytes: usize,
    /// Missing definitions that do not block a read: records that need them are skipped, except for
    /// their readable updates.
    pub abandoned: Vec<MissingSchema>,
    /// The definitions in the schema-change topic, if there is one. Then every schema change stops
    /// the read, even a known one, and an unannounced definition blocks it. A schema change is
    /// acknowledged separately from the events before it.
    pub announced: Option<Arc<AnnouncedSchema>>,
    /// Wall clock, in milliseconds.
    pub now_ms: i64,
}

/// Reads events with one schema and one format.
pub struct EventReader {
    schema: Arc<Schema>,
    format: Arc<EventFormat>,
    decoder: Decoder,
    changes: SchemaChangeReader,
    publisher: Publisher,
    announcements: Announcements,
    batches: u64,
    /// Events and bytes of the previous batch; the next one is often as large.
    last_size: (usize, usize),
    spare: BufferPool,
}

impl EventReader {
    pub fn new(schema: Arc<Schema>, format: Arc<EventFormat>) -> Self {
        Self {
            decoder: Decoder::new(Arc::clone(&schema)),
            changes: SchemaChangeReader::new(&schema),
            publisher: Publisher::new(Arc::clone(&schema), Arc::clone(&format)),
            announcements: Announcements::default(),
            schema,
            format,
            batches: 0,
            last_size: (0, 0),
            spare: BufferPool::default(),
        }
    }

    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    pub fn format(&self) -> &Arc<EventFormat> {
        &self.format
    }

    /// Reads the next events of a segment. Without `counters`, shards have no growth.
    pub fn read<S: Source>(
        &mut self,
        segment: &mut SegmentReader<S>,
        request: &ReadRequest,
        mut counters: Option<&mut CounterHistory>,
    ) -> Result<EventBatch, SegmentError> {
        self.batches += 1;
        self.publisher.begin();
        self.announcements
            .update(request.announced.as_ref(), &self.schema, &self.format);
        let (name, start) = (segment.segment(), segment.position());
        let origin = Origin::Segment(segment.descriptor().id);
        let source = (self.format.node_id.as_str(), origin);
        let mut batch = EventBatch::new(source, name, start, self.last_size, &self.spare);
        let version = segment.descriptor().version;
        let mut context = EventContext::new(&self.format, version, name, request.now_ms);
        context.memory = segment.memory();
        let scan = (request.max_bytes as u64).saturating_mul(SCAN_FACTOR);
        let max_position = segment.position().saturating_add(scan);
        segment.expect_end(request.expected_end);
        segment.expect_completed(request.completed_at);
        let mut sections = 0;
        batch.stop = loop {
            match segment.step(request.limit, request.complete)? {
                Step::End => break Stop::End,
                Step::Gap(gap) | Step::BadRecord(gap) => {
                    batch.gaps.push(gap);
                    if batch.gaps.len() >= MAX_GAPS {
                        break Stop::Full;
                    }
                }
                Step::Section | Step::SectionEnd { .. } | Step::Skipped => {
                    sections += 1;
                    if sections >= MAX_EMPTY_SECTIONS {
                        break Stop::Full;
                    }
                }
                Step::Records => {
                    let mut end = segment.position();
                    let mut row = Row::default();
                    let mut stop = None;
                    for record in segment.records() {
                        let counters = counters.as_deref_mut();
                        if let Err(blocked) =
                            self.record(&record, &context, request, &mut row, &mut batch, counters)
                        {
                            batch.blocked = Some(blocked);
                            stop = Some(Stop::Blocked);
                            break;
                        }
                        let before = std::mem::replace(&mut end, record.end);
                        batch.mutations += 1;
                        if !batch.schema_changes.is_empty() {
                            batch.change_start = request.announced.is_some().then_some(before);
                            stop = Some(Stop::Schema);
                            break;
                        }
                        if batch.len() >= request.max_events
                            || batch.size_bytes() >= request.max_bytes
                            || end >= max_position
                        {
                            stop = Some(Stop::Full);
                            break;
                        }
                    }
                    segment.consume(end);
                    if let Some(stop) = stop {
                        break stop;
                    }
                }
            }
        };
        self.publisher.finish(&mut batch);
        batch.end_position = segment.position();
        self.last_size = (batch.len(), batch.size_bytes());
        Ok(batch)
    }

    fn record<'b>(
        &mut self,
        record: &Record<'b>,
        context: &EventContext,
        request: &ReadRequest,
        row: &mut Row<'b>,
        batch: &mut EventBatch,
        mut counters: Option<&mut CounterHistory>,
    ) -> Result<(), Blocked> {
        let events = batch.len();
        let start = record.end - (record.payload.len() + OVERHEAD) as u64;
        let mut current = MutationContext {
            batch: self.batches,
            position: record.end,
            size_bytes: record.payload.len(),
            events: 0,
            counters: counters.as_deref_mut(),
            table: None,
        };
        let mut writing = Writing {
            context,
            row,
            current: &mut current,
            batch,
        };
        let Err(mut failure) = self.mutation(record, request, &mut writing) else {
            if let Some(counters) = counters {
                counters.settle();
            }
            return Ok(());
        };
        let table = current.table;
        if let Some(counters) = counters.as_deref_mut() {
            counters.revert();
        }
        self.publisher.take_back(batch, events);
        if let RecordError::TooLarge(refused) = &*failure {
            batch.gaps.push(refused_gap(start, record, refused));
            return Ok(());
        }
        let resync = failure
            .is_unknown_table()
            .then(|| resynchronise(&mut self.decoder, record.payload, context.version));
        if resync == Some(None) && table.is_some() {
            *failure = RecordError::Misplaced;
        }
        let blocked = failure.blocked(start, record.end, table);
        if blocked.is_unannounced || !request.abandoned.contains(&blocked.missing()) {
            return Err(blocked);
        }
        if let Some(Some(resync)) = resync {
            let mut current = MutationContext {
                batch: self.batches,
                position: record.end,
                size_bytes: record.payload.len(),
                events: 0,
                counters: counters.as_deref_mut(),
                table: None,
            };
            let skipped = batch.skipped.clone();
            let mut writing = Writing {
                context,
                row,
                current: &mut current,
                batch,
            };
            let known = self.write_known_updates(record, &resync, &mut writing);
            let table = current.table;
            match (known, counters) {
                (Ok(()), Some(counters)) => counters.settle(),
                (Ok(()), None) => {}
                (Err(failure), counters) => {
                    if let Some(counters) = counters {
                        counters.revert();
                    }
                    self.publisher.take_back(batch, events);
                    batch.skipped = skipped;
                    if let RecordError::TooLarge(refused) = &*failure {
                        batch.gaps.push(refused_gap(start, record, refused));
                        return Ok(());
                    }
                    let other = failure.blocked(start, record.end, table);
                    if other.is_unannounced || !request.abandoned.contains(&other.missing()) {
                        return Err(other);
                    }
                }
            }
        }
        batch.lose(blocked);
        Ok(())
    }

    fn mutation<'b>(
        &mut self,
        record: &Record<'b>,
        request: &ReadRequest,
        writing: &mut Writing<'_, '_, 'b>,
    ) -> Result<(), Box<RecordError>> {
        let version = writing.context.version;
        let (start, updates) = self.decoder.head(record.payload, version)?;
        // Most records of a busy node belong to unpublished tables, which their first bytes show.
        // With several updates, the second can only be found by reading the first.
        let epoch = Decoder::first_epoch(&updates, version);
        match self.publisher.disposition(start.first_table, epoch) {
            Some(Disposition::Publish(_)) => {}
            // All updates of a mutation are in one keyspace, so the others are system tables too.
            _ if start.first_table.is_name_based() => {
                writing.batch.skip("system", start.updates);
                if SchemaChangeReader::is_schema_table(start.first_table) {
                    self.schema_change(record, writing, request.announced.is_some());
                }
                return Ok(());
            }
            Some(Disposition::Skip(reason)) if start.updates == 1 => {
                let reason = *reason;
                writing.batch.skip(reason, 1);
                return Ok(());
            }
            _ => {}
        }
        // A rejected mutation is read and counted again, so its counts are restored.
        let counts = start.updates > 1 || !self.format.skipped.is_empty();
        let skipped = counts.then(|| writing.batch.skipped.clone());
        let mutation = self.decoder.updates(start, updates, version);
        let result = publish(
            &mut self.publisher,
            &self.announcements,
            mutation,
            writing,
            u64::MAX,
        );
        if let (Err(_), Some(skipped)) = (&result, skipped) {
            writing.batch.skipped = skipped;
        }
        result
    }

    /// Adds a schema change to the batch if it is new, or if `known_too`. Entries of the metadata
    /// log are always added.
    fn schema_change(
        &mut self,
        record: &Record<'_>,
        writing: &mut Writing<'_, '_, '_>,
        known_too: bool,
    ) {
        let version = writing.context.version;
        let change = match self.changes.read(record.payload, version) {
            Ok(Some(change)) => change,
            Ok(None) => return,
            Err(_) => {
                writing.batch.skip("schema_unreadable", 1);
                SchemaChangeReader::unreadable(version)
            }
        };
        if let Some(entry) = change.entry()
            && matches!(entry.content, EntryContent::Unreadable { .. })
        {
            writing.batch.skip("metadata_log_unreadable", 1);
        }
        let is_entry = change.entry().is_some();
        let is_known = || self.schema.with_changes([&change]).is_same(&self.schema);
        if known_too || is_entry || !is_known() {
            writing.batch.schema_changes.push(change);
        }
    }

    /// Publishes the readable updates of a mutation that contains an unknown table.
    fn write_known_updates<'b>(
        &mut self,
        record: &Record<'b>,
        resync: &Resync,
        writing: &mut Writing<'_, '_, 'b>,
    ) -> Result<(), Box<RecordError>> {
        let version = writing.context.version;
        writing.current.events = 0;
        let mutation = self.decoder.mutation(record.payload, version)?;
        let updates = mutation.updates();
        publish(
            &mut self.publisher,
            &self.announcements,
            mutation,
            writing,
            resync.before,
        )?;
        let resumed_index = resync.resume_point.map_or(updates, |point| point.index);
        writing
            .batch
            .skip("unknown_table", resumed_index.saturating_sub(resync.before));
        if let Some(point) = resync.resume_point {
            let mutation = self.decoder.mutation_from(record.payload, version, point)?;
            publish(
                &mut self.publisher,
                &self.announcements,
                mutation,
                writing,
                u64::MAX,
            )?;
        }
        Ok(())
    }
}

/// Returns the gap for a record whose events take too much memory.
#[cold]
fn refused_gap(start: u64, record: &Record<'_>, refused: &TooLarge) -> Gap {
    Gap {
        start,
        end: Some(record.end),
        cause: refused.to_string(),
    }
}

/// The context and the destination of a mutation's events.
struct Writing<'w, 'h, 'b> {
    context: &'w EventContext,
    row: &'w mut Row<'b>,
    current: &'w mut MutationContext<'h>,
    batch: &'w mut EventBatch,
}

/// Writes the events of the first `updates` updates.
fn publish<'b>(
    publisher: &mut Publisher,
    announcements: &Announcements,
    mut mutation: MutationReader<'_, 'b>,
    writing: &mut Writing<'_, '_, 'b>,
    updates: u64,
) -> Result<(), Box<RecordError>> {
    for _ in 0..updates {
        let published = match mutation.next_update() {
            Ok(Some(update)) => match announcements.require(update.table_id, &mutation) {
                Ok(()) => publisher.update(
                    &update,
                    &mut mutation,
                    writing.row,
                    writing.context,
                    writing.current,
                    writing.batch,
                ),
                Err(unannounced) => Err(unannounced),
            },
            Ok(None) => break,
            Err(error) => Err(error.into()),
        };
        if published.is_err() {
            writing.current.table = mutation.table().map(|table| table.id);
            return published;
        }
    }
    Ok(())
}
