//! Reads a segment of 64 KiB in which any one bit is flipped.
//!
//! For every bit, each event equals the original byte for byte, and each missing event lies in a
//! reported gap. At most one record is lost, or one section if sections are stored as blocks.

use std::sync::Arc;

use commitlog_core::descriptor::Version;
use commitlog_core::error::SegmentError;
use commitlog_core::schema::{Schema, parse_cql};
use commitlog_core::segment::{Gap, SegmentReader};
use commitlog_core::verify::Verification;
use commitlog_events::batch::Stop;
use commitlog_events::format::{EventFormat, TableFilter};
use commitlog_events::reader::{EventReader, ReadRequest};

use crate::framing::Framing;
use crate::segment::{NAME, Segment, write};

const TABLE: [u8; 16] = *b"every bit's id..";
const SCHEMA: &str = "CREATE TABLE k.t (p text, c int, v text, PRIMARY KEY (p, c)) \
    WITH ID = 65766572-7920-6269-7427-732069642e2e AND cdc = true";
const SEGMENT_BYTES: usize = 64 << 10;
const SECTIONS: usize = 13;
const EMPTY_SECTION: usize = 5;

/// A segment and its records.
pub struct Specimen {
    segment: Segment,
    schema: Arc<Schema>,
    format: Arc<EventFormat>,
    events: Vec<Event>,
    /// The records of the largest section, or 1 if sections are not stored as blocks.
    most_lost: usize,
}

/// The compared parts of an event.
#[derive(Debug, PartialEq, Eq)]
struct Event {
    position: u64,
    id: [u8; 16],
    key: Vec<u8>,
    value: Vec<u8>,
}

/// All events and gaps that a reader returned.
struct Reading {
    events: Vec<Event>,
    gaps: Vec<Gap>,
}

impl Specimen {
    /// Writes sections with records between 60 bytes and 4 KiB, and one empty section. The error
    /// describes what is wrong with the undamaged segment.
    pub fn new(framing: Framing) -> Result<Self, String> {
        let mut random = Random(7);
        let mut sections = vec![Vec::new(); SECTIONS];
        let mut number = 0;
        let mut segment = write(framing, Version::V7, &sections);
        while segment.data.len() < SEGMENT_BYTES {
            for _ in 0..8 {
                let mut value = random.text();
                value.resize(value.len() + number % 50, b'0');
                if number % 40 == 39 {
                    value = value.repeat(10);
                }
                let place = number * number / 5 % (SECTIONS - 1);
                let place = place + usize::from(place >= EMPTY_SECTION);
                if let Some(payloads) = sections.get_mut(place) {
                    payloads.push(insert(number as u32, &value));
                }
                number += 1;
            }
            segment = write(framing, Version::V7, &sections);
        }
        let schema = parse_cql(SCHEMA).map_err(|error| error.to_string())?;
        let tables = TableFilter::new([], [], false)?;
        let most_lost = match framing {
            Framing::Plain => 1,
            _ => sections.iter().map(Vec::len).max().unwrap_or_default(),
        };
        let mut specimen = Self {
            segment,
            schema: Arc::new(schema),
            format: Arc::new(EventFormat {
                cells: true,
                tables,
                ..EventFormat::default()
            }),
            events: Vec::new(),
            most_lost,
        };
        let whole = specimen
            .read(specimen.segment.data.clone())
            .map_err(|error| error.to_string())?;
        if !whole.gaps.is_empty() || whole.events.len() != number {
            let (events, gaps) = (whole.events.len(), whole.gaps);
            return Err(format!("{events} events of {number} records, {gaps:?}"));
        }
        specimen.events = whole.events;
        Ok(specimen)
    }

    /// Number of bits in the file.
    pub fn bits(&self) -> usize {
        self.segment.data.len() * 8
    }

    /// Returns the bits of each marker, of the 4-byte block length after it, and of the first 12
    /// bytes of the block.
    pub fn marker_bits(&self) -> impl Iterator<Item = usize> {
        let markers = self.segment.markers.iter();
        let bits = markers.flat_map(|marker| marker * 8..(marker + 24) * 8);
        bits.filter(|bit| *bit < self.bits())
    }

    /// Flips one bit and reads the segment. The error describes what is wrong.
    pub fn check(&self, bit: usize) -> Result<(), String> {
        let mut data = self.segment.data.clone();
        if let Some(byte) = data.get_mut(bit / 8) {
            *byte ^= 1 << (bit % 8);
        }
        let header = self.segment.markers.first().copied().unwrap_or_default();
        let is_header = bit < header * 8;
        match self.read(data) {
            Err(_) if is_header => Ok(()),
            Err(error) => Err(error.to_string()),
            Ok(_) if is_header => Err("a damaged header was accepted".to_owned()),
            Ok(found) => self.compare(&found),
        }
    }

