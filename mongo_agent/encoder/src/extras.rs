//! What only some messages have: headers of transformations.

/// A header beside those of every message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    pub name: Box<str>,
    pub value: Box<[u8]>,
}

/// The extras of one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Extras {
    /// Index of the message.
    pub message: usize,
    pub headers: Vec<Header>,
}
