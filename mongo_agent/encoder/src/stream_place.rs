//! Tokens and cluster times of raw events, read from their outermost members.

use thiserror::Error;

use crate::bson::{Document, Timestamp, Value};
use crate::resume_token;

/// Why tokens cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the resume token {token:?} does not begin with a cluster time")]
pub struct TokenError {
    /// Its text, empty where it has none.
    token: String,
}

/// The resume token of an event as BSON. None for bytes that are no event.
pub fn token_of(event: &[u8]) -> Option<Document<'_>> {
    match Document::parse(event).ok()?.find(b"_id").ok()??.value {
        Value::Document(token) => Some(token),
        _ => None,
    }
}

/// The cluster time of an event, else that of its token: of the fragments of a split event one has a
/// `clusterTime`, and all have a token. None for bytes that are no event.
pub fn cluster_time(event: &[u8]) -> Option<Timestamp> {
    let mut elements = Document::parse(event).ok()?.elements();
    let mut token_time = None;
    while let Some(element) = elements.read().ok()? {
        match (element.name, element.value) {
            (b"clusterTime", Value::Timestamp(time)) => return Some(time),
            (b"_id", Value::Document(token)) => {
                token_time = resume_token::hex_of(token)
                    .ok()?
                    .and_then(resume_token::time_of);
            }
            _ => {}
        }
    }
    token_time
}

/// A place in a stream, to which events of the stream are compared.
pub struct StreamPlace(Vec<u8>);

impl StreamPlace {
    /// The place of a token, given by its `_data`.
    pub fn from_hex(hex: &[u8]) -> Result<Self, TokenError> {
        resume_token::sort_key_of(hex)
            .map(Self)
            .ok_or_else(|| TokenError {
                token: String::from_utf8_lossy(hex).into_owned(),
            })
    }

    /// Whether an event is later in the stream than this place.
    pub fn is_before(&self, event: &[u8]) -> Result<bool, TokenError> {
        let hex = token_of(event).and_then(|token| resume_token::hex_of(token).ok()?);
        let event = Self::from_hex(hex.unwrap_or_default())?;
        Ok(self.0 < event.0)
    }
}
