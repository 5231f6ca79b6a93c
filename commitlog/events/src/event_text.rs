//! The text of events, written into room that is there already.
//!
//! An event is some fifty short pieces. A `Vec` keeps its length in memory, so that each piece
//! loads and stores it; here what is left of the room stays in registers, and what is copied has a
//! length that the compiler knows.

use base64_simd::AsOut;

use crate::fixed_text::FixedText;
use crate::time_text::TimeText;
use crate::value::json::{SHORT_BASE64, SHORT_BASE64_TEXT, place_short_base64};

/// Bytes that are written and counted together.
const WORD: usize = 8;
/// Ten to the number of digits in a word.
const WORD_RANGE: u64 = 100_000_000;
const ZEROS: u64 = 0x3030_3030_3030_3030;

/// A text that grows into its room. It is handed on and given back, never lent to what is not
/// inlined: an address of it would bind it to memory.
///
/// What meets the end of the room is counted instead: the text is to be written again, into
/// [`Self::needed`] bytes.
pub struct EventText<'b> {
    room: &'b mut [u8],
    whole: usize,
    missing: usize,
}

#[allow(
    clippy::inline_always,
    reason = "a call would put the text into memory"
)]
impl<'b> EventText<'b> {
    pub fn new(room: &'b mut [u8]) -> Self {
        Self {
            whole: room.len(),
            room,
            missing: 0,
        }
    }

    /// Bytes that are written, if all of them had room.
    #[inline(always)]
    pub fn length(&self) -> usize {
        self.whole.wrapping_sub(self.room.len())
    }

    /// Room that is enough, if this was not.
    #[inline(always)]
    pub fn needed(&self) -> Option<usize> {
        (self.missing > 0).then(|| self.whole.saturating_add(self.missing))
    }

    /// Bytes whose number the compiler knows.
    #[inline(always)]
    pub fn literal<const N: usize>(&mut self, bytes: &[u8; N]) {
        match std::mem::take(&mut self.room).split_first_chunk_mut() {
            Some((room, rest)) => {
                *room = *bytes;
                self.room = rest;
            }
            None => self.missing = self.missing.saturating_add(N),
        }
    }

    /// The first `length` of some bytes; the others are written over.
    #[inline(always)]
    pub fn padded<const N: usize>(&mut self, bytes: &[u8; N], length: usize) {
        self.place::<N>(|room| {
            *room = *bytes;
            length
        });
    }

    /// What `write` makes of room for `N` bytes; it gives the number of those that are text.
    #[inline(always)]
    fn place<const N: usize>(&mut self, write: impl FnOnce(&mut [u8; N]) -> usize) {
        let room = std::mem::take(&mut self.room);
        match room.first_chunk_mut() {
            Some(place) => {
                let length = write(place);
                self.room = room.get_mut(length..).unwrap_or_default();
            }
            None => self.missing = self.missing.saturating_add(N),
        }
    }

    /// Prepared text.
    #[inline(always)]
    pub fn fixed(&mut self, text: &FixedText) {
        match text.padded() {
            Some((padded, length)) => self.padded(padded, length),
            None => self.slice(text.text()),
        }
    }

    #[inline(always)]
    pub fn slice(&mut self, bytes: &[u8]) {
        match std::mem::take(&mut self.room).split_at_mut_checked(bytes.len()) {
            Some((room, rest)) => {
                copy(bytes, room);
                self.room = rest;
            }
            None => self.missing = self.missing.saturating_add(bytes.len()),
        }
    }

    /// A string of padded base64.
    #[inline(always)]
    pub fn base64(&mut self, bytes: &[u8]) {
        if bytes.len() <= SHORT_BASE64 {
            self.place::<SHORT_BASE64_TEXT>(|room| place_short_base64(room, bytes));
            return;
        }
        self.literal(b"\"");
        let length = bytes.len().div_ceil(3).saturating_mul(4);
        match std::mem::take(&mut self.room).split_at_mut_checked(length) {
            Some((room, rest)) => {
                let _ = base64_simd::STANDARD.encode(bytes, room.as_out());
                self.room = rest;
            }
            None => self.missing = self.missing.saturating_add(length),
        }
        self.literal(b"\"");
    }

