//! Writes Protobuf's binary form. The length of a nested message is filled in when it ends.

/// How the bytes after a tag are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WireType {
    Varint = 0,
    Fixed64 = 1,
    /// A length, then this number of bytes.
    Length = 2,
    Fixed32 = 5,
}

/// Encodes a tag.
pub(crate) fn tag(number: u32, wire_type: WireType) -> Vec<u8> {
    let mut buffer = MessageBuffer::default();
    buffer.tag(number, wire_type);
    buffer.bytes
}

/// A message under construction; reused from event to event.
#[derive(Debug, Default)]
pub(crate) struct MessageBuffer {
    bytes: Vec<u8>,
    /// The offsets of the lengths of open nested messages.
    open: Vec<usize>,
}

impl MessageBuffer {
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.open.clear();
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns whether a nested message is open.
    #[inline]
    pub fn is_nested(&self) -> bool {
        !self.open.is_empty()
    }

    #[inline]
    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    #[inline]
    pub fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    #[inline]
    pub fn tag(&mut self, number: u32, wire_type: WireType) {
        self.varint(u64::from(number) << 3 | wire_type as u64);
    }

    /// Writes a field of `int32`, `int64` or `bool`.
    #[inline]
    pub fn integer(&mut self, number: u32, value: i64) {
        self.tag(number, WireType::Varint);
        self.varint(value.cast_unsigned());
    }

    /// Writes a field of `string` or `bytes`.
    #[inline]
    pub fn text(&mut self, number: u32, value: &[u8]) {
        self.tag(number, WireType::Length);
        self.varint(value.len() as u64);
        self.raw(value);
    }

    #[inline]
    pub fn fixed64(&mut self, number: u32, value: [u8; 8]) {
        self.tag(number, WireType::Fixed64);
        self.raw(&value);
    }

    #[inline]
    pub fn fixed32(&mut self, number: u32, value: [u8; 4]) {
        self.tag(number, WireType::Fixed32);
        self.raw(&value);
    }

    /// Begins a nested message.
    #[inline]
    pub fn open(&mut self, number: u32) {
        self.tag(number, WireType::Length);
        self.open_length();
    }

    /// Begins a nested message with a prepared tag.
    #[inline]
    pub fn open_behind(&mut self, tag: &[u8]) {
        self.raw(tag);
        self.open_length();
    }

    #[inline]
    fn open_length(&mut self) {
        self.open.push(self.bytes.len());
        self.bytes.push(0);
    }

    /// Ends the innermost open message.
    #[inline]
    pub fn close(&mut self) {
        let Some(place) = self.open.pop() else {
            return;
        };
        let length = self.bytes.len().saturating_sub(place + 1);
        match (u8::try_from(length), self.bytes.get_mut(place)) {
            // Most columns and cells are short.
            (Ok(length @ ..0x80), Some(slot)) => *slot = length,
            _ => self.insert_length(place, length),
        }
    }

    /// Inserts a length of several bytes before the bytes already written.
    #[cold]
    fn insert_length(&mut self, place: usize, length: usize) {
        let mut head = MessageBuffer::default();
        head.varint(length as u64);
        let more = head.bytes.len().saturating_sub(1);
        let end = self.bytes.len();
        self.bytes.resize(end + more, 0);
        self.bytes
            .copy_within(place + 1..end, place.saturating_add(head.bytes.len()));
        if let Some(slot) = self.bytes.get_mut(place..place + head.bytes.len()) {
            slot.copy_from_slice(&head.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_texts_are_encoded() {
        // Examples from Protobuf's own description of the encoding.
        let mut buffer = MessageBuffer::default();
        buffer.integer(1, 150);
        assert_eq!(buffer.bytes(), [0x08, 0x96, 0x01]);
        buffer.clear();
        buffer.text(2, b"testing");
        assert_eq!(buffer.bytes(), b"\x12\x07testing");
        buffer.clear();
        buffer.integer(1, -2);
        let expected = [8, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
        assert_eq!(buffer.bytes(), expected);
        assert_eq!(tag(2048, WireType::Length), [0x82, 0x80, 0x01]);
    }

    #[test]
    fn nested_messages_of_every_length_are_encoded() {
        for length in [0_usize, 1, 125, 126, 127, 128, 300, 16_381, 16_384, 70_000] {
            let inner = vec![7; length];
            let mut buffer = MessageBuffer::default();
            buffer.open(1);
            buffer.open(2);
            buffer.raw(&inner);
            buffer.close();
            buffer.integer(3, 1);
            assert!(buffer.is_nested());
            buffer.close();
            let mut nested = MessageBuffer::default();
            nested.text(2, &inner);
            nested.integer(3, 1);
            let mut whole = MessageBuffer::default();
            whole.text(1, nested.bytes());
            assert_eq!(buffer.bytes(), whole.bytes(), "{length}");
        }
    }
}
