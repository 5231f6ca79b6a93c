//! Writes event bytes into an existing buffer.
//!
//! An event consists of about fifty short pieces. A `Vec` keeps its length in memory, so each piece
//! loads and stores it. Here, the free space is two registers that functions take and return, and
//! copies have a length known at compile time. Pieces that take more than a few instructions are
//! calls, so that the code that writes an event stays in the instruction cache.

use base64_simd::AsOut;
use event_encoding::avro::varint;

use crate::digits::{WORD_RANGE, digits, length};
use crate::static_fragment::StaticFragment;
use crate::time_text::TimeText;
use crate::value::json::{SHORT_BASE64, SHORT_BASE64_TEXT, place_short_base64};

/// Bytes of a word, which contains eight digits.
const WORD: usize = 8;

/// Writes a text into the free space of a buffer. Only inlined functions borrow it; others take and
/// return it by value, because taking its address would force it into memory.
///
/// If a piece does not fit, neither it nor any later piece is written, and no room remains. The
/// caller must then write the text again into a larger buffer.
pub struct EventWriter<'b> {
    room: &'b mut [u8],
}

/// A writer that an encoder passes on by value.
pub(crate) type Out<'b> = EventWriter<'b>;

#[allow(
    clippy::inline_always,
    reason = "a call would move the writer from registers to memory"
)]
impl<'b> EventWriter<'b> {
    pub fn new(room: &'b mut [u8]) -> Self {
        Self { room }
    }

    /// Returns the number of free bytes; 0 if a piece did not fit.
    #[inline(always)]
    pub fn room(&self) -> usize {
        self.room.len()
    }

    /// Writes bytes whose number is known at compile time.
    #[inline(always)]
    pub fn literal<const N: usize>(&mut self, bytes: &[u8; N]) {
        if let Some((room, rest)) = std::mem::take(&mut self.room).split_first_chunk_mut() {
            *room = *bytes;
            self.room = rest;
        }
    }

    /// Writes the first `length` bytes; later pieces overwrite the others.
    #[inline(always)]
    pub fn padded<const N: usize>(&mut self, bytes: &[u8; N], length: usize) {
        let room = std::mem::take(&mut self.room);
        if let Some(place) = room.first_chunk_mut() {
            *place = *bytes;
            self.room = room.get_mut(length..).unwrap_or_default();
        }
    }

    /// Writes a prepared text.
    #[inline(always)]
    pub fn fragment<const N: usize>(&mut self, text: &StaticFragment<N>) {
        match text.padded() {
            Some((padded, length)) => self.padded(padded, length),
            None => self.slice(text.text()),
        }
    }

    #[inline(always)]
    pub fn slice(&mut self, bytes: &[u8]) {
        self.room = write_slice(std::mem::take(&mut self.room), bytes);
    }

    /// Writes a JSON string of padded base64.
    #[inline(always)]
    pub fn base64(&mut self, bytes: &[u8]) {
        self.room = write_base64(std::mem::take(&mut self.room), bytes);
    }

    /// Writes a number as Avro.
    #[inline(always)]
    pub fn varint(&mut self, number: i64) {
        self.room = write_varint(std::mem::take(&mut self.room), number);
    }

    /// Writes bytes or a string as Avro: the length, then the bytes.
    #[inline(always)]
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.room = write_bytes(std::mem::take(&mut self.room), bytes);
    }

    #[inline(always)]
    pub fn number(&mut self, number: i64) {
        self.room = write_number(std::mem::take(&mut self.room), number);
    }

    /// Writes a time in microseconds.
    #[inline(always)]
    pub fn time_us(&mut self, time: &TimeText) {
        match time.words() {
            Some([high, low]) => {
                self.word(high);
                self.word(low);
            }
            None => self.number(time.us()),
        }
    }

    /// Writes a time in milliseconds, rounded down.
    #[inline(always)]
    pub fn time_ms(&mut self, time: &TimeText) {
        match time.words() {
            Some([high, low]) => {
                self.word(high);
                self.padded(&low.to_le_bytes(), WORD - 3);
            }
            None => self.number(time.us().div_euclid(1000)),
        }
    }

    /// Writes a time in nanoseconds, or `null` if it does not fit 64 bits.
    #[inline(always)]
    pub fn time_ns(&mut self, time: &TimeText) {
        match (time.words(), time.us().checked_mul(1000)) {
            (Some(_), _) => {
                self.time_us(time);
                self.literal(b"000");
            }
            (None, Some(ns)) => self.number(ns),
            (None, None) => self.literal(b"null"),
        }
    }

    #[inline(always)]
    fn word(&mut self, word: u64) {
        self.literal(&word.to_le_bytes());
    }

    /// Writes a number of at most eight digits.
    #[inline(always)]
    fn short_number(&mut self, number: u64) {
        let length = length(number as u32);
        let word = digits(number).wrapping_shr((8 * (WORD as u32)).wrapping_sub(8 * length));
        self.padded(&word.to_le_bytes(), length as usize);
    }
}