    #[inline(always)]
    pub fn number(&mut self, number: i64) {
        if number < 0 {
            self.literal(b"-");
        }
        let magnitude = number.unsigned_abs();
        if magnitude < WORD_RANGE {
            self.short_number(magnitude);
        } else {
            let (rest, low) = (magnitude / WORD_RANGE, magnitude % WORD_RANGE);
            if rest < WORD_RANGE {
                self.short_number(rest);
            } else {
                self.short_number(rest / WORD_RANGE);
                self.word(digits(rest % WORD_RANGE));
            }
            self.word(digits(low));
        }
    }

    /// A number that fits a word.
    #[inline(always)]
    fn short_number(&mut self, number: u64) {
        let digits = digits(number);
        // A zero keeps its last digit.
        let zeros = ((digits ^ ZEROS) | (1 << 56)).trailing_zeros() & !7;
        let word = digits.wrapping_shr(zeros);
        self.padded(&word.to_le_bytes(), WORD.wrapping_sub(zeros as usize / 8));
    }

    #[inline(always)]
    fn word(&mut self, word: u64) {
        self.literal(&word.to_le_bytes());
    }

    /// A time in microseconds.
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

    /// The same in milliseconds, rounded down.
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

    /// The same in nanoseconds; `null` where it does not fit 64 bits.
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
}

/// Copies between places of one length; short ones without a call.
#[inline]
fn copy(from: &[u8], to: &mut [u8]) {
    if from.len() <= 16
        && copy_ends::<8>(from, to)
            .or_else(|| copy_ends::<4>(from, to))
            .is_some()
    {
        return;
    }
    to.copy_from_slice(from);
}

/// Copies the first and the last `N` bytes, which may overlap.
#[inline]
fn copy_ends<const N: usize>(from: &[u8], to: &mut [u8]) -> Option<()> {
    *to.first_chunk_mut::<N>()? = *from.first_chunk()?;
    *to.last_chunk_mut::<N>()? = *from.last_chunk()?;
    Some(())
}

/// The eight digits of a number below [`WORD_RANGE`], the first in the lowest byte.
///
/// Halves, then pairs, then digits are divided side by side, by multiplying with what is close
/// enough to the inverse for so few digits.
#[inline]
pub fn digits(number: u64) -> u64 {
    let halves = (number / 10_000) | ((number % 10_000) << 32);
    let hundreds = (halves.wrapping_mul(5243) >> 19) & 0x0000_007f_0000_007f;
    let pairs = hundreds | (halves.wrapping_sub(hundreds.wrapping_mul(100)) << 16);
    let tens = (pairs.wrapping_mul(103) >> 10) & 0x000f_000f_000f_000f;
    (tens | (pairs.wrapping_sub(tens.wrapping_mul(10)) << 8)).wrapping_add(ZEROS)
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
        // Of every length.
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

    fn write<'b>(mut text: EventText<'b>, pieces: &[Piece]) -> EventText<'b> {
        for piece in pieces {
            match piece {
                Piece::Literal(bytes) => text.literal(bytes),
                Piece::Padded(bytes, length) => text.padded(bytes, *length),
                Piece::Fixed(bytes) => text.fixed(&FixedText::from(bytes.clone())),
                Piece::Slice(bytes) => text.slice(bytes),
                Piece::Base64(bytes) => text.base64(bytes),
                Piece::Number(number) => text.number(*number),
                Piece::Time(us) => {
                    let time = TimeText::of(*us);
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
        fn says_what_was_written_or_what_it_needs(
            pieces in proptest::collection::vec(piece(), 0..12),
            room in 0_usize..600,
        ) {
            let expected = expected(&pieces);
            let mut bytes = vec![0; room];
            let mut text = write(EventText::new(&mut bytes), &pieces);
            if let Some(needed) = text.needed() {
                // The padding of a last piece has room as well.
                prop_assert!(room < expected.len() + 64 && needed > room);
                bytes.resize(needed, 0);
                text = write(EventText::new(&mut bytes), &pieces);
                prop_assert_eq!(text.needed(), None);
            }
            let length = text.length();
            prop_assert_eq!(
                String::from_utf8_lossy(bytes.get(..length).unwrap()),
                String::from_utf8_lossy(&expected)
            );
        }

        #[test]
        fn eight_digits(number in 0_u64..WORD_RANGE) {
            let text = digits(number).to_le_bytes();
            prop_assert_eq!(String::from_utf8_lossy(&text), format!("{number:08}"));
        }
    }
}
