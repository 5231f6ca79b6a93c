//! Caches the text of a write time, because an event repeats it.

use crate::digits::digits;

const HIGH: u64 = 100_000_000;
/// Times of sixteen digits whose nanoseconds fit 64 bits: from 2001 to 2262.
const USUAL_US: std::ops::Range<u64> = 1_000_000_000_000_000..9_223_372_036_854_775;

/// A time and its digits.
#[derive(Debug, Clone, Copy)]
pub struct TimeText {
    us: i64,
    words: Option<[u64; 2]>,
}

impl TimeText {
    /// Formats a time in microseconds.
    #[inline]
    pub fn from_us(us: i64) -> Self {
        let magnitude = us.cast_unsigned();
        let words = USUAL_US
            .contains(&magnitude)
            .then(|| [digits(magnitude / HIGH), digits(magnitude % HIGH)]);
        Self { us, words }
    }

    /// Returns the time in microseconds.
    #[inline]
    pub fn us(&self) -> i64 {
        self.us
    }

    /// Returns the sixteen digits, eight per word with the first in the lowest byte; `None` for a
    /// time outside `USUAL_US`.
    #[inline]
    pub fn words(&self) -> Option<[u64; 2]> {
        self.words
    }
}
