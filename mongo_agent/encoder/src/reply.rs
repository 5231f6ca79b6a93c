//! A server's reply to `aggregate` or `getMore`: where its events lie, and what it tells besides.

use std::ops::Range;

use crate::bson::{Document, Value};
use crate::error::{BsonError, Problem};
use crate::writing::{close, open, write_element};

/// A reply of a cursor, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Of each event, in the bytes of the reply; what is in them is not looked at.
    pub events: Vec<Range<usize>>,
    /// The cursor as a document, without its events.
    pub cursor: Vec<u8>,
}

/// Reads `{cursor: {firstBatch or nextBatch: […], …}, …}`.
pub fn parse_reply(bytes: &[u8]) -> Result<Reply, BsonError> {
    let mut members = Document::parse(bytes)?.elements();
    while let Some(member) = members.read()? {
        if let (b"cursor", Value::Document(cursor)) = (member.name, member.value) {
            return parse_cursor(cursor);
        }
    }
    Err(Problem::Batch.at(0))
}

fn parse_cursor(cursor: Document<'_>) -> Result<Reply, BsonError> {
    let mut events = None;
    let mut rest = Vec::new();
    let start = open(&mut rest);
    let mut members = cursor.elements();
    while let Some(member) = members.read()? {
        match (member.name, member.value) {
            (b"firstBatch" | b"nextBatch", Value::Array(batch)) => {
                events = Some(parse_batch(batch)?);
            }
            _ => write_element(&mut rest, &member),
        }
    }
    close(&mut rest, start)?;
    match events {
        Some(events) => Ok(Reply {
            events,
            cursor: rest,
        }),
        None => Err(Problem::Batch.at(cursor.offset())),
    }
}

fn parse_batch(batch: Document<'_>) -> Result<Vec<Range<usize>>, BsonError> {
    let mut events = Vec::new();
    let mut elements = batch.elements();
    while let Some(element) = elements.read()? {
        let Value::Document(event) = element.value else {
            return Err(Problem::Batch.at(element.offset));
        };
        let stop = event.offset().saturating_add(event.bytes().len());
        events.push(event.offset()..stop);
    }
    Ok(events)
}
