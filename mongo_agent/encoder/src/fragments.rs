//! Joins events that are too large for one reply. `$changeStreamSplitLargeEvent` splits them into
//! fragments with some top-level members and `splitEvent: {fragment, of}`, numbered from 1.

use thiserror::Error;

use crate::bson::{Document, Element, Timestamp, Value};
use crate::bson_writer::{close, open, write_element};
use crate::element::integer;
use crate::error::{BsonError, Result};
use crate::resume_token;

/// Why fragments cannot be joined.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FragmentError {
    #[error("fragment {number} of a split event cannot be decoded: {error}")]
    Bytes { number: usize, error: BsonError },
    #[error("fragment {number} of a split event has no splitEvent")]
    Whole { number: usize },
    #[error("a split event has no fragments")]
    Nothing,
    #[error("found fragment {fragment} of {total}; expected fragment {expected} of {count}")]
    Order {
        fragment: u32,
        total: u32,
        expected: usize,
        count: usize,
    },
    #[error("a different event follows fragment {number} of {total}")]
    Unfinished { number: usize, total: u32 },
    #[error("fragment 1 and fragment {number} belong to different events: their tokens differ")]
    Event { number: usize },
    #[error("two fragments of a split event contain {member:?}")]
    Twice { member: String },
    #[error("a split event of {bytes} bytes is larger than BSON allows")]
    Size { bytes: usize },
}

/// The position of a fragment: `fragment` of `total`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Split {
    pub fragment: u32,
    pub total: u32,
}

/// Returns `None` for whole events and for invalid bytes.
pub fn split_of(event: &[u8]) -> Option<Split> {
    let mut elements = Document::parse(event).ok()?.elements();
    while let Some(element) = elements.read().ok()? {
        if element.name == b"splitEvent" {
            return read_split(&element).ok()?;
        }
    }
    None
}

/// Joins all fragments of an event. The result contains the last fragment's token, so that a stream
/// resumes after the whole event.
pub fn join_fragments(fragments: &[&[u8]]) -> Result<Vec<u8>, FragmentError> {
    let mut parts = Vec::with_capacity(fragments.len());
    for (index, bytes) in fragments.iter().enumerate() {
        let number = index.saturating_add(1);
        let part = Part::read(bytes).map_err(|error| FragmentError::Bytes { number, error })?;
        let split = part.split.ok_or(FragmentError::Whole { number })?;
        let is_next = usize::try_from(split.fragment) == Ok(number)
            && usize::try_from(split.total) == Ok(fragments.len());
        if !is_next {
            return Err(FragmentError::Order {
                fragment: split.fragment,
                total: split.total,
                expected: number,
                count: fragments.len(),
            });
        }
        parts.push(part);
    }
    let (Some(first), Some(last)) = (parts.first(), parts.last()) else {
        return Err(FragmentError::Nothing);
    };
    if let Some(other) = parts.iter().position(|part| part.place != first.place) {
        let number = other.saturating_add(1);
        return Err(FragmentError::Event { number });
    }
    let mut joined = Vec::with_capacity(fragments.iter().map(|part| part.len()).sum());
    let start = open(&mut joined);
    if let Some(token) = &last.token {
        write_element(&mut joined, token);
    }
    let mut written: Vec<&[u8]> = Vec::new();
    for member in parts.iter().flat_map(|part| &part.members) {
        if written.contains(&member.name) {
            let member = String::from_utf8_lossy(member.name).into_owned();
            return Err(FragmentError::Twice { member });
        }
        written.push(member.name);
        write_element(&mut joined, member);
    }
    let bytes = joined.len();
    close(&mut joined, start).map_err(|_| FragmentError::Size { bytes })?;
    Ok(joined)
}

/// A whole event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WholeEvent {
    /// The input event with this index.
    Given(usize),
    Joined(Vec<u8>),
}

