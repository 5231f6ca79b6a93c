//! The Python class `SegmentReader`.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use commitlog_core::dump::write_mutation;
use commitlog_core::error::{DecodeError, SegmentError};
use commitlog_core::framing::Keys;
use commitlog_core::mutation::Decoder;
use commitlog_core::row::Row;
use commitlog_core::scan;
use commitlog_core::schema::SchemaChange;
use commitlog_core::schema_log::SchemaChangeReader;
use commitlog_core::segment::{self, Fill};
use commitlog_core::source::{InterruptibleFile, Interruption};
use commitlog_core::verify;
use commitlog_events::batch;
use commitlog_events::counters;
use commitlog_events::reader::{EventReader, ReadRequest};
use commitlog_events::tree::TreeWriter;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMapping};

use crate::announced::AnnouncedSchema;
use crate::batch::{EventBatch, Gap};
use crate::clock::now_ms;
use crate::counters::CounterHistory;
use crate::descriptor::{Descriptor, keys_of, open, segment_name};
use crate::error::from_segment_error;
use crate::format::EventFormat;
use crate::schema::{Schema, SchemaChanges};
use crate::verification::Verification;

/// The counts of a `scan`.
#[pyclass(frozen, get_all, module = "commitlog")]
#[derive(Clone, Copy)]
pub struct Scan {
    mutations: u64,
    updates: u64,
    rows: u64,
    markers: u64,
    cells: u64,
    payload_bytes: u64,
    checksum: u64,
}

/// The mutable state of a reader.
struct State {
    segment: segment::SegmentReader<InterruptibleFile>,
    events: Option<EventReader>,
    decoder: Option<Decoder>,
    /// Schema changes that stopped the latest `dump`.
    changes: Vec<SchemaChange>,
    verification: verify::Verification,
    tree: Option<TreeWriter>,
    gaps: Vec<segment::Gap>,
    skipped: HashMap<&'static str, u64>,
}

/// Reads one segment forward.
#[pyclass(frozen, module = "commitlog")]
pub struct SegmentReader {
    descriptor: Descriptor,
    interruption: Interruption,
    state: Mutex<State>,
}

impl State {
    fn read(
        &mut self,
        schema: &Arc<commitlog_core::schema::Schema>,
        format: &Arc<commitlog_events::format::EventFormat>,
        request: &ReadRequest,
        counters: Option<&mut counters::CounterHistory>,
    ) -> Result<batch::EventBatch, SegmentError> {
        let is_current = self.events.as_ref().is_some_and(|events| {
            Arc::ptr_eq(events.schema(), schema) && Arc::ptr_eq(events.format(), format)
        });
        if !is_current {
            self.events = None;
        }
        let events = self
            .events
            .get_or_insert_with(|| EventReader::new(Arc::clone(schema), Arc::clone(format)));
        let batch = events.read(&mut self.segment, request, counters)?;
        self.gaps.extend_from_slice(&batch.gaps);
        Ok(batch)
    }

    fn dump(
        &mut self,
        schema: &Arc<commitlog_core::schema::Schema>,
        limit: Option<u64>,
        complete: bool,
        max_bytes: usize,
        stop_at_changes: bool,
    ) -> Result<String, SegmentError> {
        let decoder = current_decoder(&mut self.decoder, schema);
        let version = self.segment.descriptor().version;
        let name = self.segment.segment().to_owned();
        let mut changes = SchemaChangeReader::new(schema);
        let mut out = String::new();
        self.changes.clear();
        while out.len() < max_bytes && self.changes.is_empty() {
            match self.segment.fill(limit, complete)? {
                Fill::End => break,
                Fill::Gap(gap) => self.gaps.push(gap),
                Fill::Records => {
                    let mut end = self.segment.position();
                    for record in self.segment.records() {
                        let start = end;
                        end = record.end;
                        let payload = record.payload;
                        if stop_at_changes {
                            let change = changes.read_if_new(payload, version, schema);
                            self.changes.extend(change);
                        }
                        match write_mutation(&mut out, decoder, &name, version, end, payload) {
                            Ok(()) => {}
                            Err(error) if matches!(*error, DecodeError::UnknownTable(_)) => {
                                *self.skipped.entry("unknown_table").or_default() += 1;
                            }
                            Err(error) => self.gaps.push(undecodable(start, end, &error)),
                        }
                        if out.len() >= max_bytes || !self.changes.is_empty() {
                            break;
                        }
                    }
                    self.segment.consume(end);
                }
            }
        }
        Ok(out)
    }

