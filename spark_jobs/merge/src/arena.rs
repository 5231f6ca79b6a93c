//! One buffer for all bytes of a partition, so that cells need no separate allocations.

/// A range of bytes in an [`Arena`].
#[derive(Debug, Clone, Copy, Default)]
pub struct Span {
    start: usize,
    length: usize,
}

/// Bytes that live until the next [`Arena::clear`].
#[derive(Debug, Default)]
pub struct Arena {
    bytes: Vec<u8>,
}

impl Arena {
    pub fn push(&mut self, bytes: &[u8]) -> Span {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        Span {
            start,
            length: bytes.len(),
        }
    }

    /// Appends decoded base64 with padding. Returns `None` for any other text.
    pub fn push_base64(&mut self, text: &str) -> Option<Span> {
        let start = self.bytes.len();
        append_base64(&mut self.bytes, text)?;
        Some(Span {
            start,
            length: self.bytes.len().saturating_sub(start),
        })
    }

    /// Lets `write` append bytes, and returns their span.
    pub fn push_with<E>(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<Span, E> {
        let start = self.bytes.len();
        write(&mut self.bytes)?;
        Ok(Span {
            start,
            length: self.bytes.len().saturating_sub(start),
        })
    }

    #[inline]
    pub fn get(&self, span: Span) -> &[u8] {
        self.bytes
            .get(span.start..span.start.saturating_add(span.length))
            .unwrap_or_default()
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
    }
}

/// Appends decoded base64 with padding. Returns `None` for any other text.
pub fn append_base64(bytes: &mut Vec<u8>, text: &str) -> Option<()> {
    base64_simd::STANDARD.decode_append(text, bytes).ok()
}
