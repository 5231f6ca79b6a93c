//! Prints a segment as a tree of lines: header, sections, records with their updates, rows and
//! cells, gaps, and the end of the log (`docs/reference/dump-format.md`, "The tree").

use std::fmt::{Display, Write as _};
use std::sync::Arc;

use commitlog_core::cql_type::CqlType;
use commitlog_core::descriptor::Version;
use commitlog_core::error::{self, SegmentError};
use commitlog_core::mutation::Decoder;
use commitlog_core::record::OVERHEAD;
use commitlog_core::row::{Cell, CellState, Deletion, Expiry, LocalDeletionTime, Row, Unfiltered};
use commitlog_core::schema::{Column, Schema, Table};
use commitlog_core::segment::{Gap, SegmentReader, Step};
use commitlog_core::source::Source;

use crate::partition::Partition;
use crate::value::json::write_json;
use crate::value::{DecimalMode, DurationMode, ValueModes, VarintMode};

/// Unlike the defaults for events, these modes keep all digits.
const MODES: ValueModes = ValueModes {
    decimal: DecimalMode::String,
    varint: VarintMode::String,
    duration: DurationMode::Nanos,
};

/// Writes the tree of one segment.
pub struct TreeWriter {
    decoder: Decoder,
    has_begun: bool,
    has_ended: bool,
    pub gaps: Vec<Gap>,
}

impl TreeWriter {
    pub fn new(schema: Arc<Schema>) -> Self {
        Self {
            decoder: Decoder::new(schema),
            has_begun: false,
            has_ended: false,
            gaps: Vec::new(),
        }
    }

    /// Returns at least `max_bytes` of further lines, fewer at the end, and none after it. `limit`
    /// and `complete` work as in [`SegmentReader::fill`].
    pub fn write<S: Source>(
        &mut self,
        segment: &mut SegmentReader<S>,
        limit: Option<u64>,
        complete: bool,
        max_bytes: usize,
    ) -> Result<String, SegmentError> {
        let mut out = String::new();
        if !std::mem::replace(&mut self.has_begun, true) {
            let (name, head) = (segment.segment(), segment.descriptor());
            let framing = head.compression_class.as_deref().unwrap_or("plain");
            let key = head.encryption.as_ref().map(|found| &found.key_alias);
            let encryption = key.map_or(String::new(), |key| format!(", encrypted by {key}"));
            let version = head.version.number();
            let text = format!(
                "{name}: version {version}, id {}, {framing}{encryption}",
                head.id
            );
            line(&mut out, 0, text);
        }
        while !self.has_ended && out.len() < max_bytes {
            match segment.step(limit, complete)? {
                Step::Section => {
                    if let Some(found) = segment.section() {
                        let (file_start, file_end) = (found.marker_physical, found.end_physical);
                        let end = found.end;
                        line(
                            &mut out,
                            0,
                            format!("section to {end}, file {file_start} to {file_end}"),
                        );
                    }
                }
                Step::Records => self.records(segment, &mut out, max_bytes),
                Step::Gap(gap) | Step::BadRecord(gap) => {
                    let end = gap.end.map_or("the end".to_owned(), |end| end.to_string());
                    line(
                        &mut out,
                        1,
                        format!("gap {} to {end}: {}", gap.start, gap.cause),
                    );
                    self.gaps.push(gap);
                }
                Step::SectionEnd { .. } | Step::Skipped => {}
                Step::End => {
                    let (end, tail) = (segment.position(), segment.tail()?);
                    let text = format!("end {end}, {} bytes written after it", tail.written_bytes);
                    line(&mut out, 0, text);
                    self.has_ended = true;
                }
            }
        }
        Ok(out)
    }

    fn records<S: Source>(
        &mut self,
        segment: &mut SegmentReader<S>,
        out: &mut String,
        max_bytes: usize,
    ) {
        let version = segment.descriptor().version;
        let mut end = segment.position();
        for record in segment.records() {
            end = record.end;
            let start = end - (record.payload.len() + OVERHEAD) as u64;
            line(out, 1, format!("record {start} to {end}"));
            let mut branches = Branches { version, out };
            if let Err(error) = branches.mutation(&mut self.decoder, record.payload) {
                branches.line(2, format!("undecoded: {error}"));
            }
            if out.len() >= max_bytes {
                break;
            }
        }
        segment.consume(end);
    }
}

/// Writes the lines of a mutation.
struct Branches<'o> {
    version: Version,
    out: &'o mut String,
}

