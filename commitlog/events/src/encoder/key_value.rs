//! Encodes the key and value of events if one of them is not plain JSON.

use commitlog_core::schema::TableId;

use super::avro::AvroEncoder;
use super::json::JsonEncoder;
use super::protobuf::ProtobufEncoder;
use super::walk::Walk;
use super::{Scratch, visitor::Written};
use crate::avro::ConfluentHeaders;
use crate::connect::{KeyValueEncoding, PartEncoding, write_text};
use crate::event_writer::{EventWriter, more_room};
use crate::plan::TablePlan;
use crate::static_fragment::StaticFragment;
use crate::value::{Result, ValueModes};
use event_encoding::connect::JSON_ENVELOPE_END;
use event_encoding::encoding::Encoding;

/// Initial buffer size, in bytes, for a part that is converted afterwards.
const PART_ROOM: usize = 2048;

/// Caches the latest envelope of a value with dropped columns, because the next value often needs
/// the same one.
#[derive(Default)]
pub(crate) struct LastEnvelope {
    columns: Option<(TableId, Vec<u32>)>,
    bytes: Vec<u8>,
}

/// Writes both parts of a message.
pub(crate) struct KeyValueEncoder<'w, 'p> {
    pub scratch: &'w mut Scratch,
    pub plan: &'w TablePlan,
    pub headers: ConfluentHeaders,
    /// [`crate::event_context::EventContext::source_middle`] of this plan.
    pub source_middle: &'w StaticFragment<128>,
    pub walk: Walk<'w, 'p>,
}

type Length = Result<Option<usize>>;

impl KeyValueEncoder<'_, '_> {
    /// Writes into `room` and returns the lengths of key and value, or `None` if they do not fit.
    pub fn write(
        &mut self,
        encoding: &KeyValueEncoding,
        room: &mut [u8],
    ) -> Result<Option<(usize, usize)>> {
        let Some(length) = self.key(&encoding.key, room)? else {
            return Ok(None);
        };
        let Some((key, room)) = room.split_at_mut_checked(length) else {
            return Ok(None);
        };
        let value = if encoding.value.encoding == Encoding::Avro {
            self.avro_value(room)?
        } else if encoding.value.encoding == Encoding::Protobuf {
            self.protobuf_value(room)?
        } else if encoding.key.is_json() && encoding.key.modes == encoding.value.modes {
            let start = encoding.key.envelope.len();
            let end = key.len().saturating_sub(closing(&encoding.key).len());
            self.json_value(encoding, key.get(start..end).unwrap_or_default(), room)?
        } else {
            let key = self.json_key(encoding.value.modes)?;
            self.json_value(encoding, &key, room)?
        };
        Ok(value.map(|value| (length, value)))
    }

    fn key(&mut self, part: &PartEncoding, room: &mut [u8]) -> Length {
        let whole = room.len();
        let mut out = EventWriter::new(room);
        let walk = self.walk;
        match part.encoding {
            Encoding::Json | Encoding::JsonWithSchema => {
                out.slice(&part.envelope);
                out = walk.key(&mut self.json(part.modes), out)?;
                out.slice(closing(part));
            }
            Encoding::Text => {
                let json = self.json_key(part.modes)?;
                let mut text = Vec::with_capacity(json.len());
                write_text(&mut text, &part.schema, &json);
                out.slice(&text);
            }
            Encoding::Avro => {
                if let Some(mut encoder) = self.avro() {
                    out = walk.key(&mut encoder, out)?;
                }
            }
            Encoding::Protobuf => {
                if let Some(mut encoder) = self.protobuf() {
                    out = walk.key(&mut encoder, out)?;
                }
            }
        }
        Ok(length(whole, &out))
    }

    /// Encodes the key as JSON, for a value that copies its key columns.
    fn json_key(&mut self, modes: ValueModes) -> Result<Vec<u8>> {
        let walk = self.walk;
        let mut encoder = self.json(modes);
        write_all(|out| walk.key(&mut encoder, out))
    }

