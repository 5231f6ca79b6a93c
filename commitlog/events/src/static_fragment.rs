//! Bytes that are prepared once and written into every event.

/// A text and its padded copy. A text of up to `N` bytes is copied with its padding, which needs no
/// call because the length is constant.
#[derive(Clone)]
pub struct StaticFragment<const N: usize = 32> {
    padded: [u8; N],
    text: Box<[u8]>,
}

impl<const N: usize> StaticFragment<N> {
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Returns the padded text and the length of the text, if it has at most `N` bytes.
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