/// Returns the next buffer size for a text that did not fit: `likely`, or 1.5 times `room`.
pub fn more_room(room: usize, likely: usize) -> usize {
    likely.max(room.saturating_add(room / 2))
}

/// Writes `bytes` and returns the remaining room; empty if they do not fit.
#[inline(never)]
fn write_slice<'b>(room: &'b mut [u8], bytes: &[u8]) -> &'b mut [u8] {
    match room.split_at_mut_checked(bytes.len()) {
        Some((room, rest)) => {
            copy(bytes, room);
            rest
        }
        None => &mut [],
    }
}

/// Writes seven bits per byte, lowest first; small numbers of both signs are short.
#[inline(never)]
fn write_varint(room: &mut [u8], number: i64) -> &mut [u8] {
    let mut text = EventWriter::new(room);
    let (bytes, length) = varint(number);
    text.padded(&bytes, length);
    text.room
}

#[inline(never)]
fn write_bytes<'b>(room: &'b mut [u8], bytes: &[u8]) -> &'b mut [u8] {
    let mut text = EventWriter::new(room);
    match u8::try_from(bytes.len()) {
        Ok(length @ ..0x40) => text.literal(&[length << 1]),
        _ => text.varint(bytes.len() as i64),
    }
    text.slice(bytes);
    text.room
}

#[inline(never)]
fn write_number(room: &mut [u8], number: i64) -> &mut [u8] {
    let mut text = EventWriter::new(room);
    if number < 0 {
        text.literal(b"-");
    }
    let magnitude = number.unsigned_abs();
    if magnitude < WORD_RANGE {
        text.short_number(magnitude);
    } else {
        let (rest, low) = (magnitude / WORD_RANGE, magnitude % WORD_RANGE);
        if rest < WORD_RANGE {
            text.short_number(rest);
        } else {
            text.short_number(rest / WORD_RANGE);
            text.word(digits(rest % WORD_RANGE));
        }
        text.word(digits(low));
    }
    text.room
}

#[inline(never)]
fn write_base64<'b>(room: &'b mut [u8], bytes: &[u8]) -> &'b mut [u8] {
    if bytes.len() <= SHORT_BASE64 {
        let Some(place) = room.first_chunk_mut::<SHORT_BASE64_TEXT>() else {
            return &mut [];
        };
        let length = place_short_base64(place, bytes);
        return room.get_mut(length..).unwrap_or_default();
    }
    let mut text = EventWriter::new(room);
    text.literal(b"\"");
    let length = bytes.len().div_ceil(3).saturating_mul(4);
    if let Some((room, rest)) = std::mem::take(&mut text.room).split_at_mut_checked(length) {
        let _ = base64_simd::STANDARD.encode(bytes, room.as_out());
        text.room = rest;
    }
    text.literal(b"\"");
    text.room
}

/// Copies between slices of equal length. Slices of 4 to 64 bytes need no call.
#[inline]
fn copy(source: &[u8], target: &mut [u8]) {
    let is_copied = match source.len() {
        4..=16 => copy_ends::<8>(source, target).or_else(|| copy_ends::<4>(source, target)),
        17..=32 => copy_ends::<16>(source, target),
        33..=64 => copy_ends::<32>(source, target),
        _ => None,
    };
    if is_copied.is_some() {
        return;
    }
    target.copy_from_slice(source);
}

