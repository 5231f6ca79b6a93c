//! Parses change events and snapshot documents into slices of their bytes.

use crate::bson::{Document, Element, Timestamp, Value};
use crate::element::{array, document, integer, text, wrong};
use crate::error::{Problem, Result};
use crate::json::{self, Flavour};
use crate::resume_token;

/// The operation of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Insert,
    Update,
    Replace,
    Delete,
    /// A snapshot document.
    Read,
}

impl Operation {
    /// The server's `operationType`, or `read` for a snapshot document.
    pub fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Update => "update",
            Self::Replace => "replace",
            Self::Delete => "delete",
            Self::Read => "read",
        }
    }

    /// The letter in the member `op`.
    pub fn letter(self) -> &'static str {
        match self {
            Self::Insert => "c",
            Self::Update | Self::Replace => "u",
            Self::Delete => "d",
            Self::Read => "r",
        }
    }
}

/// The multi-document transaction of a change.
#[derive(Debug, Clone, Copy)]
pub struct Transaction<'b> {
    pub lsid: Document<'b>,
    pub number: i64,
}

impl Transaction<'_> {
    /// Appends the transaction id of messages: `lsid` as strict JSON, a colon and the number.
    pub(crate) fn write_id(&self, out: &mut Vec<u8>) -> Result<()> {
        json::write_document(out, self.lsid, Flavour::Strict)?;
        out.push(b':');
        out.extend_from_slice(itoa::Buffer::new().format(self.number).as_bytes());
        Ok(())
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub struct UpdateDescription<'b> {
    pub updated_fields: Option<Document<'b>>,
    pub removed_fields: Option<Document<'b>>,
    pub truncated_arrays: Option<Document<'b>>,
}

/// The marker of a snapshot document (`source.snapshot`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnapshotMarker {
    True,
    First,
    FirstInCollection,
    LastInCollection,
    Last,
    Incremental,
}

impl SnapshotMarker {
    pub const ALL: [Self; 6] = [
        Self::True,
        Self::First,
        Self::FirstInCollection,
        Self::LastInCollection,
        Self::Last,
        Self::Incremental,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::True => "true",
            Self::First => "first",
            Self::FirstInCollection => "first_in_data_collection",
            Self::LastInCollection => "last_in_data_collection",
            Self::Last => "last",
            Self::Incremental => "incremental",
        }
    }
}

/// Metadata that all snapshot documents of a collection share.
#[derive(Debug, Clone, Copy)]
pub struct SnapshotSource<'b> {
    pub database: &'b [u8],
    pub collection: &'b [u8],
    /// The cluster time of the read.
    pub cluster_time: Timestamp,
    /// Time of the read in milliseconds.
    pub read_at_ms: i64,
    pub marker: SnapshotMarker,
}

/// The origin of an event, for the member `source`.
#[derive(Debug, Clone, Copy)]
pub struct Source<'b> {
    /// `None` for `invalidate`.
    pub database: Option<&'b [u8]>,
    /// `None` for a database event and for `invalidate`.
    pub collection: Option<&'b [u8]>,
    pub cluster_time: Timestamp,
    pub wall_time_ms: Option<i64>,
    /// The wall time or else the cluster time; for a snapshot, the time of the read. Milliseconds.
    pub ts_ms: i64,
    pub snapshot: Option<SnapshotMarker>,
    pub transaction: Option<Transaction<'b>>,
    /// Index of the operation in its transaction.
    pub transaction_index: u64,
}

#[derive(Debug, Clone, Copy)]
pub struct Change<'b> {
    pub operation: Operation,
    pub database: &'b [u8],
    pub collection: &'b [u8],
    pub source: Source<'b>,
    /// `_id` of the document.
    pub id: Element<'b>,
    /// The raw document key, which includes the shard key of a sharded collection; for a snapshot
    /// document, its raw `_id`.
    pub key: &'b [u8],
    pub before: Option<Document<'b>>,
    pub after: Option<Document<'b>>,
    pub update: Option<UpdateDescription<'b>>,
    /// The whole event or document.
    pub raw: Document<'b>,
}

