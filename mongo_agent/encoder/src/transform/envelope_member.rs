//! Members of Debezium's envelope as fields or headers of a transformed message (`add.fields`,
//! `add.headers`).

use thiserror::Error;

use super::document_json::write_text;
use crate::change::Change;
use crate::error::Result;
use crate::format::{Encoding, Layout};
use crate::json::{Flavour, write_document};
use crate::layout::ValueContext;
use crate::layout::envelope::{
    write_all_truncated, write_description, write_removed, write_updated,
};
use crate::value_writer::{JsonWriter, ValueWriter};

/// Why a member cannot be added.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MemberError {
    #[error("`{text}` is not a member of the envelope; known are {}", known(*.layout))]
    Unknown { text: String, layout: Layout },
    #[error("`{text}` is not of the form `member` or `member:name`")]
    Form { text: String },
    #[error("`{text}` is an object, and headers are text")]
    NotText { text: String },
}

/// A member of the envelope, and its name in the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedMember {
    /// The object that contains it; empty for the envelope.
    parent: &'static str,
    member: &'static str,
    pub(super) name: Box<str>,
}

type Members = (&'static str, &'static [&'static str]);

const DEBEZIUM_3: [Members; 4] = [
    ("", &["op", "ts_ms", "ts_us", "ts_ns", "updateDescription"]),
    (
        "source",
        &[
            "version",
            "connector",
            "name",
            "ts_ms",
            "snapshot",
            "db",
            "sequence",
            "ts_us",
            "ts_ns",
            "collection",
            "ord",
            "lsid",
            "txnNumber",
            "wallTime",
        ],
    ),
    (
        "transaction",
        &["id", "total_order", "data_collection_order"],
    ),
    (
        "updateDescription",
        &["removedFields", "updatedFields", "truncatedArrays"],
    ),
];
const DEBEZIUM_21: [Members; 4] = [
    ("", &["op", "ts_ms", "updateDescription"]),
    (
        "source",
        &[
            "version",
            "connector",
            "name",
            "ts_ms",
            "snapshot",
            "db",
            "sequence",
            "rs",
            "collection",
            "ord",
            "lsid",
            "txnNumber",
        ],
    ),
    (
        "transaction",
        &["id", "total_order", "data_collection_order"],
    ),
    (
        "updateDescription",
        &["removedFields", "updatedFields", "truncatedArrays"],
    ),
];
/// Objects and lists.
const NESTED: [&str; 3] = ["updateDescription", "removedFields", "truncatedArrays"];

fn members(layout: Layout) -> &'static [Members; 4] {
    match layout {
        Layout::Debezium21 => &DEBEZIUM_21,
        _ => &DEBEZIUM_3,
    }
}

fn known(layout: Layout) -> String {
    let names = members(layout).iter().flat_map(|(parent, names)| {
        let dot = if parent.is_empty() { "" } else { "." };
        names.iter().map(move |name| format!("{parent}{dot}{name}"))
    });
    names.collect::<Vec<_>>().join(", ")
}

impl NamedMember {
    /// Parses `member` or `member:name` as Debezium does: a member without its object is one of
    /// `source`, of the transaction or of the envelope, and `prefix` precedes its name.
    pub fn parse(prefix: &str, text: &str, layout: Layout) -> Result<Self, MemberError> {
        let unknown = || MemberError::Unknown {
            text: text.to_owned(),
            layout,
        };
        let (path, new_name) = match text.split_once(':') {
            Some((_, name)) if name.is_empty() || name.contains(':') => {
                return Err(MemberError::Form {
                    text: text.to_owned(),
                });
            }
            Some((path, name)) => (path, Some(name)),
            None => (text, None),
        };
        let all = members(layout).iter();
        let mut all =
            all.flat_map(|(parent, names)| names.iter().map(move |name| (*parent, *name)));
        let (found, default_name) = match path.split_once('.') {
            Some((parent, name)) => (
                all.find(|of| *of == (parent, name)),
                format!("{parent}_{name}"),
            ),
            // `ts_ms` is that of the envelope, which is listed first; members of an update have
            // their object.
            None => (
                all.find(|of| of.1 == path && of.0 != "updateDescription"),
                path.to_owned(),
            ),
        };
        let (parent, member) = found.ok_or_else(unknown)?;
        Ok(Self {
            parent,
            member,
            name: format!("{prefix}{}", new_name.unwrap_or(&default_name)).into(),
        })
    }

    /// As [`Self::parse`], for a header.
    pub fn parse_header(prefix: &str, text: &str, layout: Layout) -> Result<Self, MemberError> {
        let parsed = Self::parse(prefix, text, layout)?;
        if NESTED.contains(&parsed.member) {
            return Err(MemberError::NotText {
                text: text.to_owned(),
            });
        }
        Ok(parsed)
    }

    /// Whether tombstones have it as a header.
    pub(super) fn is_operation(&self) -> bool {
        self.member == "op"
    }

    /// Appends the value as JSON.
    pub(super) fn write(
        &self,
        out: &mut Vec<u8>,
        change: &Change<'_>,
        context: &ValueContext<'_>,
    ) -> Result<()> {
        let ns = match self.parent {
            "source" => change.source_ms.saturating_mul(1_000_000),
            _ => context.at_ns,
        };
        let format = context.format;
        let transaction = change.transaction.as_ref();
        match (self.parent, self.member) {
            (_, "ts_ms") => write_number(out, Some(ns.div_euclid(1_000_000))),
            (_, "ts_us") => write_number(out, Some(ns.div_euclid(1000))),
            (_, "ts_ns") => write_number(out, Some(ns)),
            (_, "op") => write_text(out, change.operation.letter().as_bytes()),
            (_, "version") => write_text(out, format.connector_version.as_bytes()),
            (_, "connector") => write_text(out, b"mongodb"),
            (_, "name") => write_text(out, format.topic_prefix.as_bytes()),
            // Debezium sets it for documents of snapshots only.
            (_, "snapshot") => match change.snapshot {
                Some(marker) => write_text(out, marker.name().as_bytes()),
                None => write_null(out),
            },
            (_, "db") => write_text(out, change.database),
            (_, "rs") => write_text(out, format.replica_set.as_bytes()),
            (_, "collection") => write_text(out, change.collection),
            (_, "ord") => {
                let increment = change.cluster_time.increment.cast_signed();
                write_number(out, Some(i64::from(increment)));
            }
            (_, "lsid") => match transaction {
                Some(transaction) => {
                    let mut lsid = Vec::new();
                    write_document(&mut lsid, transaction.lsid, Flavour::Strict)?;
                    write_text(out, &lsid);
                }
                None => write_null(out),
            },
            (_, "txnNumber") => write_number(out, transaction.map(|of| of.number)),
            (_, "wallTime") => write_number(out, change.wall_time_ms),
            (_, "id") => match context.order {
                Some((id, _)) => write_text(out, id.as_bytes()),
                None => write_null(out),
            },
            (_, "total_order") => {
                write_count(out, context.order.map(|(_, order)| order.total_order));
            }
            (_, "data_collection_order") => {
                write_count(
                    out,
                    context.order.map(|(_, order)| order.data_collection_order),
                );
            }
            (_, member) => {
                let mut writer = JsonWriter::new(out, Encoding::Json);
                match (&change.update, member) {
                    (None, _) => writer.null(),
                    (Some(update), "removedFields") => write_removed(&mut writer, update)?,
                    (Some(update), "updatedFields") => write_updated(&mut writer, update, format)?,
                    (Some(update), "truncatedArrays") => write_all_truncated(&mut writer, update)?,
                    (Some(update), _) => write_description(&mut writer, update, format)?,
                }
            }
        }
        Ok(())
    }

    /// The value of a header; null is no header.
    pub(super) fn header(
        &self,
        change: &Change<'_>,
        context: &ValueContext<'_>,
    ) -> Result<Option<Box<[u8]>>> {
        let mut json = Vec::new();
        self.write(&mut json, change, context)?;
        Ok(match json.first() {
            Some(b'"') => {
                let text: Result<String, _> = serde_json::from_slice(&json);
                Some(text.unwrap_or_default().into_bytes().into())
            }
            Some(b'n') => None,
            _ => Some(json.into()),
        })
    }
}

fn write_null(out: &mut Vec<u8>) {
    out.extend_from_slice(b"null");
}

fn write_number(out: &mut Vec<u8>, number: Option<i64>) {
    match number {
        Some(number) => out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes()),
        None => write_null(out),
    }
}

fn write_count(out: &mut Vec<u8>, count: Option<u64>) {
    match count {
        Some(count) => out.extend_from_slice(itoa::Buffer::new().format(count).as_bytes()),
        None => write_null(out),
    }
}