/// Copies the first and the last `N` bytes, which may overlap.
#[inline]
fn copy_ends<const N: usize>(source: &[u8], target: &mut [u8]) -> Option<()> {
    *target.first_chunk_mut::<N>()? = *source.first_chunk()?;
    *target.last_chunk_mut::<N>()? = *source.last_chunk()?;
    Some(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// One piece of text, in the order of the methods.
    #[derive(Debug, Clone)]
    enum Piece {
        Literal([u8; 3]),
        Padded([u8; 32], usize),
        Fixed(Vec<u8>),
        Slice(Vec<u8>),
        Base64(Vec<u8>),
        Number(i64),
        Time(i64),
    }

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(any::<u8>(), 0..70)
    }

    fn number() -> impl Strategy<Value = i64> {
        // Texts of every length.
        (any::<i64>(), 0_u32..64).prop_map(|(number, shift)| number >> shift)
    }

    fn time_us() -> impl Strategy<Value = i64> {
        prop_oneof![
            number(),
            999_999_999_999_000_i64..1_000_000_000_001_000,
            1_600_000_000_000_000_i64..1_800_000_000_000_000,
            9_223_372_036_854_000_i64..9_223_372_036_856_000,
            9_999_999_999_999_000_i64..10_000_000_000_001_000,
        ]
    }

    fn piece() -> impl Strategy<Value = Piece> {
        prop_oneof![
            any::<[u8; 3]>().prop_map(Piece::Literal),
            (any::<[u8; 32]>(), 0_usize..=32)
                .prop_map(|(bytes, length)| Piece::Padded(bytes, length)),
            bytes().prop_map(Piece::Fixed),
            bytes().prop_map(Piece::Slice),
            bytes().prop_map(Piece::Base64),
            number().prop_map(Piece::Number),
            time_us().prop_map(Piece::Time),
        ]
    }

    fn write<'b>(mut text: EventWriter<'b>, pieces: &[Piece]) -> EventWriter<'b> {
        for piece in pieces {
            match piece {
                Piece::Literal(bytes) => text.literal(bytes),
                Piece::Padded(bytes, length) => text.padded(bytes, *length),
                Piece::Fixed(bytes) => text.fragment(&StaticFragment::<32>::from(bytes.clone())),
                Piece::Slice(bytes) => text.slice(bytes),
                Piece::Base64(bytes) => text.base64(bytes),
                Piece::Number(number) => text.number(*number),
                Piece::Time(us) => {
                    let time = TimeText::from_us(*us);
                    text.time_us(&time);
                    text.literal(b" ");
                    text.time_ms(&time);
                    text.literal(b" ");
                    text.time_ns(&time);
                }
            }
        }
        text
    }

    fn expected(pieces: &[Piece]) -> Vec<u8> {
        let mut out = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Literal(bytes) => out.extend_from_slice(bytes),
                Piece::Padded(bytes, length) => {
                    out.extend_from_slice(bytes.get(..*length).unwrap());
                }
                Piece::Fixed(bytes) | Piece::Slice(bytes) => out.extend_from_slice(bytes),
                Piece::Base64(bytes) => {
                    let text = base64_simd::STANDARD.encode_to_string(bytes);
                    out.extend_from_slice(format!("\"{text}\"").as_bytes());
                }
                Piece::Number(number) => out.extend_from_slice(number.to_string().as_bytes()),
                Piece::Time(us) => {
                    let ns = us
                        .checked_mul(1000)
                        .map_or("null".to_owned(), |ns| ns.to_string());
                    let text = format!("{us} {} {ns}", us.div_euclid(1000));
                    out.extend_from_slice(text.as_bytes());
                }
            }
        }
        out
    }

    proptest! {
        #[test]
        fn writer_reports_written_text_or_overflow(
            pieces in proptest::collection::vec(piece(), 0..12),
            room in 0_usize..600,
        ) {
            let expected = expected(&pieces);
            let mut bytes = vec![0; room];
            let mut left = write(EventWriter::new(&mut bytes), &pieces).room();
            if left == 0 {
                // The last piece has room for padding as well.
                prop_assert!(room < expected.len() + 64);
                bytes.resize(expected.len() + 64, 0);
                left = write(EventWriter::new(&mut bytes), &pieces).room();
                prop_assert!(left > 0);
            }
            let length = bytes.len() - left;
            prop_assert_eq!(
                String::from_utf8_lossy(bytes.get(..length).unwrap()),
                String::from_utf8_lossy(&expected)
            );
        }
    }
}
