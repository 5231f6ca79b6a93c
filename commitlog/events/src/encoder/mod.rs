//! Encodes keys and values as JSON, Avro, Protobuf or text (`docs/reference/event-format.md`).
//!
//! ```text
//! walk        which members an event contains, in which order      (shared by all encodings)
//! visitor     EventVisitor: one method for each member
//! json, avro, protobuf   the members in one encoding
//! key_value   both parts of a message, if one is not plain JSON
//! ```
//!
//! Connect's JSON is the JSON after a schema. Connect's text is converted from the JSON.

mod avro;
mod json;
mod key_value;
mod protobuf;
mod visitor;
mod walk;

pub(crate) use json::JsonEncoder;
pub(crate) use key_value::{KeyValueEncoder, LastEnvelope};
pub(crate) use walk::Walk;

use crate::protobuf::MessageBuffer;
use crate::row_cells::CellPlaces;
use crate::value::ValueError;

/// `source.pos` of an event that was not read from a segment.
pub const NO_POSITION: i64 = -1;

/// Scratch space, reused from event to event.
#[derive(Default)]
pub(crate) struct Scratch {
    /// A byte-comparable clustering key or element.
    comparable: Vec<u8>,
    /// A value that is not written directly into the event.
    value: Vec<u8>,
    cells: CellPlaces,
    /// The error of an element in `cells` that does not fit its type.
    element_error: Option<ValueError>,
    /// Byte ranges of the key-column values in the message key.
    key_values: Vec<(usize, usize)>,
    envelope: LastEnvelope,
    /// A Protobuf message.
    message: MessageBuffer,
}
