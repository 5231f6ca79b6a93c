//! The member `cells`: what an exact merge needs and the other members cannot say
//! (`docs/event-format.md`, "cells"). Absent members are null.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use commitlog_core::descriptor::Version;
use commitlog_core::row::{BoundKind, Cell, CellState, Deletion, Expiry, LocalDeletionTime, Row};

use crate::byte_comparable::{Component, write_bound, write_clustering};
use crate::event::{Bound, Content};
use crate::hash::token;
use crate::plan::TablePlan;
use crate::value::ValueError;

/// Writes `,"cells":{…}`. `key` is the raw partition key.
pub struct CellsWriter<'w> {
    pub out: &'w mut Vec<u8>,
    /// Scratch space for byte-comparable clusterings.
    pub comparable: &'w mut Vec<u8>,
    pub plan: &'w TablePlan,
    pub version: Version,
}

impl CellsWriter<'_> {
    pub fn write(&mut self, key: &[u8], content: &Content<'_, '_>) -> Result<(), ValueError> {
        self.raw(b",\"cells\":{\"kind\":\"");
        self.raw(content.kind().name().as_bytes());
        self.raw(b"\",");
        let plan = self.plan;
        self.raw(&plan.id_member);
        self.raw(b",\"pk\":");
        self.base64(key);
        self.raw(b",\"token\":");
        self.number(token(key));
        match content {
            Content::PartitionDeletion(deletion) => self.deletion(*deletion),
            Content::RowDeletion {
                clustering,
                deletion,
            } => {
                self.clustering(clustering)?;
                self.deletion(*deletion);
            }
            Content::Write(row) => {
                if !row.is_static {
                    self.clustering(&row.clustering)?;
                }
                self.written(row);
            }
            Content::RangeDeletion {
                start,
                end,
                deletion,
            } => {
                self.bound(b",\"lo\":", start)?;
                self.bound(b",\"hi\":", end)?;
                self.deletion(*deletion);
            }
        }
        self.raw(b"}");
        Ok(())
    }

    fn raw(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    fn number(&mut self, number: impl itoa::Integer) {
        let mut buffer = itoa::Buffer::new();
        self.out.extend_from_slice(buffer.format(number).as_bytes());
    }

    fn base64(&mut self, bytes: &[u8]) {
        write_base64(self.out, bytes);
    }

    fn clustering(&mut self, values: &[Option<&[u8]>]) -> Result<(), ValueError> {
        self.raw(b",\"ck\":");
        let mut comparable = std::mem::take(self.comparable);
        comparable.clear();
        let written = write_clustering(&mut comparable, components(self.plan, values));
        self.base64(&comparable);
        *self.comparable = comparable;
        written?;
        self.raw(b",\"ckv\":[");
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                self.raw(b",");
            }
            match value {
                Some(value) => self.base64(value),
                None => self.raw(b"null"),
            }
        }
        self.raw(b"]");
        Ok(())
    }

    fn bound(&mut self, member: &[u8], bound: &Bound<'_, '_>) -> Result<(), ValueError> {
        // Both ends of a half-open range stand before or after everything with their prefix.
        let is_after = matches!(
            bound.kind,
            BoundKind::ExclusiveStart | BoundKind::InclusiveEnd
        );
        self.raw(member);
        let mut comparable = std::mem::take(self.comparable);
        comparable.clear();
        let written = write_bound(
            &mut comparable,
            components(self.plan, bound.clustering),
            is_after,
        );
        self.base64(&comparable);
        *self.comparable = comparable;
        written
    }

    fn deletion(&mut self, deletion: Deletion) {
        self.raw(b",\"del\":{\"ts\":");
        self.number(deletion.timestamp_us);
        self.local_deletion_time(deletion.local_deletion_time);
        self.raw(b"}");
    }

    fn local_deletion_time(&mut self, time: LocalDeletionTime) {
        if !time.is_none(self.version) {
            self.raw(b",\"ldt\":");
            self.number(time.0);
        }
    }

    fn expiry(&mut self, expiry: Expiry) {
        self.raw(b",\"ttl\":");
        self.number(expiry.ttl_s);
        self.local_deletion_time(expiry.local_deletion_time);
    }

    fn written(&mut self, row: &Row<'_>) {
        if let Some(liveness) = row.liveness {
            self.raw(b",\"live\":{\"ts\":");
            self.number(liveness.timestamp_us);
            if let Some(expiry) = liveness.expiry {
                self.expiry(expiry);
            }
            self.raw(b"}");
        }
        if !row.complex_deletions.is_empty() {
            self.raw(b",\"cdel\":[");
            for (index, (column, deletion)) in row.complex_deletions.iter().enumerate() {
                self.raw(if index == 0 {
                    b"{\"col\":"
                } else {
                    b",{\"col\":"
                });
                self.column(*column);
                self.raw(b",\"ts\":");
                self.number(deletion.timestamp_us);
                self.local_deletion_time(deletion.local_deletion_time);
                self.raw(b"}");
            }
            self.raw(b"]");
        }
        if !row.cells.is_empty() {
            self.raw(b",\"cell\":[");
            for (index, cell) in row.cells.iter().enumerate() {
                self.raw(if index == 0 {
                    b"{\"col\":"
                } else {
                    b",{\"col\":"
                });
                self.cell(cell);
            }
            self.raw(b"]");
        }
    }

    /// The column's name as a JSON string.
    fn column(&mut self, column: u32) {
        let plan = self.plan;
        let member = plan.column_members.get(column as usize);
        let name = member.and_then(|member| member.strip_suffix(b":"));
        self.raw(name.unwrap_or(b"null"));
    }

    fn cell(&mut self, cell: &Cell<'_>) {
        self.column(cell.column);
        if let Some(path) = cell.path {
            self.raw(b",\"path\":");
            self.base64(path);
        }
        self.raw(b",\"ts\":");
        self.number(cell.timestamp_us);
        match cell.state {
            CellState::Live => {}
            CellState::Expiring(expiry) => self.expiry(expiry),
            CellState::Tombstone(time) => {
                self.local_deletion_time(time);
                self.raw(b",\"val\":null}");
                return;
            }
        }
        self.raw(b",\"val\":");
        self.base64(cell.value);
        self.raw(b"}");
    }
}

fn components<'c>(
    plan: &'c TablePlan,
    values: &'c [Option<&'c [u8]>],
) -> impl Iterator<Item = Component<'c>> {
    let columns = plan.table.clustering.iter().zip(values);
    columns.map(|(column, value)| Component {
        ty: &column.cql_type,
        reversed: column.reversed,
        value: *value,
    })
}

/// Appends a base64 text in quotes.
fn write_base64(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    let start = out.len();
    let length = base64::encoded_len(bytes.len(), true).unwrap_or(0);
    out.resize(start + length, 0);
    if let Some(target) = out.get_mut(start..) {
        // The target has exactly the encoded length.
        let _ = STANDARD.encode_slice(bytes, target);
    }
    out.push(b'"');
}
