//! Shared by all values of one read.

use super::plan::string;
use crate::event::Op;
use crate::format::EventFormat;
use crate::static_fragment::StaticFragment;
use event_encoding::avro::varint;

/// Shared by all values of one read.
pub struct AvroContext {
    /// The start of a value for each [`Op`], up to the event's time in `source`.
    starts: [StaticFragment<128>; Op::ALL.len()],
    /// File name of the segment.
    pub file: Vec<u8>,
}

impl AvroContext {
    pub fn new(format: &EventFormat, segment: &str, now_ms: i64) -> Self {
        let starts = Op::ALL.map(|op| {
            let (now, length) = varint(now_ms);
            let mut start = now.get(..length).unwrap_or_default().to_vec();
            start.extend(string(&[
                op.letter(format.op_style),
                &format.connector_version,
                "cassandra",
                &format.topic_prefix,
            ]));
            start.into()
        });
        Self {
            starts,
            file: string(&[segment]),
        }
    }

    #[inline]
    pub fn start(&self, op: Op) -> &StaticFragment<128> {
        let [insert, update, delete, range, read] = &self.starts;
        match op {
            Op::Insert => insert,
            Op::Update => update,
            Op::Delete => delete,
            Op::Range => range,
            Op::Read => read,
        }
    }
}
