//! Caches the Avro form of a write time, because an event repeats it.

use crate::event_writer::Out;
use event_encoding::avro::varint;

/// A time in microseconds and its encoding.
#[derive(Debug, Clone, Copy)]
pub struct TimeVarint {
    us: i64,
    bytes: [u8; 10],
    length: usize,
}

impl TimeVarint {
    #[inline]
    pub fn from_us(us: i64) -> Self {
        let (bytes, length) = varint(us);
        Self { us, bytes, length }
    }

    /// Writes a time, and encodes it only if it differs from the previous time.
    #[inline]
    pub fn write<'b>(&mut self, mut text: Out<'b>, us: i64) -> Out<'b> {
        if us != self.us {
            *self = Self::from_us(us);
        }
        text.padded(&self.bytes, self.length);
        text
    }
}