    /// Encodes a JSON or text value; `key` is the key that was just written as JSON.
    fn json_value(&mut self, encoding: &KeyValueEncoding, key: &[u8], room: &mut [u8]) -> Length {
        let part = &encoding.value;
        let walk = self.walk;
        let whole = room.len();
        let mut out = EventWriter::new(room);
        let dropped = encoding.columns_with_dropped(walk.content);
        match (part.encoding, &dropped) {
            (Encoding::Text, _) => {
                let mut encoder = self.json(part.modes);
                encoder.set_key(key);
                let mut json = write_all(|out| walk.value(&mut encoder, out))?;
                let end = json.len();
                let end = encoder.without_comma(&mut json, end);
                json.truncate(end);
                let mut text = Vec::with_capacity(json.len());
                match dropped {
                    Some(columns) => {
                        write_text(&mut text, &encoding.value_schema(&columns), &json);
                    }
                    None => write_text(&mut text, &part.schema, &json),
                }
                out.slice(&text);
                return Ok(length(whole, &out));
            }
            (Encoding::JsonWithSchema, Some(columns)) => {
                out.slice(self.envelope_with(encoding, columns));
            }
            _ => out.slice(&part.envelope),
        }
        let start = whole.saturating_sub(out.room());
        let mut encoder = self.json(part.modes);
        encoder.set_key(key);
        out = walk.value(&mut encoder, out)?;
        out.slice(closing(part));
        let Some(end) = length(whole, &out) else {
            return Ok(None);
        };
        let value = room.get_mut(start..).unwrap_or_default();
        let value = encoder.without_comma(value, end.saturating_sub(start));
        Ok(Some(start.saturating_add(value)))
    }

    fn avro_value(&mut self, room: &mut [u8]) -> Length {
        let whole = room.len();
        let mut out = EventWriter::new(room);
        let walk = self.walk;
        if let Some(mut encoder) = self.avro() {
            out = walk.value(&mut encoder, out)?;
        }
        Ok(length(whole, &out))
    }

    fn protobuf_value(&mut self, room: &mut [u8]) -> Length {
        let whole = room.len();
        let mut out = EventWriter::new(room);
        let walk = self.walk;
        if let Some(mut encoder) = self.protobuf() {
            out = walk.value(&mut encoder, out)?;
        }
        Ok(length(whole, &out))
    }

    /// Returns the envelope of a value with dropped columns.
    fn envelope_with(&mut self, encoding: &KeyValueEncoding, columns: &[u32]) -> &[u8] {
        let last = &mut self.scratch.envelope;
        let table = self.plan.table.id;
        let is_last = last.columns.as_ref();
        if !is_last.is_some_and(|(last_table, shown)| *last_table == table && shown == columns) {
            last.bytes = encoding.value_schema(columns).json_envelope();
            last.columns = Some((table, columns.to_vec()));
        }
        &last.bytes
    }

    fn json(&mut self, modes: ValueModes) -> JsonEncoder<'_> {
        JsonEncoder::new(
            self.scratch,
            self.walk.context,
            self.plan,
            modes,
            self.source_middle,
        )
    }

    fn avro(&mut self) -> Option<AvroEncoder<'_>> {
        Some(AvroEncoder::new(
            self.scratch,
            self.walk.context,
            self.plan,
            self.plan.avro.as_deref()?,
            self.headers,
            self.source_middle,
        ))
    }

    fn protobuf(&mut self) -> Option<ProtobufEncoder<'_>> {
        Some(ProtobufEncoder::new(
            self.scratch,
            self.walk.context,
            self.plan,
            self.plan.protobuf.as_deref()?,
            self.headers,
            self.source_middle,
        ))
    }
}

/// Returns the bytes that end a part.
fn closing(part: &PartEncoding) -> &'static [u8] {
    match part.encoding {
        Encoding::JsonWithSchema => JSON_ENVELOPE_END,
        _ => b"",
    }
}

/// Returns the number of bytes written, or `None` if the buffer was too small.
fn length(whole: usize, out: &EventWriter<'_>) -> Option<usize> {
    let left = out.room();
    (left > 0).then(|| whole.saturating_sub(left))
}

/// Encodes a key or value into a new buffer, growing it until everything fits.
fn write_all(mut write: impl FnMut(EventWriter<'_>) -> Written<'_>) -> Result<Vec<u8>> {
    let mut bytes = vec![0; PART_ROOM];
    loop {
        let whole = bytes.len();
        let written = length(whole, &write(EventWriter::new(&mut bytes))?);
        if let Some(length) = written {
            bytes.truncate(length);
            return Ok(bytes);
        }
        bytes.resize(more_room(whole, 0), 0);
    }
}
