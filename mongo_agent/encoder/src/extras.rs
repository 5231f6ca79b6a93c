//! Headers, time and partition that a transformation gives to some messages.

/// A header beside those of every message.
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
    /// Kafka's time of the message; `None`: that of its publication.
    pub timestamp_ms: Option<i64>,
    /// `None`: by the key.
    pub partition: Option<i32>,
}
