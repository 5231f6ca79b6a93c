//! Errors that prevent the encoding of BSON.

use thiserror::Error;

/// A problem and its offset in the input.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{problem} at byte {offset}")]
pub struct BsonError {
    pub offset: usize,
    pub problem: Problem,
}

pub type Result<T, E = BsonError> = std::result::Result<T, E>;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Problem {
    #[error("expected {needed} bytes; {left} remain")]
    TooShort { needed: usize, left: usize },
    #[error("a document has the invalid length {length}")]
    DocumentLength { length: i32 },
    #[error("a document does not end with a zero byte")]
    DocumentEnd,
    #[error("a string has the invalid length {length}")]
    TextLength { length: i32 },
    #[error("a string does not end with a zero byte")]
    TextEnd,
    #[error("a name does not end with a zero byte")]
    NameEnd,
    #[error("a binary has the invalid length {length}")]
    BinaryLength { length: i32 },
    #[error("code with a scope has the invalid length {length}")]
    CodeLength { length: i32 },
    #[error("a boolean has the value {value}")]
    Boolean { value: u8 },
    #[error("{tag:#04x} is not a BSON type")]
    Type { tag: u8 },
    #[error("documents are nested more than {limit} levels deep")]
    Depth { limit: usize },
    #[error("{extra} bytes follow the document")]
    Extra { extra: usize },
    #[error("the event has no {member}")]
    Missing { member: &'static str },
    #[error("{member} has an unexpected type")]
    Member { member: &'static str },
    #[error("the field {field:?} cannot be renamed to {name:?}: the document has that field")]
    NameTaken { field: String, name: String },
    #[error("the message would have the field {name:?} twice")]
    NameTwice { name: String },
    #[error(
        "the field {field:?} contains an array with elements of several types, which no schema \
         describes; use `array.encoding=document`"
    )]
    ArrayTypes { field: String },
    #[error("an outbox document was updated, and `collection.op.invalid.behavior` is fatal")]
    OutboxUpdate,
    #[error("the document of the outbox has no field {field:?}")]
    OutboxField { field: String },
    #[error("the field {field:?} of the outbox is not text")]
    OutboxText { field: String },
    #[error("the field {field:?} of the outbox is not binary, which ByteArrayConverter requires")]
    OutboxBinary { field: String },
    #[error("the field {field:?} of the outbox is not a valid timestamp or partition")]
    OutboxNumber { field: String },
    #[error("the outbox document selects the topic {topic:?}, which Kafka does not allow")]
    OutboxTopic { topic: String },
    #[error("the document would have {length} bytes, more than BSON allows")]
    Size { length: usize },
    #[error("the reply has no batch of documents")]
    Batch,
    #[error("the cursor of the reply has no {member}")]
    Cursor { member: &'static str },
    #[error("a fragment of a split event cannot be published without the others")]
    Fragment,
    #[error("the schema registry rejects the schema of the {part} in topic {topic}")]
    Unregistered { part: &'static str, topic: String },
}

impl Problem {
    /// Whether the bytes are not BSON. Other problems concern valid BSON.
    pub fn is_malformed(&self) -> bool {
        matches!(
            self,
            Self::TooShort { .. }
                | Self::DocumentLength { .. }
                | Self::DocumentEnd
                | Self::TextLength { .. }
                | Self::TextEnd
                | Self::NameEnd
                | Self::BinaryLength { .. }
                | Self::CodeLength { .. }
                | Self::Boolean { .. }
                | Self::Type { .. }
                | Self::Extra { .. }
        )
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn at_offset(self, offset: usize) -> BsonError {
        BsonError {
            offset,
            problem: self,
        }
    }
}
