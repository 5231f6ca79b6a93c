//! Why bytes give no event.

use thiserror::Error;

/// What is wrong and where: an offset into the bytes that were given.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{problem} at byte {offset}")]
pub struct BsonError {
    pub offset: usize,
    pub problem: Problem,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Problem {
    #[error("{needed} bytes are needed and {left} are left")]
    TooShort { needed: usize, left: usize },
    #[error("a document says it has {length} bytes, which does not fit")]
    DocumentLength { length: i32 },
    #[error("a document does not end with a zero")]
    DocumentEnd,
    #[error("a text says it has {length} bytes, which does not fit")]
    TextLength { length: i32 },
    #[error("a text does not end with a zero")]
    TextEnd,
    #[error("a name has no end")]
    NameEnd,
    #[error("a binary says it has {length} bytes, which does not fit")]
    BinaryLength { length: i32 },
    #[error("code with a scope says it has {length} bytes, which does not fit")]
    CodeLength { length: i32 },
    #[error("a boolean is {value}")]
    Boolean { value: u8 },
    #[error("{tag:#04x} is no type of BSON")]
    Type { tag: u8 },
    #[error("documents lie more than {limit} deep in each other")]
    Depth { limit: usize },
    #[error("{extra} bytes follow the document")]
    Extra { extra: usize },
    #[error("the event has no {member}")]
    Missing { member: &'static str },
    #[error("{member} is of another type than events have")]
    Member { member: &'static str },
    #[error("the field {field:?} cannot be renamed: there is a {name:?} already")]
    NameTaken { field: String, name: String },
    #[error("a document would have {length} bytes, which is more than documents can have")]
    Size { length: usize },
    #[error("the reply has no batch of documents")]
    Batch,
    #[error("the cursor of the reply has no {member}")]
    Cursor { member: &'static str },
    #[error("a part of a split event cannot be published without the others")]
    Fragment,
    #[error("the schema registry refuses the schema of its {side} in the topic {topic}")]
    Unregistered { side: &'static str, topic: String },
}

impl Problem {
    #[cold]
    #[inline(never)]
    pub(crate) fn at(self, offset: usize) -> BsonError {
        BsonError {
            offset,
            problem: self,
        }
    }
}
