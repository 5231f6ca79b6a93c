//! Writes key and value of an event where one of them is not plain JSON.

use commitlog_core::schema::TableId;

use super::plan::{Side, Sides};
use super::struct_text::write_text;
use crate::avro::{AvroWriter, ConfluentHeaders};
use crate::counters::ShardNews;
use crate::encoder::{EventWriter, Scratch};
use crate::event::Content;
use crate::event_context::EventContext;
use crate::event_text::{EventText, more_room};
use crate::fixed_text::FixedText;
use crate::partition::Partition;
use crate::plan::TablePlan;
use crate::value::{ValueError, ValueModes};
use event_encoding::connect::JSON_ENVELOPE_END;
use event_encoding::encoding::Encoding;

/// Room for a part that becomes something else, in bytes.
const PART_ROOM: usize = 2048;

/// The schema that was written last of a value with dropped columns: the next one is often the
/// same.
#[derive(Default)]
pub struct LastOpening {
    of: Option<(TableId, Vec<u32>)>,
    bytes: Vec<u8>,
}

/// Writes both sides of an event.
pub(crate) struct SideWriter<'w, 'p> {
    pub scratch: &'w mut Scratch,
    pub context: &'w EventContext,
    pub plan: &'w TablePlan,
    /// What Avro begins with.
    pub starts: ConfluentHeaders,
    /// [`EventContext::source_middle`] of this plan.
    pub source_middle: &'w FixedText<128>,
    /// Live cells of counters by their columns.
    pub shards: &'w [(u32, Vec<ShardNews>)],
    pub partition: &'w Partition<'p>,
    pub content: &'w Content<'w, 'p>,
    pub timestamp_us: i64,
    /// The logical end of the mutation.
    pub position: u64,
}

type Length = Result<Option<usize>, ValueError>;

impl SideWriter<'_, '_> {
    /// Writes into room and gives the lengths of key and value; `None` if they need more of it.
    pub fn write(
        &mut self,
        sides: &Sides,
        room: &mut [u8],
    ) -> Result<Option<(usize, usize)>, ValueError> {
        let Some(length) = self.key(&sides.key, room)? else {
            return Ok(None);
        };
        let Some((key, room)) = room.split_at_mut_checked(length) else {
            return Ok(None);
        };
        let value = if sides.value.encoding == Encoding::Avro {
            self.avro_value(room)?
        } else if sides.key.is_json() && sides.key.modes == sides.value.modes {
            let start = sides.key.opening.len();
            let end = key.len().saturating_sub(closing(&sides.key).len());
            self.json_value(sides, key.get(start..end).unwrap_or_default(), room)?
        } else {
            let key = self.json_key(sides.value.modes)?;
            self.json_value(sides, &key, room)?
        };
        Ok(value.map(|value| (length, value)))
    }

    fn key(&mut self, side: &Side, room: &mut [u8]) -> Length {
        let whole = room.len();
        let mut text = EventText::new(room);
        match side.encoding {
            Encoding::Json | Encoding::JsonWithSchema => {
                text.slice(&side.opening);
                let (partition, content) = (self.partition, self.content);
                text = self.json(side.modes).key(text, partition, content)?;
                text.slice(closing(side));
            }
            Encoding::Text => {
                let json = self.json_key(side.modes)?;
                let mut shown = Vec::with_capacity(json.len());
                write_text(&mut shown, &side.schema, &json);
                text.slice(&shown);
            }
            Encoding::Avro => {
                let (partition, content) = (self.partition, self.content);
                if let Some(mut writer) = self.avro() {
                    text = writer.key(text, partition, content)?;
                }
            }
        }
        Ok(length(whole, &text))
    }

    /// A key as JSON, for a value that takes its columns from there.
    fn json_key(&mut self, modes: ValueModes) -> Result<Vec<u8>, ValueError> {
        let (partition, content) = (self.partition, self.content);
        let mut writer = self.json(modes);
        filled(|text| writer.key(text, partition, content))
    }

    /// `key` is the key as JSON that was made last.
    fn json_value(&mut self, sides: &Sides, key: &[u8], room: &mut [u8]) -> Length {
        let side = &sides.value;
        let whole = room.len();
        let mut text = EventText::new(room);
        let dropped = sides.columns_with_dropped(self.content);
        let (partition, content) = (self.partition, self.content);
        let (time_us, position) = (self.timestamp_us, self.position);
        match (side.encoding, &dropped) {
            (Encoding::Text, _) => {
                let mut writer = self.json(side.modes);
                let json =
                    filled(|text| writer.value(text, key, partition, content, time_us, position))?;
                let mut shown = Vec::with_capacity(json.len());
                match dropped {
                    Some(columns) => write_text(&mut shown, &sides.value_schema(&columns), &json),
                    None => write_text(&mut shown, &side.schema, &json),
                }
                text.slice(&shown);
                return Ok(length(whole, &text));
            }
            (Encoding::JsonWithSchema, Some(columns)) => {
                text.slice(self.opening_with(sides, columns));
            }
            _ => text.slice(&side.opening),
        }
        let mut writer = self.json(side.modes);
        text = writer.value(text, key, partition, content, time_us, position)?;
        text.slice(closing(side));
        Ok(length(whole, &text))
    }

    fn avro_value(&mut self, room: &mut [u8]) -> Length {
        let whole = room.len();
        let mut text = EventText::new(room);
        let (partition, content) = (self.partition, self.content);
        let (time_us, position) = (self.timestamp_us, self.position);
        if let Some(mut writer) = self.avro() {
            text = writer.value(text, partition, content, time_us, position)?;
        }
        Ok(length(whole, &text))
    }

    /// The opening of a value with dropped columns.
    fn opening_with(&mut self, sides: &Sides, columns: &[u32]) -> &[u8] {
        let last = &mut self.scratch.opening;
        let table = self.plan.table.id;
        let is_last = last.of.as_ref();
        if !is_last.is_some_and(|(of, shown)| *of == table && shown == columns) {
            last.bytes = sides.value_schema(columns).json_envelope();
            last.of = Some((table, columns.to_vec()));
        }
        &last.bytes
    }

    fn json(&mut self, modes: ValueModes) -> EventWriter<'_> {
        EventWriter {
            scratch: self.scratch,
            context: self.context,
            plan: self.plan,
            modes,
            source_middle: self.source_middle,
            shards: self.shards,
        }
    }

    fn avro(&mut self) -> Option<AvroWriter<'_>> {
        Some(AvroWriter {
            scratch: self.scratch,
            context: self.context,
            plan: self.plan,
            avro: self.plan.avro.as_deref()?,
            starts: self.starts,
            source_middle: self.source_middle,
            shards: self.shards,
        })
    }
}

/// What a side ends with.
fn closing(side: &Side) -> &'static [u8] {
    match side.encoding {
        Encoding::JsonWithSchema => JSON_ENVELOPE_END,
        _ => b"",
    }
}

/// What was written; none where something met the end of the room.
fn length(whole: usize, text: &EventText<'_>) -> Option<usize> {
    let left = text.room();
    (left > 0).then(|| whole.saturating_sub(left))
}

/// The bytes of a part, in as much room as it needs.
fn filled(
    mut write: impl FnMut(EventText<'_>) -> Result<EventText<'_>, ValueError>,
) -> Result<Vec<u8>, ValueError> {
    let mut bytes = vec![0; PART_ROOM];
    loop {
        let whole = bytes.len();
        let written = length(whole, &write(EventText::new(&mut bytes))?);
        if let Some(length) = written {
            bytes.truncate(length);
            return Ok(bytes);
        }
        bytes.resize(more_room(whole, 0), 0);
    }
}
