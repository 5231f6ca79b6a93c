//! Adds members of Debezium's envelope as fields or headers of a transformed message (`add.fields`,
//! `add.headers`).

use event_encoding::connect::Schema;
use thiserror::Error;

use crate::change::Change;
use crate::error::Result;
use crate::format::{Encoding, Layout};
use crate::json::{Flavour, write_document};
use crate::layout::ValueContext;
use crate::layout::envelope::{
    write_all_truncated, write_description, write_optional, write_removed, write_updated,
};
use crate::value_writer::{JsonWriter, ValueWriter};

/// Why a member cannot be added.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MemberError {
    #[error("`{text}` is not a member of the envelope; members: {}", known(*.layout))]
    Unknown { text: String, layout: Layout },
    #[error("`{text}` is not of the form `member` or `member:name`")]
    Form { text: String },
    #[error("`{text}` is an object or a list, but headers are text")]
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

/// The objects of the envelopes, starting with the envelope itself, and their members.
const MEMBERS: [(&str, &[&str]); 5] = [
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
            "rs",
        ],
    ),
    (
        "source",
        &[
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
/// Objects and lists.
const NESTED: [&str; 3] = ["updateDescription", "removedFields", "truncatedArrays"];

/// The members of a layout, each with its object.
fn members(layout: Layout) -> impl Iterator<Item = (&'static str, &'static str)> {
    let missing: &[&str] = match layout {
        Layout::Debezium21 => &["ts_us", "ts_ns", "wallTime"],
        _ => &["rs"],
    };
    let all = MEMBERS.iter();
    let all = all.flat_map(|(parent, names)| names.iter().map(|name| (*parent, *name)));
    all.filter(|(_, name)| !missing.contains(name))
}

fn known(layout: Layout) -> String {
    let names = members(layout).map(|(parent, name)| {
        let dot = if parent.is_empty() { "" } else { "." };
        format!("{parent}{dot}{name}")
    });
    names.collect::<Vec<_>>().join(", ")
}

impl NamedMember {
    /// Parses `member` or `member:name` like Debezium: a member without its object belongs to the
    /// envelope, `source` or the transaction, and `prefix` precedes its name.
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
        let mut all = members(layout);
        let (found, default_name) = match path.split_once('.') {
            Some((parent, name)) => (
                all.find(|member| *member == (parent, name)),
                format!("{parent}_{name}"),
            ),
            // The envelope is listed first, so `ts_ms` is its member. Members of an update
            // description require their object.
            None => (
                all.find(|member| member.1 == path && member.0 != "updateDescription"),
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

    /// Parses a header like [`Self::parse`], but rejects objects and lists.
    pub fn parse_header(prefix: &str, text: &str, layout: Layout) -> Result<Self, MemberError> {
        let parsed = Self::parse(prefix, text, layout)?;
        if NESTED.contains(&parsed.member) {
            return Err(MemberError::NotText {
                text: text.to_owned(),
            });
        }
        Ok(parsed)
    }

    /// Whether tombstones contain this member as a header.
    pub(super) fn is_operation(&self) -> bool {
        self.member == "op"
    }

    /// Returns the schema of the value, which may be null.
    pub(super) fn schema(&self, envelope: &Schema) -> Option<Schema> {
        let parent = match self.parent {
            "" => Some(envelope),
            parent => envelope.field(parent),
        };
        let schema = parent?.field(self.member)?.clone();
        Some(schema.optional().without_default())
    }

    /// Writes the value.
    pub(super) fn write<F: ValueWriter>(
        &self,
        writer: &mut F,
        change: &Change<'_>,
        context: &ValueContext<'_>,
    ) -> Result<()> {
        let ns = match self.parent {
            "source" => change.source.ts_ms.saturating_mul(1_000_000),
            _ => context.at_ns,
        };
        let format = context.format;
        let transaction = change.source.transaction.as_ref();
        let order = context.order.map(|(_, order)| order);
        match (self.parent, self.member) {
            (_, "ts_ms") => write_optional(writer, Some(ns.div_euclid(1_000_000))),
            (_, "ts_us") => write_optional(writer, Some(ns.div_euclid(1000))),
            (_, "ts_ns") => write_optional(writer, Some(ns)),
            (_, "op") => write_some(writer, Some(change.operation.letter().as_bytes())),
            (_, "version") => write_some(writer, Some(format.connector_version.as_bytes())),
            (_, "connector") => write_some(writer, Some(b"mongodb")),
            (_, "name") => write_some(writer, Some(format.topic_prefix.as_bytes())),
            // Debezium sets it only for snapshot documents.
            (_, "snapshot") => {
                let marker = change
                    .source
                    .snapshot
                    .map(|marker| marker.name().as_bytes());
                write_some(writer, marker);
            }
            (_, "db") => write_some(writer, Some(change.database)),
            (_, "rs") => write_some(writer, Some(format.replica_set.as_bytes())),
            (_, "collection") => write_some(writer, Some(change.collection)),
            (_, "ord") => {
                let increment = change.source.cluster_time.increment.cast_signed();
                write_optional(writer, Some(i64::from(increment)));
            }
            (_, "lsid") => match transaction {
                Some(transaction) => {
                    let mut lsid = Vec::new();
                    write_document(&mut lsid, transaction.lsid, Flavour::Strict)?;
                    write_some(writer, Some(&lsid));
                }
                None => writer.null(),
            },
            (_, "txnNumber") => write_optional(writer, transaction.map(|open| open.number)),
            (_, "wallTime") => write_optional(writer, change.source.wall_time_ms),
            (_, "id") => write_some(writer, context.order.map(|(id, _)| id.as_bytes())),
            (_, "total_order") => write_count(writer, order.map(|order| order.total_order)),
            (_, "data_collection_order") => {
                write_count(writer, order.map(|order| order.data_collection_order));
            }
            (_, member) => match (&change.update, member) {
                (None, _) => writer.null(),
                (Some(update), "removedFields") => write_removed(writer, update)?,
                (Some(update), "updatedFields") => write_updated(writer, update, format)?,
                (Some(update), "truncatedArrays") => write_all_truncated(writer, update)?,
                (Some(update), _) => write_description(writer, update, format)?,
            },
        }
        Ok(())
    }

    /// Returns the value of a header, or `None` if the member is null.
    pub(super) fn header(
        &self,
        change: &Change<'_>,
        context: &ValueContext<'_>,
    ) -> Result<Option<Box<[u8]>>> {
        let mut json = Vec::new();
        let mut writer = JsonWriter::new(&mut json, Encoding::Json);
        self.write(&mut writer, change, context)?;
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

fn write_some<F: ValueWriter>(writer: &mut F, text: Option<&[u8]>) {
    match text {
        Some(text) => {
            writer.present();
            writer.text(text);
        }
        None => writer.null(),
    }
}

fn write_count<F: ValueWriter>(writer: &mut F, count: Option<u64>) {
    let count = count.map(|count| i64::try_from(count).unwrap_or(i64::MAX));
    write_optional(writer, count);
}
