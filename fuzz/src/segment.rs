//! Builds segments that bytes describe, with valid checksums unless the bytes corrupt them.

use commitlog_core::descriptor::Version;

use crate::framing::{FRAMINGS, Framing};

/// The name of all segments of version 7.
pub const NAME: &str = "CommitLog-7-1.log";
const ID: u64 = 1;
const MARKER_LENGTH: usize = 8;

/// A segment and what a reader must return.
#[derive(Default)]
pub struct Segment {
    pub framing: Framing,
    pub data: Vec<u8>,
    /// The content of the writer's buffer, to which logical positions refer; for a plain segment,
    /// the bytes of the file.
    pub logical: Vec<u8>,
    /// Whether the file differs from the buffer.
    pub is_damaged: bool,
    /// Whether bytes precede the first marker.
    pub starts_late: bool,
    /// Whole records before stray bytes or a damaged section.
    pub certain: Vec<Certain>,
    /// Offsets of the markers in the file.
    pub markers: Vec<usize>,
}

/// A record that a reader must return.
pub struct Certain {
    /// Its logical end.
    pub end: u64,
    pub payload: Vec<u8>,
    /// Where its section ends in the file.
    pub stored_end: usize,
}

/// The section that is being written.
struct Section {
    marker: usize,
    records: Vec<u8>,
    certain: Vec<Certain>,
    /// Offsets in the stored section, including its marker, and the masks to xor there.
    flips: Vec<(usize, u8)>,
    /// The wrong end offset to store in the marker.
    end: Option<[u8; 4]>,
}

#[derive(Default)]
struct Builder {
    segment: Segment,
    section: Option<Section>,
    is_odd: bool,
}

pub fn crc(parts: &[&[u8]]) -> [u8; 4] {
    let mut hasher = crc32fast::Hasher::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize().to_be_bytes()
}

/// Writes a plain segment with one record. Zeros extend a payload that is too short.
pub fn segment_of(version: Version, payload: &[u8]) -> Vec<u8> {
    let mut payload = payload.to_vec();
    payload.resize(payload.len().max(10), 0);
    write(Framing::Plain, version, &[vec![payload]]).data
}

/// Writes a segment; each section is a list of record payloads.
pub fn write(framing: Framing, version: Version, sections: &[Vec<Vec<u8>>]) -> Segment {
    let mut builder = Builder::default();
    builder.segment.framing = framing;
    builder.header(version.number());
    for payloads in sections {
        builder.marker();
        for payload in payloads {
            builder.record(payload, true);
        }
    }
    builder.close();
    builder.segment
}

/// Follows the instructions of an input. The lowest three bits of the first byte choose the
/// framing. The next two choose the end of the file: unchanged, 16 zeros appended, or cut by the
/// number in two further bytes. An instruction is a byte modulo 8 and its operands:
///
/// | byte | what is written |
/// | --- | --- |
/// | 0 | a marker, whose section ends at the next marker |
/// | 1, n | a record with the next n + 10 bytes of the input as payload |
/// | 2, n | the same record with a bad checksum at its end |
/// | 3, n | n bytes of the input, unchanged |
/// | 4, n | n zeros |
/// | 5, 4 bytes | a record size and its checksum |
/// | 6, 2 bytes, mask | the stored section, marker included, with the byte at this offset xored |
/// | 7, 4 bytes | the section's marker with this end offset |
pub fn build(input: &[u8]) -> Segment {
    let mut input = Input(input);
    let first = input.byte();
    let mut builder = Builder::default();
    builder.segment.framing = FRAMINGS
        .get(usize::from(first) % FRAMINGS.len())
        .copied()
        .unwrap_or_default();
    let ending = first / FRAMINGS.len() as u8 % 4;
    let cut = if ending == 3 { input.number() } else { 0 };
    builder.header(7);
    while let Some((op, rest)) = input.0.split_first() {
        input.0 = rest;
        builder.follow(op % 8, &mut input);
    }
    builder.close();
    let mut segment = builder.segment;
    if matches!(ending, 1 | 2) {
        segment.data.resize(segment.data.len() + 16, 0);
    }
    if cut > 0 {
        segment.is_damaged = true;
        segment
            .data
            .truncate(segment.data.len().saturating_sub(cut));
        let left = segment.data.len();
        segment.certain.retain(|record| record.stored_end <= left);
    }
    if segment.framing == Framing::Plain {
        segment.logical.clone_from(&segment.data);
    }
    segment
}

/// Takes bytes from the front; missing numbers and payload bytes count as zero.
struct Input<'i>(&'i [u8]);

