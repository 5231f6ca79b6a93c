//! Bytes that are prepared once and written into every event.

/// A text and its padding. Up to `N` bytes it is copied whole with its padding: without a call, as
/// its length is known.
#[derive(Clone)]
pub struct StaticFragment<const N: usize = 32> {
    padded: [u8; N],
    text: Box<[u8]>,
}

impl<const N: usize> StaticFragment<N> {
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// The text with what fills it up, if it is short, and its length.
    #[inline]
    pub fn padded(&self) -> Option<(&[u8; N], usize)> {
        let length = self.text.len();
        (length <= N).then_some((&self.padded, length))
    }
}

impl<const N: usize> From<Vec<u8>> for StaticFragment<N> {
    fn from(text: Vec<u8>) -> Self {
        let mut padded = [0; N];
        for (slot, byte) in padded.iter_mut().zip(&text) {
            *slot = *byte;
        }
        Self {
            padded,
            text: text.into(),
        }
    }
}
