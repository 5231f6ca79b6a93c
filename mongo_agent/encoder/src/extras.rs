//! Headers, timestamps and partitions that a transformation sets for some messages.

/// An additional header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    pub name: Box<str>,
    pub value: Box<[u8]>,
}

/// The extras of one message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Extras {
    /// Index of the message.
    pub message: usize,
    pub headers: Vec<Header>,
    /// The message's Kafka timestamp, or `None` for the time of publication.
    pub timestamp_ms: Option<i64>,
    /// The Kafka partition, or `None` if the key determines it.
    pub partition: Option<i32>,
}