/// Joins fragments of events across the replies of a cursor. It keeps the fragments of an
/// incomplete event.
#[derive(Debug, Default)]
pub struct FragmentJoiner {
    skips_split_events: bool,
    fragments: Vec<Vec<u8>>,
}

impl FragmentJoiner {
    /// `skips_split_events` omits events that were split.
    pub fn new(skips_split_events: bool) -> Self {
        Self {
            skips_split_events,
            fragments: Vec::new(),
        }
    }

    /// Whether no event waits for further fragments.
    pub fn is_complete(&self) -> bool {
        self.fragments.is_empty()
    }

    /// Returns whole events and the number of skipped split events.
    pub fn join<'b>(
        &mut self,
        events: impl Iterator<Item = &'b [u8]>,
    ) -> Result<(Vec<WholeEvent>, usize), FragmentError> {
        let mut whole = Vec::new();
        let mut skipped = 0_usize;
        for (index, event) in events.enumerate() {
            let Some(split) = split_of(event) else {
                self.require_complete()?;
                whole.push(WholeEvent::Given(index));
                continue;
            };
            self.require_next(split)?;
            self.fragments.push(event.to_vec());
            if split.fragment < split.total {
                continue;
            }
            let fragments = std::mem::take(&mut self.fragments);
            if self.skips_split_events {
                skipped = skipped.saturating_add(1);
            } else {
                let fragments: Vec<_> = fragments.iter().map(Vec::as_slice).collect();
                whole.push(WholeEvent::Joined(join_fragments(&fragments)?));
            }
        }
        Ok((whole, skipped))
    }

    fn require_complete(&self) -> Result<(), FragmentError> {
        match self.fragments.last().and_then(|last| split_of(last)) {
            None => Ok(()),
            Some(Split { total, .. }) => Err(FragmentError::Unfinished {
                number: self.fragments.len(),
                total,
            }),
        }
    }

    /// Checks each fragment on arrival, because fragments that never complete would accumulate.
    fn require_next(&self, split: Split) -> Result<(), FragmentError> {
        let expected = self.fragments.len().saturating_add(1);
        if usize::try_from(split.fragment) == Ok(expected) {
            return Ok(());
        }
        Err(FragmentError::Order {
            fragment: split.fragment,
            total: split.total,
            expected,
            count: usize::try_from(split.total).unwrap_or(usize::MAX),
        })
    }
}

struct Part<'b> {
    token: Option<Element<'b>>,
    /// Cluster time and index in the transaction, equal in all fragments of an event.
    place: (Option<Timestamp>, Option<u64>),
    split: Option<Split>,
    /// All other members.
    members: Vec<Element<'b>>,
}

impl<'b> Part<'b> {
    fn read(bytes: &'b [u8]) -> Result<Self> {
        let mut part = Self {
            token: None,
            place: (None, None),
            split: None,
            members: Vec::new(),
        };
        let mut elements = Document::parse(bytes)?.elements();
        while let Some(element) = elements.read()? {
            match element.name {
                b"_id" => {
                    if let Value::Document(token) = element.value
                        && let Some(hex) = resume_token::hex_of(token)?
                    {
                        part.place = (resume_token::time_of(hex), resume_token::index_of(hex));
                    }
                    part.token = Some(element);
                }
                b"splitEvent" => part.split = read_split(&element)?,
                _ => part.members.push(element),
            }
        }
        Ok(part)
    }
}

/// Returns `None` if a number is missing.
fn read_split(element: &Element<'_>) -> Result<Option<Split>> {
    let Value::Document(split) = element.value else {
        return Ok(None);
    };
    let mut fragment = None;
    let mut total = None;
    let mut members = split.elements();
    while let Some(member) = members.read()? {
        match member.name {
            b"fragment" => fragment = u32::try_from(integer(&member, "splitEvent.fragment")?).ok(),
            b"of" => total = u32::try_from(integer(&member, "splitEvent.of")?).ok(),
            _ => {}
        }
    }
    Ok(fragment
        .zip(total)
        .map(|(fragment, total)| Split { fragment, total }))
}
