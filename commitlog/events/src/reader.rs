//! From a segment to batches of events: which records are read, which updates are published, and
//! what is done with those that are not.

use std::sync::Arc;

use commitlog_core::error::SegmentError;
use commitlog_core::mutation::Decoder;
use commitlog_core::record::{OVERHEAD, Record};
use commitlog_core::row::Row;
use commitlog_core::schema::Schema;
use commitlog_core::segment::{Fill, SegmentReader, Source};

use crate::batch::{Blocked, EventBatch, Stop};
use crate::counters::CounterHistory;
use crate::encoder::EventContext;
use crate::format::EventFormat;
use crate::publisher::{Disposition, Place, Publisher};
use crate::refusal::Refusal;

/// How much of a segment may be passed over in one read, as a multiple of the budget of bytes: a
/// read that finds nothing to publish comes back too.
const SCAN_FACTOR: u64 = 16;

/// What to do with a table that the schema does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownTables {
    Block,
    Skip,
}

/// One call's bounds.
#[derive(Debug, Clone, Copy)]
pub struct ReadRequest {
    /// Logical end of what may be read.
    pub limit: Option<u64>,
    /// Whether the file is final.
    pub complete: bool,
    pub max_events: usize,
    pub max_bytes: usize,
    pub unknown_tables: UnknownTables,
    /// Wall clock, in milliseconds.
    pub now_ms: i64,
}

/// Makes events by one schema and one format.
pub struct EventReader {
    schema: Arc<Schema>,
    format: Arc<EventFormat>,
    decoder: Decoder,
    publisher: Publisher,
    batches: u64,
}

impl EventReader {
    pub fn new(schema: Arc<Schema>, format: Arc<EventFormat>) -> Self {
        Self {
            decoder: Decoder::new(Arc::clone(&schema)),
            publisher: Publisher::new(Arc::clone(&schema), Arc::clone(&format)),
            schema,
            format,
            batches: 0,
        }
    }

    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    pub fn format(&self) -> &Arc<EventFormat> {
        &self.format
    }

    /// The next events of a segment. Without `counters` no shard says by how much it grew.
    pub fn read<S: Source>(
        &mut self,
        segment: &mut SegmentReader<S>,
        request: &ReadRequest,
        mut counters: Option<&mut CounterHistory>,
    ) -> Result<EventBatch, SegmentError> {
        self.batches += 1;
        let mut batch = EventBatch::new(segment.segment(), segment.position());
        let version = segment.descriptor().version;
        let context = EventContext::new(&self.format, version, segment.segment(), request.now_ms);
        let scan = (request.max_bytes as u64).saturating_mul(SCAN_FACTOR);
        let max_position = segment.position().saturating_add(scan);
        batch.stop = loop {
            match segment.fill(request.limit, request.complete)? {
                Fill::End => break Stop::End,
                Fill::Gap(gap) => batch.gaps.push(gap),
                Fill::Records => {
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
                        end = record.end;
                        batch.mutations += 1;
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
        batch.end_position = segment.position();
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
        let result = self.mutation(record, context, row, batch, counters.as_deref_mut());
        let Err(refusal) = result else {
            if let Some(counters) = counters {
                counters.settle();
            }
            return Ok(());
        };
        if let Some(counters) = counters {
            counters.revert();
        }
        batch.truncate(events);
        if refusal.is_unknown_table() && request.unknown_tables == UnknownTables::Skip {
            batch.skip("unknown_table", 1);
            return Ok(());
        }
        let start = record.end - (record.payload.len() + OVERHEAD) as u64;
        Err(refusal.blocked(start, record.end))
    }

    fn mutation<'b>(
        &mut self,
        record: &Record<'b>,
        context: &EventContext,
        row: &mut Row<'b>,
        batch: &mut EventBatch,
        counters: Option<&mut CounterHistory>,
    ) -> Result<(), Refusal> {
        let start = self.decoder.head(record.payload, context.version)?;
        // Most records of a busy node are of tables that nobody asked for: their first bytes say
        // so. Several updates have to be read to find the second one.
        match self.publisher.disposition(start.first_table) {
            // All updates of a mutation are of one keyspace, so the others are system tables too.
            None if start.first_table.is_name_based() => {
                batch.skip("system", start.updates);
                return Ok(());
            }
            Some(Disposition::Skip(reason)) if start.updates == 1 => {
                let reason = *reason;
                batch.skip(reason, 1);
                return Ok(());
            }
            _ => {}
        }
        let skipped = (start.updates > 1).then(|| batch.skipped.clone());
        let result = self.updates(record, context, row, batch, counters);
        if let (Err(_), Some(skipped)) = (&result, skipped) {
            batch.skipped = skipped;
        }
        result
    }

    fn updates<'b>(
        &mut self,
        record: &Record<'b>,
        context: &EventContext,
        row: &mut Row<'b>,
        batch: &mut EventBatch,
        counters: Option<&mut CounterHistory>,
    ) -> Result<(), Refusal> {
        let mut place = Place {
            batch: self.batches,
            position: record.end,
            events: 0,
            counters,
        };
        let mut mutation = self.decoder.mutation(record.payload, context.version)?;
        while let Some(update) = mutation.next_update()? {
            self.publisher
                .update(&update, &mut mutation, row, context, &mut place, batch)?;
        }
        Ok(())
    }
}
