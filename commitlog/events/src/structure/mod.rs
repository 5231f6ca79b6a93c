//! The structure of a segment as lines of JSON, each thing with its place: header, sections,
//! records with the tree of their mutations, gaps, and the bytes after the chain
//! (`docs/reference/dump-format.md`, "The structure").
//!
//! With a schema the trees are whole; without one, or where it lacks a table, they go as far as
//! the bytes speak for themselves.

mod tree;

use std::sync::Arc;

use commitlog_core::error::SegmentError;
use commitlog_core::mutation::Decoder;
use commitlog_core::record::OVERHEAD;
use commitlog_core::schema::Schema;
use commitlog_core::segment::{Gap, Section, SegmentReader, Step};
use commitlog_core::source::Source;
use serde_json::{Value, json};

use tree::MutationTree;

/// Writes the structure of one segment.
pub struct StructureWriter {
    decoder: Decoder,
    begun: bool,
    ended: bool,
    /// The section that was announced last.
    section: Option<Section>,
    sections: u64,
    records: u64,
    gaps: u64,
}

impl StructureWriter {
    pub fn new(schema: Arc<Schema>) -> Self {
        Self {
            decoder: Decoder::new(schema),
            begun: false,
            ended: false,
            section: None,
            sections: 0,
            records: 0,
            gaps: 0,
        }
    }

    pub fn schema(&self) -> &Arc<Schema> {
        self.decoder.schema()
    }

    /// The next lines, at least `max_bytes` of them; none after the end. `limit`
    /// and `complete` as in [`SegmentReader::fill`].
    pub fn write<S: Source>(
        &mut self,
        segment: &mut SegmentReader<S>,
        limit: Option<u64>,
        complete: bool,
        max_bytes: usize,
    ) -> Result<Vec<u8>, SegmentError> {
        let mut out = Vec::new();
        if !self.begun {
            self.begun = true;
            push(&mut out, &header(segment));
        }
        while !self.ended && out.len() < max_bytes {
            let step = segment.step(limit, complete)?;
            self.announce(segment, &mut out)?;
            match step {
                Step::Records => self.records(segment, &mut out, max_bytes),
                Step::Gap(gap) => self.gap(&gap, &mut out),
                Step::BadRecord(gap) => {
                    let end = gap.end.unwrap_or(gap.start);
                    push(&mut out, &self.record(segment, gap.start, end, "bad"));
                    self.gap(&gap, &mut out);
                }
                Step::SectionEnd { unwritten: 0 } | Step::Section | Step::Skipped => {}
                Step::SectionEnd { unwritten } => {
                    let end = self.section.map_or(0, |section| section.end);
                    let line = json!({"t": "unwritten", "start": end - unwritten, "end": end});
                    push(&mut out, &line);
                }
                Step::End => {
                    self.ended = true;
                    let tail = segment.tail()?;
                    push(
                        &mut out,
                        &json!({
                            "t": "end",
                            "position": segment.position(),
                            "sections": self.sections,
                            "records": self.records,
                            "gaps": self.gaps,
                            "tail": {
                                "file": {"from": tail.physical, "to": tail.physical + tail.bytes},
                                "written_bytes": tail.written_bytes,
                            },
                        }),
                    );
                }
            }
        }
        Ok(out)
    }

    /// Writes the line of a section that was not announced yet.
    fn announce<S: Source>(
        &mut self,
        segment: &SegmentReader<S>,
        out: &mut Vec<u8>,
    ) -> Result<(), SegmentError> {
        let Some(section) = segment.section() else {
            return Ok(());
        };
        let known = self.section.map(|section| section.marker_physical);
        self.section = Some(section);
        if known == Some(section.marker_physical) {
            return Ok(());
        }
        let start = section.marker + commitlog_core::segment::MARKER_BYTES;
        let line = json!({
            "t": "section",
            "section": self.sections,
            "start": start,
            "end": section.end,
            "file": {"from": section.marker_physical, "to": section.end_physical},
            "crc": state(segment.marker_is_good(&section)?),
        });
        self.sections += 1;
        push(out, &line);
        Ok(())
    }

    fn records<S: Source>(
        &mut self,
        segment: &mut SegmentReader<S>,
        out: &mut Vec<u8>,
        max_bytes: usize,
    ) {
        let version = segment.descriptor().version;
        let mut end = segment.position();
        let mut lines = Vec::new();
        for record in segment.records() {
            let start = record.end - (record.payload.len() + OVERHEAD) as u64;
            end = record.end;
            let mut line = self.record(segment, start, end, "ok");
            self.records += 1;
            let tree = MutationTree {
                decoder: &mut self.decoder,
                version,
                payload: record.payload,
                position: start + RECORD_HEAD_BYTES,
            };
            if let Value::Object(line) = &mut line {
                line.insert("mutation".to_owned(), tree.read());
            }
            push(&mut lines, &line);
            if out.len() + lines.len() >= max_bytes {
                break;
            }
        }
        out.append(&mut lines);
        segment.consume(end);
    }

    fn record<S>(&self, segment: &SegmentReader<S>, start: u64, end: u64, crc: &str) -> Value
    where
        S: Source,
    {
        // The records of a block have no place of their own in the file.
        let file = segment
            .is_plain()
            .then(|| json!({"from": start, "to": end}));
        json!({
            "t": "record",
            "section": self.sections.saturating_sub(1),
            "start": start,
            "end": end,
            "payload_bytes": (end - start).saturating_sub(OVERHEAD as u64),
            "file": file,
            "crc": crc,
        })
    }

    fn gap(&mut self, gap: &Gap, out: &mut Vec<u8>) {
        self.gaps += 1;
        let line = json!({"t": "gap", "start": gap.start, "end": gap.end, "cause": gap.cause});
        push(out, &line);
    }
}

/// Bytes of a record before its payload.
const RECORD_HEAD_BYTES: u64 = 8;

fn header<S: Source>(segment: &SegmentReader<S>) -> Value {
    let descriptor = segment.descriptor();
    json!({
        "t": "header",
        "segment": segment.segment(),
        "version": descriptor.version.number(),
        "id": descriptor.id,
        "compression": descriptor.compression_class,
        "encryption": descriptor.encryption.as_ref().map(|encryption| {
            json!({"cipher": encryption.cipher, "key_alias": encryption.key_alias})
        }),
        "file": {"from": 0, "to": descriptor.length},
        "crc": state(true),
    })
}

fn state(is_good: bool) -> &'static str {
    if is_good { "ok" } else { "bad" }
}

fn push(out: &mut Vec<u8>, line: &Value) {
    // Values of strings, numbers and lists always have a JSON.
    if serde_json::to_writer(&mut *out, line).is_ok() {
        out.push(b'\n');
    }
}