    fn compare(&self, found: &Reading) -> Result<(), String> {
        let mut left = found.events.iter().peekable();
        let mut lost = 0;
        for event in &self.events {
            if left.next_if_eq(&event).is_some() {
                continue;
            }
            lost += 1;
            let position = event.position;
            let is_told = found
                .gaps
                .iter()
                .any(|gap| gap.start < position && gap.end.is_none_or(|end| position <= end));
            if !is_told {
                let gaps = &found.gaps;
                return Err(format!("{position} is lost and unreported, gaps {gaps:?}"));
            }
        }
        if let Some(event) = left.next() {
            let value = String::from_utf8_lossy(&event.value);
            let position = event.position;
            return Err(format!("an unexpected event at {position}: {value}"));
        }
        if lost > self.most_lost {
            return Err(format!("{lost} records are lost, gaps {:?}", found.gaps));
        }
        Ok(())
    }

    /// Reads events and gaps. Verification without decoding must find equal numbers and gaps.
    fn read(&self, data: Vec<u8>) -> Result<Reading, SegmentError> {
        let keys = self.segment.framing.keys();
        let mut checked = SegmentReader::open_with_keys(NAME, data.clone(), 0, &keys)?;
        let mut verification = Verification::default();
        while verification.tail.is_none() {
            verification.advance(&mut checked, None, true, u64::MAX)?;
        }
        let mut segment = SegmentReader::open_with_keys(NAME, data, 0, &keys)?;
        let mut reader = EventReader::new(Arc::clone(&self.schema), Arc::clone(&self.format));
        let mut found = Reading {
            events: Vec::new(),
            gaps: Vec::new(),
        };
        loop {
            let batch = reader.read(&mut segment, &REQUEST, None)?;
            found.gaps.extend_from_slice(&batch.gaps);
            found.events.extend(batch.entries.iter().map(|entry| Event {
                position: entry.position,
                id: entry.id,
                key: batch.key(entry).to_vec(),
                value: batch.value(entry).to_vec(),
            }));
            match batch.stop {
                Stop::End => break,
                Stop::Full | Stop::Schema => {}
                Stop::Blocked => {
                    // Records with good checksums are unchanged, so they always decode.
                    assert!(batch.blocked.is_none(), "blocked: {:?}", batch.blocked);
                }
            }
        }
        assert!(
            verification.records == found.events.len() as u64 && verification.gaps == found.gaps,
            "verification finds {} records and {:?}, reading {} events and {:?}",
            verification.records,
            verification.gaps,
            found.events.len(),
            found.gaps
        );
        Ok(found)
    }
}

const REQUEST: ReadRequest = ReadRequest {
    limit: None,
    complete: true,
    expected_end: 0,
    completed_at: 0,
    max_events: 5000,
    max_bytes: 1 << 20,
    abandoned: Vec::new(),
    announced: None,
    now_ms: 0,
};

/// Builds a payload of version 7 that inserts a row into the partition `a` (format notes §4.1 to
/// §4.8). All base times are at their epoch.
fn insert(clustering: u32, value: &[u8]) -> Vec<u8> {
    const HAS_ROW_ESTIMATE: u8 = 0x10;
    const HAS_TIMESTAMP_AND_ALL_COLUMNS: u8 = 0x24;
    const USE_ROW_TIMESTAMP: u8 = 0x08;
    // A variable-length integer of two bytes holds up to 14 bits.
    let length = (value.len() as u16 | 0x8000).to_be_bytes();
    let clustering = clustering.to_be_bytes();
    let parts: [&[u8]; 9] = [
        &[1],
        &TABLE,
        &[1, b'a', HAS_ROW_ESTIMATE, 0, 0, 0, 1, 1, b'v', 1],
        &[HAS_TIMESTAMP_AND_ALL_COLUMNS, 0],
        &clustering,
        &[9, USE_ROW_TIMESTAMP],
        &length,
        value,
        &[1],
    ];
    parts.concat()
}

/// A deterministic random generator (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Returns hexadecimal digits, which compressors shrink to half their size.
    fn text(&mut self) -> Vec<u8> {
        let length = [8, 80, 300].get(self.next() as usize % 3).copied();
        (0..length.unwrap_or_default())
            .map(|_| b"0123456789abcdef".get(self.next() as usize % 16))
            .map(|digit| digit.copied().unwrap_or_default())
            .collect()
    }
}
