//! Data that all events of one read share.

use std::sync::Arc;

use commitlog_core::descriptor::Version;
use commitlog_core::memory::MemoryLimit;
use commitlog_core::schema::Table;

use crate::avro::string;
use crate::event::{Content, OLDEST_US};
use crate::format::EventFormat;
use crate::operation::Op;
use crate::plan::TablePlan;
use crate::protobuf;
use crate::static_fragment::StaticFragment;
use crate::value::json::write_string;
use event_encoding::avro::varint;
use event_encoding::encoding::Encoding;

/// Data that all events of one read share.
pub struct EventContext {
    pub format: Arc<EventFormat>,
    pub version: Version,
    /// Limits the memory that the events of one mutation may take.
    pub memory: MemoryLimit,
    /// When the snapshot started, in microseconds; `None` for events of a segment.
    pub snapshot_us: Option<i64>,
    /// The start of a JSON value, up to the time in `source`, or up to `cluster` in layout 1.x.
    pub starts: OpFragments,
    /// The same part of an Avro value.
    pub avro_starts: OpFragments,
    /// The start of a Protobuf value up to `source`, and the start of `source` itself.
    pub protobuf_starts: OpFragments,
    pub protobuf_source: Vec<u8>,
    protobuf_file: Vec<u8>,
    /// File name of the segment as a JSON string.
    file: Vec<u8>,
    avro_file: Vec<u8>,
}

/// A fragment for each [`Op`].
pub struct OpFragments([StaticFragment<128>; Op::ALL.len()]);

impl OpFragments {
    #[inline]
    pub fn fragment(&self, op: Op) -> &StaticFragment<128> {
        let [insert, update, delete, range, read] = &self.0;
        match op {
            Op::Insert => insert,
            Op::Update => update,
            Op::Delete => delete,
            Op::Range => range,
            Op::Read => read,
        }
    }
}

impl EventContext {
    pub fn new(format: &Arc<EventFormat>, version: Version, segment: &str, now_ms: i64) -> Self {
        let starts = Op::ALL.map(|op| {
            let letter = op.letter(format.op_style);
            let mut start = format!("{{\"ts_ms\":{now_ms},\"op\":\"{letter}\"").into_bytes();
            start.extend_from_slice(b",\"source\":{\"version\":");
            write_string(&mut start, format.connector_version.as_bytes());
            start.extend_from_slice(b",\"connector\":\"cassandra\"");
            if format.layout.is_current() {
                start.extend_from_slice(b",\"name\":");
                write_string(&mut start, format.topic_prefix.as_bytes());
                start.extend_from_slice(b",\"ts_ms\":");
            }
            start.into()
        });
        let avro_starts = Op::ALL.map(|op| {
            let (now, length) = varint(now_ms);
            let mut start = now.get(..length).unwrap_or_default().to_vec();
            start.extend(string(&[
                op.letter(format.op_style),
                &format.connector_version,
                "cassandra",
            ]));
            if format.layout.is_current() {
                start.extend(string(&[&format.topic_prefix]));
            }
            start.into()
        });
        let protobuf_starts =
            Op::ALL.map(|op| protobuf::start(now_ms, op.letter(format.op_style)).into());
        let mut file = Vec::new();
        write_string(&mut file, segment.as_bytes());
        Self {
            format: Arc::clone(format),
            version,
            memory: MemoryLimit::NONE,
            snapshot_us: None,
            starts: OpFragments(starts),
            avro_starts: OpFragments(avro_starts),
            protobuf_starts: OpFragments(protobuf_starts),
            protobuf_source: protobuf::source_start(format),
            protobuf_file: protobuf::source_file(segment),
            file,
            avro_file: string(&[segment]),
        }
    }

    /// Returns the operation of an event; every snapshot row is a read.
    #[inline]
    pub fn op(&self, content: &Content<'_, '_>, table: &Table) -> Op {
        match self.snapshot_us {
            None => content.op(table.dense),
            Some(_) => Op::Read,
        }
    }

    /// Returns the time of an event; a snapshot row without a time gets the start of the snapshot.
    #[inline]
    pub fn timestamp_us(&self, content: &Content<'_, '_>) -> i64 {
        let timestamp_us = content.timestamp_us();
        match self.snapshot_us {
            Some(snapshot_us) if timestamp_us == OLDEST_US => snapshot_us,
            _ => timestamp_us,
        }
    }

    /// Returns the part of `source` between the time and the position, in the encoding of values.
    pub fn source_middle(&self, plan: &TablePlan) -> StaticFragment<128> {
        if let (Some(avro), Encoding::Avro) = (&plan.avro, self.format.value) {
            return [&avro.source_cluster[..], &self.avro_file].concat().into();
        }
        if let (Some(protobuf), Encoding::Protobuf) = (&plan.protobuf, self.format.value) {
            return [&protobuf.source_cluster[..], &self.protobuf_file]
                .concat()
                .into();
        }
        [&plan.source_cluster, &self.file[..], b",\"pos\":"]
            .concat()
            .into()
    }
}
