//! The transformations of Debezium's MongoDB connector, applied when a message is written.
//!
//! Kafka Connect runs them after the connector, but the encoder writes events in their final form.

mod document_json;
mod envelope_member;
mod event_router;
mod extract_document;
mod fields;
mod fields_union;
mod indented_json;
mod inferred_schema;
mod outbox_converter;
mod outbox_message;
mod removed_fields;
mod shape_key;
mod text_form;
mod typed_message;
mod typed_writer;

pub use document_json::ArrayEncoding;
pub use envelope_member::{MemberError, NamedMember};
pub use event_router::{AdditionalField, EventRouter, Placement};
pub(crate) use extract_document::Outcome;
pub use extract_document::{DeleteHandling, ExtractDocument};
pub use outbox_converter::OutboxConverter;

/// A transformation of document events.
#[derive(Debug, Clone)]
pub enum Transform {
    /// `ExtractNewDocumentState`.
    ExtractDocument(ExtractDocument),
    /// `MongoEventRouter`.
    EventRouter(EventRouter),
}
