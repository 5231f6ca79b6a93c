//! The only reader of bytes: every access to a payload goes through it and is bounds-checked.

// A function call for each byte would cost more than the read itself.
#![allow(clippy::inline_always)]

use crate::error::{DecodeError, Result};

/// A position in a payload; reading moves it forward.
#[derive(Debug, Clone, Copy)]
pub struct Cursor<'p> {
    rest: &'p [u8],
}

impl<'p> Cursor<'p> {
    pub fn new(bytes: &'p [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Returns the unread bytes.
    pub fn rest(&self) -> &'p [u8] {
        self.rest
    }

    #[inline(always)]
    pub fn u8(&mut self) -> Result<u8> {
        match self.rest.split_first() {
            Some((&byte, rest)) => {
                self.rest = rest;
                Ok(byte)
            }
            None => truncated(self.rest.len(), 1),
        }
    }

    #[inline(always)]
    fn array<const N: usize>(&mut self) -> Result<&'p [u8; N]> {
        match self.rest.split_first_chunk::<N>() {
            Some((array, rest)) => {
                self.rest = rest;
                Ok(array)
            }
            None => truncated(self.rest.len(), N),
        }
    }

    #[inline(always)]
    pub fn u16(&mut self) -> Result<u16> {
        self.array().map(|bytes| u16::from_be_bytes(*bytes))
    }

    #[inline(always)]
    pub fn u32(&mut self) -> Result<u32> {
        self.array().map(|bytes| u32::from_be_bytes(*bytes))
    }

    #[inline(always)]
    pub fn uuid(&mut self) -> Result<&'p [u8; 16]> {
        self.array()
    }

    #[inline(always)]
    pub fn bytes(&mut self, length: usize) -> Result<&'p [u8]> {
        match self.rest.split_at_checked(length) {
            Some((bytes, rest)) => {
                self.rest = rest;
                Ok(bytes)
            }
            None => truncated(self.rest.len(), length),
        }
    }

    /// Skips `prefix` and returns true if it comes next.
    #[inline]
    pub fn skip_prefix(&mut self, prefix: &[u8]) -> bool {
        match self.rest.strip_prefix(prefix) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Reads an unsigned vint (`VIntCoding`, format notes §5.1). The number of leading one bits in
    /// the first byte is the number of further bytes.
    #[inline(always)]
    pub fn uvint(&mut self) -> Result<u64> {
        let first = self.u8()?;
        if first < 0x80 {
            return Ok(u64::from(first));
        }
        let extra = first.leading_ones() as usize;
        let value = long_uvint(self.rest, first, extra)?;
        self.rest = self.rest.get(extra..).unwrap_or_default();
        Ok(value)
    }

    /// Calls `read` with a copy of the cursor, so that the cursor itself stays in registers.
    #[inline(always)]
    pub fn out_of_line<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let mut copy = *self;
        let value = read(&mut copy)?;
        *self = copy;
        Ok(value)
    }

    /// Reads a vint length; it may exceed the number of unread bytes.
    #[inline(always)]
    pub fn length(&mut self) -> Result<usize> {
        let value = self.uvint()?;
        usize::try_from(value).map_err(|_| DecodeError::out_of_range("length", value))
    }

    /// Reads a vint length, then that many bytes.
    #[inline(always)]
    pub fn vbytes(&mut self) -> Result<&'p [u8]> {
        let length = self.length()?;
        self.bytes(length)
    }

    /// Returns the bytes read since `earlier`, an older state of this cursor.
    pub fn bytes_since(&self, earlier: &Self) -> &'p [u8] {
        let length = earlier.rest.len().saturating_sub(self.rest.len());
        earlier.rest.get(..length).unwrap_or_default()
    }
}

#[cold]
#[inline(never)]
fn truncated<T>(left: usize, wanted: usize) -> Result<T> {
    Err(Box::new(DecodeError::Truncated { wanted, left }))
}

/// Decodes a vint of several bytes: `first` and the start of `rest`.
#[inline(never)]
fn long_uvint(rest: &[u8], first: u8, extra: usize) -> Result<u64> {
    // If eight bytes are available, they are read at once, and the excess bits are shifted out.
    let tail = if let Some((word, _)) = rest.split_first_chunk::<8>() {
        u64::from_be_bytes(*word) >> (64 - 8 * extra)
    } else {
        let Some(tail) = rest.get(..extra) else {
            return truncated(rest.len(), extra);
        };
        tail.iter()
            .fold(0, |value, &byte| value << 8 | u64::from(byte))
    };
    if extra >= 7 {
        return Ok(tail);
    }
    let head = u64::from(first) & (0x7f >> extra);
    Ok(head << (8 * extra) | tail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A plain implementation of `VIntCoding#writeUnsignedVInt`.
    fn encode_uvint(value: u64) -> Vec<u8> {
        let bits = 64 - value.leading_zeros().min(63) as usize;
        let extra = if bits > 56 { 8 } else { (bits - 1) / 7 };
        let mut bytes = value.to_be_bytes()[8 - extra..].to_vec();
        let head = if extra >= 7 {
            0
        } else {
            (value >> (8 * extra)) as u8
        };
        let ones = if extra == 8 {
            0xff
        } else {
            !(0xff_u8 >> extra)
        };
        bytes.insert(0, ones | head);
        bytes
    }

    #[test]
    fn reads_the_published_vints() {
        for (value, bytes) in [
            (0, "00"),
            (127, "7f"),
            (128, "8080"),
            (300, "812c"),
            (16_383, "bfff"),
            (16_384, "c04000"),
            (2_097_151, "dfffff"),
            (2_097_152, "e0200000"),
            (1 << 28, "f010000000"),
            (1 << 35, "f80800000000"),
            (1 << 49, "fe02000000000000"),
            ((1 << 56) - 1, "feffffffffffffff"),
            (1 << 56, "ff0100000000000000"),
            (u64::MAX, "ffffffffffffffffff"),
        ] {
            let encoded: Vec<u8> = (0..bytes.len())
                .step_by(2)
                .map(|i| u8::from_str_radix(&bytes[i..i + 2], 16).unwrap())
                .collect();
            assert_eq!(encode_uvint(value), encoded);
            let mut cursor = Cursor::new(&encoded);
            assert_eq!(cursor.uvint(), Ok(value));
            assert!(cursor.rest().is_empty());
        }
    }

    proptest! {
        #[test]
        fn vints_round_trip(value: u64, shift in 0_u32..64) {
            let value = value >> shift;
            let bytes = encode_uvint(value);
            let mut cursor = Cursor::new(&bytes);
            prop_assert_eq!(cursor.uvint(), Ok(value));
            prop_assert!(cursor.rest().is_empty());
            for cut in 0..bytes.len() {
                prop_assert!(Cursor::new(&bytes[..cut]).uvint().is_err());
            }
        }
    }
}
