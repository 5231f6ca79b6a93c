//! Where raw events stand in the stream, without reading more of them than their outermost members.

use crate::bson::{Document, Timestamp, Value};
use crate::token;

/// The cluster times of the first and the last event of a list that is in the order of the stream. None
/// where no event has a time.
pub fn event_times<'b>(
    events: impl DoubleEndedIterator<Item = &'b [u8]> + Clone,
) -> Option<(Timestamp, Timestamp)> {
    let first = events.clone().find_map(cluster_time)?;
    let last = events.rev().find_map(cluster_time)?;
    Some((first, last))
}

/// The cluster time of an event, else that of its token: of the parts of a split event one has a
/// `clusterTime`, and all have a token. None for bytes that are no event.
pub fn cluster_time(event: &[u8]) -> Option<Timestamp> {
    let mut elements = Document::parse(event).ok()?.elements();
    let mut of_token = None;
    while let Some(element) = elements.read().ok()? {
        match (element.name, element.value) {
            (b"clusterTime", Value::Timestamp(time)) => return Some(time),
            (b"_id", Value::Document(token)) => {
                of_token = token::hex_of(token).ok()?.and_then(token::time_of);
            }
            _ => {}
        }
    }
    of_token
}