    fn scan(
        &mut self,
        schema: &Arc<commitlog_core::schema::Schema>,
        limit: Option<u64>,
        complete: bool,
    ) -> Result<scan::Scan, SegmentError> {
        let decoder = current_decoder(&mut self.decoder, schema);
        let version = self.segment.descriptor().version;
        let mut scan = scan::Scan::default();
        loop {
            match self.segment.fill(limit, complete)? {
                Fill::End => return Ok(scan),
                Fill::Gap(gap) => self.gaps.push(gap),
                Fill::Records => {
                    let mut row = Row::default();
                    let mut end = self.segment.position();
                    for record in self.segment.records() {
                        let start = end;
                        end = record.end;
                        match scan.visit(decoder, version, record.payload, &mut row) {
                            Ok(()) => {}
                            Err(error) if matches!(*error, DecodeError::UnknownTable(_)) => {
                                *self.skipped.entry("unknown_table").or_default() += 1;
                            }
                            Err(error) => self.gaps.push(undecodable(start, end, &error)),
                        }
                    }
                    self.segment.consume(end);
                }
            }
        }
    }
}

fn undecodable(start: u64, end: u64, error: &DecodeError) -> segment::Gap {
    segment::Gap {
        start,
        end: Some(end),
        cause: format!("the mutation does not fit the schema: {error}"),
    }
}

/// Returns the decoder for `schema`, replacing a decoder for any other schema.
fn current_decoder<'d>(
    decoder: &'d mut Option<Decoder>,
    schema: &Arc<commitlog_core::schema::Schema>,
) -> &'d mut Decoder {
    if !matches!(decoder, Some(decoder) if Arc::ptr_eq(decoder.schema(), schema)) {
        *decoder = None;
    }
    decoder.get_or_insert_with(|| Decoder::new(Arc::clone(schema)))
}

impl SegmentReader {
    fn with_state<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        work(&mut state)
    }

    /// Runs `work` without holding the GIL.
    fn detached<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut State) -> Result<T, SegmentError> + Send,
    ) -> PyResult<T> {
        py.detach(|| self.with_state(work))
            .map_err(from_segment_error)
    }
}

#[pymethods]
impl SegmentReader {
    #[new]
    #[pyo3(signature = (path, *, name = None, position = 0, keys = None, follow_links = true))]
    fn new(
        path: PathBuf,
        name: Option<String>,
        position: u64,
        keys: Option<Bound<'_, PyMapping>>,
        follow_links: bool,
    ) -> PyResult<Self> {
        let keys = keys.map_or_else(|| Ok(Keys::default()), keys_of)?;
        let name = segment_name(&path, name);
        let interruption = Interruption::default();
        let file = open(&path, &name, follow_links)?;
        let file = InterruptibleFile::new(file, interruption.clone());
        let segment = segment::SegmentReader::open_with_keys(&name, file, position, &keys)
            .map_err(from_segment_error)?;
        Ok(Self {
            descriptor: Descriptor::new(&name, segment.descriptor()),
            interruption,
            state: Mutex::new(State {
                segment,
                events: None,
                decoder: None,
                changes: Vec::new(),
                verification: verify::Verification::default(),
                tree: None,
                gaps: Vec::new(),
                skipped: HashMap::new(),
            }),
        })
    }

    #[getter]
    fn descriptor(&self) -> Descriptor {
        self.descriptor.clone()
    }

    /// Makes a call running in another thread, and all later calls, raise `OSError`.
    fn interrupt(&self) {
        self.interruption.interrupt();
    }

    #[getter]
    fn fingerprint(&self, py: Python<'_>) -> PyResult<u32> {
        self.detached(py, |state| state.segment.fingerprint())
    }

    #[getter]
    fn position(&self) -> u64 {
        self.with_state(|state| state.segment.position())
    }

    #[getter]
    fn gaps(&self) -> Vec<Gap> {
        self.with_state(|state| {
            let gaps = state.gaps.iter();
            gaps.map(|gap| Gap::new(&self.descriptor.segment, gap))
                .collect()
        })
    }

