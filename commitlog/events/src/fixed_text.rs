//! Text that is prepared once and written into every event.

/// Longest text that is copied whole with its padding: without a call, as its length is known.
pub const PADDED: usize = 32;

/// A text and its padding.
#[derive(Clone)]
pub struct FixedText {
    padded: [u8; PADDED],
    text: Box<[u8]>,
}

impl FixedText {
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// The text with what fills it up, if it is short, and its length.
    #[inline]
    pub fn padded(&self) -> Option<(&[u8; PADDED], usize)> {
        let length = self.text.len();
        (length <= PADDED).then_some((&self.padded, length))
    }
}

impl From<Vec<u8>> for FixedText {
    fn from(text: Vec<u8>) -> Self {
        let mut padded = [0; PADDED];
        for (to, from) in padded.iter_mut().zip(&text) {
            *to = *from;
        }
        Self {
            padded,
            text: text.into(),
        }
    }
}
