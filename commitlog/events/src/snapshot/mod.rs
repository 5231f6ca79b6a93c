//! Encodes existing rows from a `SELECT` as events (`docs/reference/event-format.md`, "Snapshots").
//!
//! [`Selection`] lists the selected columns, [`page`] parses the body of a result, [`row`] converts
//! a result row to the row of a mutation, and [`SnapshotEncoder`] encodes it like an event from the
//! log.

mod page;
mod row;
mod selection;

use std::sync::Arc;

use commitlog_core::descriptor::Version;
use commitlog_core::row::Row;
use commitlog_core::schema::Table;

use crate::avro::ConfluentHeaders;
use crate::batch::{EventBatch, Origin, Stop, Topic};
use crate::buffer_pool::BufferPool;
use crate::encoder::Scratch;
use crate::event::Content;
use crate::event_context::EventContext;
use crate::format::EventFormat;
use crate::identity::Identity;
use crate::partition::Partition;
use crate::plan::TablePlan;
use crate::publisher::{MutationContext, UpdateEvents, partition_hash};
use crate::record_error::RecordError;
use crate::static_fragment::StaticFragment;
use crate::token::{position_of, token};
use event_encoding::schema_ids::UnregisteredSchema;
use page::{Page, PageRow};
use row::RowMaker;

pub use crate::event::OLDEST_US;
pub use page::PageError;
pub use selection::{ElementTimes, Selection};

/// Why a page cannot be encoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    #[error("the result page: {0}")]
    Page(#[from] PageError),
    /// The row does not fit the schema, or a schema has no registry id.
    #[error("{0}")]
    Row(String),
}

/// One page of a result.
#[derive(Debug, Clone, Copy)]
pub struct PageRequest<'b> {
    /// The body of the result: the row count and the cells.
    pub body: &'b [u8],
    /// The coordinator's clock when the page was requested, or an earlier time; microseconds.
    pub read_at_us: i64,
    /// All rows up to and including this token were read before.
    pub start: i64,
    /// The end of the token range, if this is its last page.
    pub end: Option<i64>,
    /// Whether it continues the result of the previous page.
    pub continues: bool,
}

/// Encodes the pages of one table as events.
pub struct SnapshotEncoder {
    format: Arc<EventFormat>,
    plan: TablePlan,
    selection: Selection,
    /// The start of the snapshot, which is the event time of rows without a write time.
    snapshot_us: i64,
    rows: RowMaker,
    scratch: Scratch,
    identity: Identity,
    /// The partition of the previous row, and the number of its events so far.
    key: Vec<u8>,
    events: u32,
    /// Events and bytes of the previous batch; the next one is often as large.
    last_size: (usize, usize),
    spare: BufferPool,
}

impl SnapshotEncoder {
    pub fn new(
        table: &Arc<Table>,
        format: &Arc<EventFormat>,
        element_times: ElementTimes,
        snapshot_us: i64,
    ) -> Self {
        Self {
            plan: TablePlan::new(table, None, format),
            selection: Selection::new(table, element_times),
            format: Arc::clone(format),
            snapshot_us,
            rows: RowMaker::default(),
            scratch: Scratch::default(),
            identity: Identity::default(),
            key: Vec::new(),
            events: 0,
            last_size: (0, 0),
            spare: BufferPool::default(),
        }
    }

    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    pub fn format(&self) -> &Arc<EventFormat> {
        &self.format
    }

    /// Returns the schemas without an id; encoding fails until all have one.
    pub fn unregistered(&self) -> Vec<UnregisteredSchema> {
        self.format.schema_ids.missing(self.plan.schemas())
    }

    fn headers(&self) -> Result<ConfluentHeaders, SnapshotError> {
        self.plan.headers(&self.format.schema_ids).ok_or_else(|| {
            SnapshotError::Row("the schemas of the table are not in the schema registry".into())
        })
    }

    /// Encodes a page. A position represents a token, and is reached once all rows up to and
    /// including that token are delivered; `mutations` counts the rows.
    pub fn encode(
        &mut self,
        request: &PageRequest<'_>,
        now_ms: i64,
    ) -> Result<EventBatch, SnapshotError> {
        let page = Page::new(request.body, self.selection.width())?;
        self.identity.forget();
        if !request.continues {
            self.key.clear();
        }
        let start = position_of(request.start);
        let source = (self.format.node_id.as_str(), Origin::Snapshot);
        let mut batch = EventBatch::new(source, "", start, self.last_size, &self.spare);
        let mut context = EventContext::new(&self.format, Version::V8, "", now_ms);
        context.snapshot_us = Some(self.snapshot_us);
        let topic = batch.add_topic(Topic {
            name: self.plan.topic.clone(),
            table: format!("{}.{}", self.plan.table.keyspace, self.plan.table.name),
        });
        let source_middle = context.source_middle(&self.plan);
        let shared = (self.headers()?, &source_middle);
        self.rows.begin(&page, &self.selection)?;
        let mut last = None;
        for row in page.rows() {
            let row = row?;
            last = Some(self.row(&row, request, &context, topic, shared, &mut batch)?);
            batch.mutations += 1;
        }
        self.identity.settle(&mut batch);
        batch.end_position = match (request.end, last) {
            (Some(end), _) => position_of(end),
            // More of the last partition may follow.
            (None, Some(token)) => position_of(token).saturating_sub(1).max(start),
            (None, None) => start,
        };
        batch.stop = if request.end.is_some() {
            Stop::End
        } else {
            Stop::Full
        };
        self.last_size = (batch.len(), batch.size_bytes());
        Ok(batch)
    }

    /// Encodes one row, with the static row before the first row of its partition; returns the
    /// token.
    fn row(
        &mut self,
        row: &PageRow<'_>,
        request: &PageRequest<'_>,
        context: &EventContext,
        topic: u32,
        (headers, source_middle): (ConfluentHeaders, &StaticFragment<128>),
        batch: &mut EventBatch,
    ) -> Result<i64, SnapshotError> {
        let is_first = !self.selection.is_key_of(row, &self.key);
        if is_first {
            self.selection.write_key(row, &mut self.key)?;
            self.events = 0;
        }
        let key = self.key.as_slice();
        let token = token(key);
        let partition = Partition::parse(&self.plan.table, key)
            .ok_or_else(|| SnapshotError::Row("a partition key does not fit the schema".into()))?;
        let mut mutation = MutationContext {
            batch: 0,
            position: position_of(token),
            size_bytes: row.size_bytes().saturating_add(key.len()),
            events: self.events,
            counters: None,
            table: None,
        };
        let mut counters = Vec::new();
        let mut events = UpdateEvents {
            plan: &self.plan,
            headers,
            source_middle,
            partition: &partition,
            partition_hash: partition_hash(&self.format, key),
            topic,
            context,
            mutation: &mut mutation,
            batch,
            scratch: &mut self.scratch,
            identity: &mut self.identity,
            counters: &mut counters,
        };
        let selection = &self.selection;
        let mut made = Row::default();
        let rejected = |failure: Box<RecordError>| {
            SnapshotError::Row(failure.blocked(0, 0, Some(self.plan.table.id)).reason)
        };
        if is_first && selection.has_statics() {
            self.rows.make_static(row, selection, request, &mut made)?;
            if !made.is_empty() {
                events.push(&Content::Write(&made)).map_err(rejected)?;
            }
        }
        if self.rows.make(row, selection, request, &mut made)? {
            events.push(&Content::Write(&made)).map_err(rejected)?;
        }
        self.events = mutation.events;
        Ok(token)
    }
}
