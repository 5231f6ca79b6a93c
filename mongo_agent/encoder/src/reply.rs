//! Parses a server's reply to `aggregate` or `getMore`: its events, cursor and time.

use std::ops::Range;

use crate::bson::{Document, Element, Timestamp, Value};
use crate::element::{integer, text};
use crate::error::{Problem, Result};

/// A cursor reply. Ranges refer to its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// One range per event. The content of events is not checked.
    pub events: Vec<Range<usize>>,
    /// Zero if the server closed the cursor.
    pub cursor_id: i64,
    /// `database.collection` for `getMore`.
    pub namespace: String,
    /// `postBatchResumeToken`: the token after all events.
    pub token: Option<Range<usize>>,
    /// The cluster time of the reply (`operationTime`).
    pub operation_time: Option<Timestamp>,
}

/// Parses `{cursor: {firstBatch or nextBatch: […], id, ns, …}, operationTime, …}`.
pub fn parse_reply(bytes: &[u8]) -> Result<Reply> {
    let mut reply = None;
    let mut operation_time = None;
    let mut members = Document::parse(bytes)?.elements();
    while let Some(member) = members.read()? {
        match (member.name, member.value) {
            (b"cursor", Value::Document(cursor)) => reply = Some(parse_cursor(cursor)?),
            (b"operationTime", Value::Timestamp(time)) => operation_time = Some(time),
            _ => {}
        }
    }
    match reply {
        Some(reply) => Ok(Reply {
            operation_time,
            ..reply
        }),
        None => Err(Problem::Batch.at_offset(0)),
    }
}

fn parse_cursor(cursor: Document<'_>) -> Result<Reply> {
    let (mut events, mut cursor_id, mut namespace, mut token) = (None, None, None, None);
    let mut members = cursor.elements();
    while let Some(member) = members.read()? {
        match (member.name, member.value) {
            (b"firstBatch" | b"nextBatch", Value::Array(batch)) => {
                events = Some(parse_batch(batch)?);
            }
            (b"id", _) => cursor_id = Some(integer(&member, "cursor.id")?),
            (b"ns", _) => namespace = Some(text(&member, "cursor.ns")?),
            (b"postBatchResumeToken", Value::Document(_)) => token = Some(range_of(&member)),
            _ => {}
        }
    }
    let lacks = |problem: Problem| problem.at_offset(cursor.offset());
    let namespace = namespace.ok_or_else(|| lacks(Problem::Cursor { member: "ns" }))?;
    Ok(Reply {
        events: events.ok_or_else(|| lacks(Problem::Batch))?,
        cursor_id: cursor_id.ok_or_else(|| lacks(Problem::Cursor { member: "id" }))?,
        namespace: String::from_utf8_lossy(namespace).into_owned(),
        token,
        operation_time: None,
    })
}

fn parse_batch(batch: Document<'_>) -> Result<Vec<Range<usize>>> {
    let mut events = Vec::new();
    let mut elements = batch.elements();
    while let Some(element) = elements.read()? {
        let Value::Document(_) = element.value else {
            return Err(Problem::Batch.at_offset(element.offset));
        };
        events.push(range_of(&element));
    }
    Ok(events)
}

fn range_of(element: &Element<'_>) -> Range<usize> {
    element.offset..element.offset.saturating_add(element.raw.len())
}
