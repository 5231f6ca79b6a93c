//! Events as bytes: keys and values as JSON, Avro, Protobuf, Connect's JSON or text (`docs/reference/event-format.md`).
//!
//! ```text
//! walk        which members an event has, and their order          (one for all encodings)
//! visitor     EventVisitor: one method for each member
//! json, avro, protobuf   the members in one encoding
//! key_value   both parts of a message where one is not plain JSON
//! ```
//!
//! Connect's JSON is the JSON after a schema, and Connect's text is made of the JSON.

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

/// `source.pos` of an event that comes from no segment.
pub const NO_POSITION: i64 = -1;

/// Scratch space, reused from event to event.
#[derive(Default)]
pub(crate) struct Scratch {
    /// A byte-comparable clustering or element.
    comparable: Vec<u8>,
    /// A value that is not written into the event at once.
    value: Vec<u8>,
    cells: CellPlaces,
    /// An element in `cells` that does not fit its type.
    element_error: Option<ValueError>,
    /// Ranges of the values of the key columns in the message key.
    key_values: Vec<(usize, usize)>,
    envelope: LastEnvelope,
    /// A message in Protobuf.
    message: MessageBuffer,
}