impl Branches<'_> {
    fn mutation(&mut self, decoder: &mut Decoder, payload: &[u8]) -> error::Result<()> {
        let mut mutation = decoder.mutation(payload, self.version)?;
        let mut row = Row::default();
        while let Some(update) = mutation.next_update()? {
            let Some(table) = mutation.table().cloned() else {
                return Ok(());
            };
            let key = Partition::parse(&table, update.key).map_or(hex(update.key), |key| {
                named(&table.partition_key, key.values().iter().copied().map(Some))
            });
            let (keyspace, name, id) = (&table.keyspace, &table.name, table.id);
            self.line(2, format!("{keyspace}.{name} ({id}) {key}"));
            if let Some(deletion) = update.deletion {
                self.line(3, format!("deleted {}", self.deletion(deletion)));
            }
            while let Some(item) = mutation.next_unfiltered(&mut row)? {
                match item {
                    Unfiltered::Row => self.row(&table, &row),
                    Unfiltered::Marker(marker) => {
                        let place = named(&table.clustering, marker.clustering.iter().copied());
                        let times = [marker.close, marker.open].into_iter().flatten();
                        let times: Vec<_> = times.map(|time| self.deletion(time)).collect();
                        let (kind, times) = (marker.kind.name(), times.join(", "));
                        self.line(3, format!("{kind} {place} {times}"));
                    }
                }
            }
        }
        Ok(())
    }

    fn row(&mut self, table: &Table, row: &Row<'_>) {
        let place = named(&table.clustering, row.clustering.iter().copied());
        let word = if row.is_static { "static" } else { "row" };
        let mut text = format!("{word} {place}").trim_end().to_owned();
        if let Some(live) = row.liveness {
            let times = self.times(live.timestamp_us, live.expiry, None);
            let _ = write!(text, " inserted {times}");
        }
        if let Some(deletion) = row.deletion {
            let _ = write!(text, " deleted {}", self.deletion(deletion));
        }
        self.line(3, text);
        let column = |index: u32| table.columns.get(index as usize);
        let name = |index: u32| column(index).map_or("", |found| &found.name);
        for (index, deletion) in &row.complex_deletions {
            let times = self.deletion(*deletion);
            self.line(4, format!("{} deleted {times}", name(*index)));
        }
        for cell in &row.cells {
            let path = cell
                .path
                .map_or(String::new(), |path| format!("[{}]", hex(path)));
            let cell_type = column(cell.column).map(|found| &found.cql_type);
            let (value, expiry, time) = match cell.state {
                CellState::Live => (value(cell_type, cell), None, None),
                CellState::Expiring(expiry) => (value(cell_type, cell), Some(expiry), None),
                CellState::Tombstone(time) => ("deleted".to_owned(), None, Some(time)),
            };
            let times = self.times(cell.timestamp_us, expiry, time);
            let name = name(cell.column);
            self.line(4, format!("{name}{path} {value} {times}"));
        }
    }

    fn line(&mut self, depth: usize, text: impl Display) {
        line(self.out, depth, text);
    }

    fn deletion(&self, deletion: Deletion) -> String {
        self.times(
            deletion.timestamp_us,
            None,
            Some(deletion.local_deletion_time),
        )
    }

    fn times(&self, us: i64, expiry: Option<Expiry>, time: Option<LocalDeletionTime>) -> String {
        let time = time.or(expiry.map(|expiry| expiry.local_deletion_time));
        let time = time.filter(|time| !time.is_none(self.version));
        let ttl = expiry.map_or(String::new(), |expiry| format!(" ttl={}", expiry.ttl_s));
        let ldt = time.map_or(String::new(), |time| format!(" ldt={}", time.0));
        format!("ts={us}{ttl}{ldt}")
    }
}

fn line(out: &mut String, depth: usize, text: impl Display) {
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{:1$}{text}", "", 2 * depth);
}

/// Formats columns and values, such as `p = 1, c = "x"`.
fn named<'b>(columns: &[Column], values: impl Iterator<Item = Option<&'b [u8]>>) -> String {
    let pairs = columns.iter().zip(values).map(|(column, value)| {
        let value = value.map_or("null".to_owned(), |value| decode(&column.cql_type, value));
        format!("{} = {value}", column.name)
    });
    pairs.collect::<Vec<_>>().join(", ")
}

fn value(cql_type: Option<&CqlType>, cell: &Cell<'_>) -> String {
    let cql_type = match (cql_type, cell.path) {
        (Some(CqlType::List(element) | CqlType::Map(_, element)), Some(_)) => Some(&**element),
        (cql_type, None) => cql_type,
        _ => None,
    };
    let value = cql_type.map_or(hex(cell.value), |cql_type| decode(cql_type, cell.value));
    format!("= {value}")
}

/// Formats a value as JSON, or as hex if it is a counter or its bytes do not fit the type.
fn decode(cql_type: &CqlType, bytes: &[u8]) -> String {
    let mut json = Vec::new();
    match write_json(&mut json, cql_type, bytes, &MODES) {
        Ok(()) if *cql_type != CqlType::Counter => String::from_utf8_lossy(&json).into_owned(),
        _ => hex(bytes),
    }
}

fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().map(|byte| format!("{byte:02x}"));
    digits.fold("0x".to_owned(), |text, byte| text + &byte)
}
