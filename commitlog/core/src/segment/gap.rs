//! Ranges of a segment that yielded no records.

use super::marker::MARKER_LENGTH;

/// A logical range without records, and the cause. `end` is `None` if the loss extends to the end
/// of the segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    pub start: u64,
    pub end: Option<u64>,
    pub cause: String,
}

impl Gap {
    /// The range of a damaged marker.
    pub(super) fn of_marker(start: u64, cause: &str) -> Self {
        Self::new(start, Some(start + MARKER_LENGTH), cause)
    }

    pub(super) fn new(start: u64, end: Option<u64>, cause: &str) -> Self {
        Self {
            start,
            end,
            cause: cause.to_owned(),
        }
    }
}