    #[getter]
    fn skipped(&self) -> HashMap<&'static str, u64> {
        self.with_state(|state| state.skipped.clone())
    }

    #[pyo3(signature = (schema, event_format, *, limit = None, complete = false,
        expected_end = 0, completed_at = 0, max_events = 5000, max_bytes = 1 << 20,
        abandoned = Vec::new(), counters = None, announced = None))]
    #[allow(clippy::too_many_arguments)]
    fn read(
        &self,
        py: Python<'_>,
        schema: &Schema,
        event_format: &EventFormat,
        limit: Option<u64>,
        complete: bool,
        expected_end: u64,
        completed_at: u64,
        max_events: usize,
        max_bytes: usize,
        abandoned: Vec<(String, Option<String>)>,
        counters: Option<&CounterHistory>,
        announced: Option<&AnnouncedSchema>,
    ) -> PyResult<EventBatch> {
        let request = ReadRequest {
            limit,
            complete,
            expected_end,
            completed_at,
            max_events,
            max_bytes,
            abandoned: abandoned
                .into_iter()
                .map(|(table_id, column)| batch::MissingSchema { table_id, column })
                .collect(),
            announced: announced.map(|announced| Arc::clone(&announced.0)),
            now_ms: now_ms(),
        };
        let batch = self.detached(py, |state| {
            let mut counters = counters.map(CounterHistory::lock);
            let counters = counters.as_deref_mut();
            state.read(&schema.0, &event_format.0, &request, counters)
        })?;
        let format = Arc::clone(&event_format.0);
        Ok(EventBatch::new(batch, format))
    }

    #[pyo3(signature = (schema, *, limit = None, complete = true, max_bytes = 1 << 20,
        stop_at_changes = false))]
    fn dump<'py>(
        &self,
        py: Python<'py>,
        schema: &Schema,
        limit: Option<u64>,
        complete: bool,
        max_bytes: usize,
        stop_at_changes: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let lines = self.detached(py, |state| {
            state.dump(&schema.0, limit, complete, max_bytes, stop_at_changes)
        })?;
        Ok(PyBytes::new(py, lines.as_bytes()))
    }

    /// Schema changes that stopped the latest `dump`.
    #[getter]
    fn schema_changes(&self) -> Option<SchemaChanges> {
        self.with_state(|state| SchemaChanges::from_changes(&state.changes))
    }

    #[pyo3(signature = (schema, *, limit = None, complete = true))]
    fn scan(
        &self,
        py: Python<'_>,
        schema: &Schema,
        limit: Option<u64>,
        complete: bool,
    ) -> PyResult<Scan> {
        let scan = self.detached(py, |state| state.scan(&schema.0, limit, complete))?;
        Ok(Scan {
            mutations: scan.mutations,
            updates: scan.updates,
            rows: scan.rows,
            markers: scan.markers,
            cells: scan.cells,
            payload_bytes: scan.payload_bytes,
            checksum: scan.checksum,
        })
    }

    #[pyo3(signature = (schema = None, *, limit = None, complete = true, max_bytes = 1 << 20))]
    fn tree<'py>(
        &self,
        py: Python<'py>,
        schema: Option<&Schema>,
        limit: Option<u64>,
        complete: bool,
        max_bytes: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let schema = schema.map(|schema| Arc::clone(&schema.0));
        let lines = self.detached(py, |state| {
            let writer = &mut state.tree;
            let writer = writer.get_or_insert_with(|| TreeWriter::new(schema.unwrap_or_default()));
            let lines = writer.write(&mut state.segment, limit, complete, max_bytes);
            state.gaps.append(&mut writer.gaps);
            lines
        })?;
        Ok(PyBytes::new(py, lines.as_bytes()))
    }

    #[pyo3(signature = (*, limit = None, complete = true, expected_end = 0,
        completed_at = 0, max_bytes = 64 << 20))]
    fn verify(
        &self,
        py: Python<'_>,
        limit: Option<u64>,
        complete: bool,
        expected_end: u64,
        completed_at: u64,
        max_bytes: u64,
    ) -> PyResult<Verification> {
        self.detached(py, |state| {
            state.segment.expect_end(expected_end);
            state.segment.expect_completed(completed_at);
            let verification = &mut state.verification;
            verification.advance(&mut state.segment, limit, complete, max_bytes)?;
            Ok(Verification::new(&state.segment, verification))
        })
    }
}