impl Input<'_> {
    fn take(&mut self, count: usize) -> Vec<u8> {
        let (taken, left) = self.0.split_at(count.min(self.0.len()));
        self.0 = left;
        taken.to_vec()
    }

    fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or_default()
    }

    fn number(&mut self) -> usize {
        usize::from(self.byte()) << 8 | usize::from(self.byte())
    }

    fn exactly(&mut self, count: usize) -> Vec<u8> {
        let mut taken = self.take(count);
        taken.resize(count, 0);
        taken
    }
}

impl Builder {
    fn follow(&mut self, op: u8, input: &mut Input<'_>) {
        match op {
            0 => self.marker(),
            1 | 2 => {
                let length = 10 + usize::from(input.byte());
                self.record(&input.exactly(length), op == 1);
            }
            3 | 4 => {
                let length = usize::from(input.byte());
                self.is_odd = true;
                let raw = if op == 3 {
                    input.take(length)
                } else {
                    vec![0; length]
                };
                self.write(&raw);
            }
            5 => {
                let size = input.take(4);
                self.is_odd = true;
                self.write(&size);
                self.write(&crc(&[&size]));
            }
            6 => {
                let (offset, mask) = (input.number(), input.byte());
                if let Some(section) = &mut self.section {
                    section.flips.push((offset, mask));
                }
            }
            _ => {
                let end = input.exactly(4);
                if let Some(section) = &mut self.section {
                    section.end = end.first_chunk().copied();
                }
            }
        }
    }

    fn header(&mut self, version: i32) {
        let id = (ID as u32).to_be_bytes();
        let version = version.to_be_bytes();
        let parameters = self.segment.framing.parameters().into_bytes();
        let length = (parameters.len() as u32).to_be_bytes();
        let parts: [&[u8]; 5] = [&version, &id, &[0; 4], &length, &parameters];
        let sum = crc(&parts);
        let stored_length = (parameters.len() as u16).to_be_bytes();
        let header: [&[u8]; 5] = [
            &version,
            &ID.to_be_bytes(),
            &stored_length,
            &parameters,
            &sum,
        ];
        self.segment.data = header.concat();
        self.segment.logical = header.concat();
    }

    fn marker(&mut self) {
        self.close();
        self.segment.markers.push(self.segment.data.len());
        self.section = Some(Section {
            marker: self.segment.data.len(),
            records: Vec::new(),
            certain: Vec::new(),
            flips: Vec::new(),
            end: None,
        });
        self.segment.logical.extend([0; MARKER_LENGTH]);
    }

    /// Appends bytes to the current section, or directly to the file before the first marker.
    fn write(&mut self, bytes: &[u8]) {
        self.segment.logical.extend_from_slice(bytes);
        if let Some(section) = &mut self.section {
            section.records.extend_from_slice(bytes);
        } else {
            self.segment.data.extend_from_slice(bytes);
            self.segment.is_damaged = true;
            self.segment.starts_late = true;
            self.is_odd |= self.segment.framing != Framing::Plain;
        }
    }

    fn record(&mut self, payload: &[u8], is_good: bool) {
        let size = (payload.len() as u32).to_be_bytes();
        let mut sum = crc(&[&size, payload]);
        if !is_good {
            sum = sum.map(|byte| !byte);
        }
        self.write(&[&size, &crc(&[&size])[..], payload, &sum].concat());
        let end = self.segment.logical.len() as u64;
        if let Some(section) = &mut self.section
            && is_good
            && !self.is_odd
        {
            section.certain.push(Certain {
                end,
                payload: payload.to_vec(),
                stored_end: 0,
            });
        }
    }

    fn close(&mut self) {
        let Some(section) = self.section.take() else {
            return;
        };
        let id = (ID as u32).to_be_bytes();
        let place = (section.marker as u32).to_be_bytes();
        let block = self.segment.framing.store(&section.records);
        let end = section.marker + MARKER_LENGTH + block.len();
        let said = section.end.unwrap_or((end as u32).to_be_bytes());
        let mut stored = [&said[..], &crc(&[&id, &[0; 4], &place]), &block].concat();
        let length = stored.len();
        for (offset, mask) in &section.flips {
            if let Some(byte) = stored.get_mut(offset % length) {
                *byte ^= mask;
            }
        }
        self.segment.data.extend(stored);
        if section.flips.is_empty() && section.end.is_none() {
            let certain = section.certain.into_iter();
            self.segment.certain.extend(certain.map(|record| Certain {
                stored_end: end,
                ..record
            }));
        } else {
            self.segment.is_damaged = true;
            self.is_odd = true;
        }
    }
}