/// An event of a change stream.
#[allow(clippy::large_enum_variant, reason = "nearly all are changes")]
#[derive(Debug, Clone, Copy)]
pub enum Event<'b> {
    Change(Change<'b>),
    Ddl(DdlEvent<'b>),
}

/// An event of a collection or a database: `drop`, `rename`, `invalidate`, …
#[derive(Debug, Clone, Copy)]
pub struct DdlEvent<'b> {
    pub operation: &'b [u8],
    /// Its cluster time is the event's time, otherwise the time in its token, otherwise zero.
    pub source: Source<'b>,
    /// Database and collection after a rename.
    pub to: Option<(&'b [u8], &'b [u8])>,
    /// The raw `operationDescription`.
    pub description: &'b [u8],
    pub raw: Document<'b>,
}

/// The members that encoding needs.
#[derive(Default)]
struct Members<'b> {
    operation: Option<&'b [u8]>,
    database: Option<&'b [u8]>,
    collection: Option<&'b [u8]>,
    key: Option<Document<'b>>,
    cluster_time: Option<Timestamp>,
    wall_time_ms: Option<i64>,
    lsid: Option<Document<'b>>,
    transaction_number: Option<i64>,
    transaction_index: u64,
    before: Option<Document<'b>>,
    after: Option<Document<'b>>,
    update: Option<UpdateDescription<'b>>,
    to_database: Option<&'b [u8]>,
    to_collection: Option<&'b [u8]>,
    description: &'b [u8],
    /// The text of the resume token.
    token: Option<&'b [u8]>,
}

impl<'b> Event<'b> {
    /// Parses an event as the server sends it.
    pub fn parse(bytes: &'b [u8]) -> Result<Self> {
        let event = Document::parse(bytes)?;
        let members = Members::read(event)?;
        let missing = |member| Problem::Missing { member }.at_offset(0);
        let operation = match members.operation.ok_or_else(|| missing("operationType"))? {
            b"insert" => Operation::Insert,
            b"update" => Operation::Update,
            b"replace" => Operation::Replace,
            b"delete" => Operation::Delete,
            operation => {
                let token_time = || members.token.and_then(resume_token::time_of);
                let cluster_time = members.cluster_time.or_else(token_time);
                return Ok(Self::Ddl(DdlEvent {
                    operation,
                    source: members.source(cluster_time.unwrap_or_default()),
                    to: members.to_database.zip(members.to_collection),
                    description: members.description,
                    raw: event,
                }));
            }
        };
        let key = members.key.ok_or_else(|| missing("documentKey"))?;
        let cluster_time = members.cluster_time.ok_or_else(|| missing("clusterTime"))?;
        Ok(Self::Change(Change {
            operation,
            database: members.database.ok_or_else(|| missing("ns.db"))?,
            collection: members.collection.ok_or_else(|| missing("ns.coll"))?,
            id: id_of(key)?,
            source: members.source(cluster_time),
            key: key.bytes(),
            before: members.before,
            after: members.after.filter(|_| operation != Operation::Delete),
            update: members.update.filter(|_| operation == Operation::Update),
            raw: event,
        }))
    }
}

impl<'b> Change<'b> {
    /// Parses a snapshot document.
    pub fn of_snapshot(bytes: &'b [u8], source: &SnapshotSource<'b>) -> Result<Self> {
        let document = Document::parse(bytes)?;
        let id = id_of(document)?;
        Ok(Self {
            operation: Operation::Read,
            database: source.database,
            collection: source.collection,
            id,
            key: id.raw,
            source: Source {
                database: Some(source.database),
                collection: Some(source.collection),
                cluster_time: source.cluster_time,
                wall_time_ms: None,
                ts_ms: source.read_at_ms,
                snapshot: Some(source.marker),
                transaction: None,
                transaction_index: 0,
            },
            before: None,
            after: Some(document),
            update: None,
            raw: document,
        })
    }
}

