//! The selected columns of a table, and their indexes in a result row.

use commitlog_core::cql_type::CqlType;
use commitlog_core::schema::{Column, ColumnKind, Table};

use super::SnapshotError;
use super::page::PageRow;

/// Whether the server returns the times of collection elements. Since Cassandra 5.0, `WRITETIME`
/// and `TTL` of a collection return lists; older releases reject them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElementTimes {
    Selected,
    Unknown,
}

/// A regular or static column.
#[derive(Debug, Clone)]
pub(super) struct SelectedColumn {
    /// Index into [`Table::columns`].
    pub column: u32,
    pub cql_type: CqlType,
    pub multi_cell: bool,
    pub is_static: bool,
    /// The index of its value, followed by write time and TTL if they are selected.
    pub place: usize,
    pub has_times: bool,
    /// Its index among the counter columns.
    pub counter: Option<usize>,
    /// When a column with this name was last dropped, in microseconds.
    pub dropped_us: Option<i64>,
}

/// A `SELECT` over one table: the primary key, then each column with its times.
#[derive(Debug, Clone)]
pub struct Selection {
    expressions: Vec<String>,
    partition_key: Vec<String>,
    source: String,
    clustering: usize,
    pub(super) columns: Vec<SelectedColumn>,
    /// Number of counter columns.
    pub(super) counters: usize,
    has_statics: bool,
}

impl Selection {
    pub fn new(table: &Table, element_times: ElementTimes) -> Self {
        let names = |columns: &[Column]| columns.iter().map(quoted).collect::<Vec<_>>();
        let partition_key = names(&table.partition_key);
        let mut expressions = [partition_key.clone(), names(&table.clustering)].concat();
        let mut columns = Vec::new();
        let mut counters = 0;
        for (index, column) in (0_u32..).zip(&table.columns) {
            // The hidden column of dense compact tables cannot be selected.
            if column.dropped_at_us.is_some() || column.cql_type == CqlType::Empty {
                continue;
            }
            let is_counter = column.cql_type == CqlType::Counter;
            // No release returns times of counters.
            let has_times =
                !is_counter && (!column.multi_cell || element_times == ElementTimes::Selected);
            columns.push(SelectedColumn {
                column: index,
                cql_type: column.cql_type.clone(),
                multi_cell: column.multi_cell,
                is_static: column.kind == ColumnKind::Static,
                place: expressions.len(),
                has_times,
                counter: is_counter.then_some(counters),
                dropped_us: column.history.drops_us.last().copied(),
            });
            counters += usize::from(is_counter);
            let name = quoted(column);
            if has_times {
                expressions.extend([
                    name.clone(),
                    format!("WRITETIME({name})"),
                    format!("TTL({name})"),
                ]);
            } else {
                expressions.push(name);
            }
        }
        Self {
            source: format!("\"{}\".\"{}\"", table.keyspace, table.name),
            expressions,
            clustering: table.clustering.len(),
            has_statics: columns.iter().any(|column| column.is_static),
            partition_key,
            columns,
            counters,
        }
    }

    /// Returns the statement for tokens greater than `after`, up to and including `to`.
    pub fn cql(&self, after: i64, to: i64) -> String {
        let token = format!("token({})", self.partition_key.join(","));
        format!(
            "SELECT {} FROM {} WHERE {token} > {after} AND {token} <= {to}",
            self.expressions.join(","),
            self.source
        )
    }

    /// Returns the number of cells in a row.
    pub(super) fn width(&self) -> usize {
        self.expressions.len()
    }

    pub(super) fn has_statics(&self) -> bool {
        self.has_statics
    }

    pub(super) fn clustering<'b>(
        &self,
        row: &PageRow<'b>,
    ) -> impl Iterator<Item = Option<&'b [u8]>> {
        let first = self.partition_key.len();
        (first..first + self.clustering).map(|place| row.cell(place))
    }

    /// Returns whether the row belongs to the partition with this key.
    pub(super) fn is_key_of(&self, row: &PageRow<'_>, key: &[u8]) -> bool {
        if self.partition_key.len() == 1 {
            return !key.is_empty() && row.cell(0) == Some(key);
        }
        let mut rest = key;
        for place in 0..self.partition_key.len() {
            let value = row.cell(place).unwrap_or_default();
            let Some((length, tail)) = rest.split_first_chunk::<2>() else {
                return false;
            };
            let is_same = usize::from(u16::from_be_bytes(*length)) == value.len();
            let Some(tail) = tail.strip_prefix(value).filter(|_| is_same) else {
                return false;
            };
            rest = tail.get(1..).unwrap_or_default();
        }
        true
    }

    /// Writes the raw partition key; with several columns, as length, value and zero byte of each.
    pub(super) fn write_key(
        &self,
        row: &PageRow<'_>,
        key: &mut Vec<u8>,
    ) -> Result<(), SnapshotError> {
        key.clear();
        if self.partition_key.len() == 1 {
            key.extend_from_slice(row.cell(0).unwrap_or_default());
            return Ok(());
        }
        for place in 0..self.partition_key.len() {
            let value = row.cell(place).unwrap_or_default();
            let length = u16::try_from(value.len()).map_err(|_| {
                SnapshotError::Row("a part of a partition key is longer than 65535 bytes".into())
            })?;
            key.extend_from_slice(&length.to_be_bytes());
            key.extend_from_slice(value);
            key.push(0);
        }
        Ok(())
    }
}

fn quoted(column: &Column) -> String {
    format!("\"{}\"", column.name.replace('"', "\"\""))
}
