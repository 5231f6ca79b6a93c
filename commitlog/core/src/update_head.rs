//! The part of a partition update that needs no schema: everything before its rows
//! (`PartitionUpdate.PartitionUpdateSerializer`, `SerializationHeader.Serializer`; format notes
//! §4.2 and §4.3).

use crate::cursor::Cursor;
use crate::descriptor::Version;
use crate::error::Result;
use crate::mutation::{read_epoch, update_flag};
use crate::schema::TableId;
use crate::times::{DELETION_TIME_EPOCH_S, TIMESTAMP_EPOCH_US};

/// The head of a partition update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateHead<'p> {
    pub table_id: TableId,
    /// See [`crate::mutation::Update`].
    pub epoch: Option<i64>,
    /// As on the wire: composite keys with their framing (§6.3).
    pub key: &'p [u8],
    pub flags: u8,
    /// Absent in an empty update, and so is what follows.
    pub bases: Option<Bases>,
    pub static_columns: Vec<&'p [u8]>,
    pub regular_columns: Vec<&'p [u8]>,
}

/// What the times of one update are reckoned from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bases {
    pub timestamp_us: i64,
    /// As stored; versions 6 and 7 take it as signed.
    pub local_deletion_time_s: u32,
    pub ttl_s: i32,
}

impl UpdateHead<'_> {
    pub fn is_empty(&self) -> bool {
        self.flags & update_flag::IS_EMPTY != 0
    }

    pub fn has_static_row(&self) -> bool {
        self.flags & update_flag::HAS_STATIC_ROW != 0
    }

    pub fn has_row_estimate(&self) -> bool {
        self.flags & update_flag::HAS_ROW_ESTIMATE != 0
    }
}

/// Reads the head at the start of `bytes`; more bytes may follow.
pub fn read_update_head(bytes: &[u8], version: Version) -> Result<UpdateHead<'_>> {
    let mut cursor = Cursor::new(bytes);
    let table_id = TableId(*cursor.uuid()?);
    let epoch = read_epoch(&mut cursor, version)?;
    let key = cursor.vbytes()?;
    let mut head = UpdateHead {
        table_id,
        epoch,
        key,
        flags: cursor.u8()?,
        bases: None,
        static_columns: Vec::new(),
        regular_columns: Vec::new(),
    };
    if head.is_empty() {
        return Ok(head);
    }
    head.bases = Some(Bases {
        timestamp_us: TIMESTAMP_EPOCH_US.wrapping_add(cursor.uvint()? as i64),
        local_deletion_time_s: DELETION_TIME_EPOCH_S.wrapping_add(cursor.uvint()? as u32),
        ttl_s: cursor.uvint()? as i32,
    });
    if head.has_static_row() {
        head.static_columns = read_names(&mut cursor)?;
    }
    head.regular_columns = read_names(&mut cursor)?;
    Ok(head)
}

/// The estimate of the number of rows at the start of `bytes`, and its length.
pub fn read_row_estimate(bytes: &[u8]) -> Result<(u64, usize)> {
    let mut cursor = Cursor::new(bytes);
    let estimate = cursor.uvint()?;
    Ok((estimate, bytes.len() - cursor.rest().len()))
}

fn read_names<'p>(cursor: &mut Cursor<'p>) -> Result<Vec<&'p [u8]>> {
    let count = cursor.length()?;
    let mut names = Vec::new();
    for _ in 0..count {
        names.push(cursor.vbytes()?);
    }
    Ok(names)
}