pub(crate) fn id_of(document: Document<'_>) -> Result<Element<'_>> {
    let missing = || Problem::Missing { member: "_id" }.at_offset(document.offset());
    document.find(b"_id")?.ok_or_else(missing)
}

impl<'b> Members<'b> {
    fn read(event: Document<'b>) -> Result<Self> {
        let mut members = Self::default();
        let mut elements = event.elements();
        while let Some(element) = elements.read()? {
            members.take(&element)?;
        }
        Ok(members)
    }

    fn source(&self, cluster_time: Timestamp) -> Source<'b> {
        let of_cluster_ms = i64::from(cluster_time.seconds).saturating_mul(1000);
        let transaction = self.lsid.zip(self.transaction_number);
        Source {
            database: self.database,
            collection: self.collection,
            cluster_time,
            wall_time_ms: self.wall_time_ms,
            ts_ms: self.wall_time_ms.unwrap_or(of_cluster_ms),
            snapshot: None,
            transaction: transaction.map(|(lsid, number)| Transaction { lsid, number }),
            transaction_index: self.transaction_index,
        }
    }

    fn take(&mut self, element: &Element<'b>) -> Result<()> {
        match element.name {
            b"_id" => {
                if let Value::Document(token) = element.value
                    && let Some(hex) = resume_token::hex_of(token)?
                {
                    self.transaction_index = resume_token::index_of(hex).unwrap_or_default();
                    self.token = Some(hex);
                }
            }
            b"operationType" => self.operation = Some(text(element, "operationType")?),
            b"ns" => {
                (self.database, self.collection) = namespace(element, "ns")?;
            }
            b"to" => (self.to_database, self.to_collection) = namespace(element, "to")?,
            b"operationDescription" => self.description = element.raw,
            b"documentKey" => self.key = document(element, "documentKey")?,
            b"clusterTime" => {
                let Value::Timestamp(time) = element.value else {
                    return Err(wrong(element, "clusterTime"));
                };
                self.cluster_time = Some(time);
            }
            b"wallTime" => {
                let Value::DateTime(millis) = element.value else {
                    return Err(wrong(element, "wallTime"));
                };
                self.wall_time_ms = Some(millis);
            }
            b"lsid" => self.lsid = document(element, "lsid")?,
            b"txnNumber" => self.transaction_number = Some(integer(element, "txnNumber")?),
            b"fullDocument" => self.after = document(element, "fullDocument")?,
            b"fullDocumentBeforeChange" => {
                self.before = document(element, "fullDocumentBeforeChange")?;
            }
            b"updateDescription" => {
                let update = document(element, "updateDescription")?;
                self.update = update.map(UpdateDescription::read).transpose()?;
            }
            b"splitEvent" => return Err(Problem::Fragment.at_offset(element.offset)),
            _ => {}
        }
        Ok(())
    }
}

/// Database and collection.
type Names<'b> = (Option<&'b [u8]>, Option<&'b [u8]>);

fn namespace<'b>(element: &Element<'b>, member: &'static str) -> Result<Names<'b>> {
    let (mut database, mut collection) = (None, None);
    if let Some(namespace) = document(element, member)? {
        let mut parts = namespace.elements();
        while let Some(part) = parts.read()? {
            match part.name {
                b"db" => database = Some(text(&part, "ns.db")?),
                b"coll" => collection = Some(text(&part, "ns.coll")?),
                _ => {}
            }
        }
    }
    Ok((database, collection))
}

impl<'b> UpdateDescription<'b> {
    fn read(description: Document<'b>) -> Result<Self> {
        let mut update = Self::default();
        let mut elements = description.elements();
        while let Some(element) = elements.read()? {
            match element.name {
                b"updatedFields" => update.updated_fields = document(&element, "updatedFields")?,
                b"removedFields" => update.removed_fields = array(&element, "removedFields")?,
                b"truncatedArrays" => update.truncated_arrays = array(&element, "truncatedArrays")?,
                _ => {}
            }
        }
        Ok(update)
    }
}
