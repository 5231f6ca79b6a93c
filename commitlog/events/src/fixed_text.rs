//! Text that is prepared once and written into every event.

/// Longest text that is copied whole with its padding: without a call, as its length is known.
const PADDED: usize = 32;

/// A text and its padding.
#[derive(Clone)]
pub struct FixedText {
    padded: [u8; PADDED],
    text: Box<[u8]>,
}

impl FixedText {
    /// Appends it.
    #[allow(
        clippy::inline_always,
        reason = "a call would cost what the padding saves"
    )]
    #[inline(always)]
    pub fn write(&self, out: &mut Vec<u8>) {
        if self.text.len() <= PADDED {
            let end = out.len() + self.text.len();
            out.extend_from_slice(&self.padded);
            out.truncate(end);
        } else {
            out.extend_from_slice(&self.text);
        }
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn appends_the_text(before: Vec<u8>, text in proptest::collection::vec(any::<u8>(), 0..70)) {
            let mut out = before.clone();
            FixedText::from(text.clone()).write(&mut out);
            prop_assert_eq!(out, [before, text].concat());
        }
    }
}
