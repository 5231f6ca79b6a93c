//! Reads resume tokens and cluster times from the top-level members of raw events.

use thiserror::Error;

use crate::bson::{Document, Timestamp, Value};
use crate::resume_token;

/// Why tokens cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the resume token {token:?} does not begin with a cluster time")]
pub struct TokenError {
    /// The text of the token; empty if it is missing.
    token: String,
}

/// Returns the resume token of an event as BSON, or `None` for invalid bytes.
pub fn token_of(event: &[u8]) -> Option<Document<'_>> {
    match Document::parse(event).ok()?.find(b"_id").ok()??.value {
        Value::Document(token) => Some(token),
        _ => None,
    }
}

/// Returns the cluster time of an event, or else the time in its token: only one fragment of a
/// split event contains `clusterTime`, but all contain a token. `None` for invalid bytes.
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

/// A position in a stream, with which events of the stream are compared.
pub struct StreamPlace(Vec<u8>);

impl StreamPlace {
    /// Returns the position of a token, given its `_data`.
    pub fn from_hex(hex: &[u8]) -> Result<Self, TokenError> {
        resume_token::sort_key_of(hex)
            .map(Self)
            .ok_or_else(|| TokenError {
                token: String::from_utf8_lossy(hex).into_owned(),
            })
    }

    /// Whether an event is later in the stream than this position.
    pub fn is_before(&self, event: &[u8]) -> Result<bool, TokenError> {
        let hex = token_of(event).and_then(|token| resume_token::hex_of(token).ok()?);
        let event = Self::from_hex(hex.unwrap_or_default())?;
        Ok(self.0 < event.0)
    }
}
