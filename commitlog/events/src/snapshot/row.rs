//! Converts a result row to the row of a mutation.
//!
//! An unknown time becomes the oldest possible time, so that every change of the cell in the log
//! takes precedence.

use commitlog_core::cql_type::CqlType;
use commitlog_core::row::{Cell, CellState, Deletion, Expiry, Liveness, LocalDeletionTime, Row};

use super::page::{Page, PageRow};
use super::selection::{SelectedColumn, Selection};
use super::{PageRequest, SnapshotError};
use crate::event::OLDEST_US;
use crate::value::{ValueError, ValueReader};

/// 2010-01-01 in the unit of time UUIDs, 100 ns since 1582. It lies between prepended elements,
/// whose times run backwards from there (`Lists.Prepender`), and appended elements.
const LIST_MIDDLE: u64 = 134_815_968_000_000_000;
/// Drop times have millisecond precision.
const DROP_PRECISION_US: i64 = 1_000;

/// The path of a list element, which is a time UUID.
type ListPath = [u8; 16];
/// A context with one global shard: header, counter id, clock, count.
type CounterContext = [u8; 36];

/// Builds rows, and owns the paths and counter contexts that results do not contain.
#[derive(Default)]
pub(super) struct RowMaker {
    /// The counters of the page, in the order of rows and columns.
    contexts: Vec<CounterContext>,
    list_paths: Vec<ListPath>,
    field_paths: Vec<[u8; 2]>,
}

impl RowMaker {
    /// Prepares the paths and contexts that the rows of a page need.
    pub fn begin(&mut self, page: &Page<'_>, selection: &Selection) -> Result<(), SnapshotError> {
        self.contexts.clear();
        if selection.counters > 0 {
            for row in page.rows() {
                let row = row?;
                let counters = selection
                    .columns
                    .iter()
                    .filter(|column| column.counter.is_some());
                self.contexts
                    .extend(counters.map(|column| context(row.cell(column.place))));
            }
        }
        let multi_cell = || selection.columns.iter().filter(|column| column.multi_cell);
        for column in multi_cell() {
            if let CqlType::Udt(user_type) = &column.cql_type {
                let known = self.field_paths.len();
                let fields = u16::try_from(user_type.fields.len()).unwrap_or(u16::MAX);
                let more = (0..fields).skip(known).map(u16::to_be_bytes);
                self.field_paths.extend(more);
            }
        }
        let lists: Vec<_> = multi_cell()
            .filter(|column| matches!(column.cql_type, CqlType::List(_)))
            .collect();
        if lists.is_empty() {
            return Ok(());
        }
        for row in page.rows() {
            let row = row?;
            for column in &lists {
                let Some(value) = row.cell(column.place) else {
                    continue;
                };
                let count = ValueReader::new(&column.cql_type, value)
                    .read_count()
                    .map_err(|error| malformed(&error))?;
                // A count that exceeds the bytes is detected when the elements are read.
                let count = usize::try_from(count).unwrap_or(0).min(value.len());
                while self.list_paths.len() < count {
                    let path = list_path(self.list_paths.len());
                    self.list_paths.push(path);
                }
            }
        }
        Ok(())
    }

    /// Builds the static row.
    pub fn make_static<'r>(
        &'r self,
        answered: &PageRow<'r>,
        selection: &Selection,
        request: &PageRequest<'_>,
        row: &mut Row<'r>,
    ) -> Result<(), SnapshotError> {
        *row = Row {
            is_static: true,
            ..Row::default()
        };
        let columns = selection.columns.iter();
        for column in columns.filter(|column| column.is_static) {
            self.column(answered, selection, column, request, row)?;
        }
        Ok(())
    }

    /// Builds the row, or returns false if the partition contains only static columns.
    pub fn make<'r>(
        &'r self,
        answered: &PageRow<'r>,
        selection: &Selection,
        request: &PageRequest<'_>,
        row: &mut Row<'r>,
    ) -> Result<bool, SnapshotError> {
        *row = Row::default();
        row.clustering.extend(selection.clustering(answered));
        if selection.has_statics() && row.clustering.iter().all(Option::is_none) {
            return Ok(false);
        }
        let columns = selection.columns.iter();
        for column in columns.filter(|column| !column.is_static) {
            self.column(answered, selection, column, request, row)?;
        }
        row.liveness = Some(Liveness {
            timestamp_us: OLDEST_US,
            expiry: longest_expiry(row),
        });
        Ok(true)
    }

    fn column<'r>(
        &'r self,
        answered: &PageRow<'r>,
        selection: &Selection,
        column: &SelectedColumn,
        request: &PageRequest<'_>,
        row: &mut Row<'r>,
    ) -> Result<(), SnapshotError> {
        let Some(value) = answered.cell(column.place) else {
            return Ok(());
        };
        if column.multi_cell {
            return self.elements(answered, column, request, row, value);
        }
        if let Some(index) = column.counter {
            let place = answered.number * selection.counters + index;
            row.cells.push(Cell {
                column: column.column,
                state: CellState::Live,
                timestamp_us: oldest(column),
                path: None,
                value: self.contexts.get(place).map_or(value, |context| context),
            });
            return Ok(());
        }
        let timestamp_us = answered.cell(column.place + 1).and_then(number);
        row.cells.push(Cell {
            column: column.column,
            state: state(answered.cell(column.place + 2), request.read_at_us),
            timestamp_us: timestamp_us.unwrap_or_else(|| oldest(column)),
            path: None,
            value,
        });
        Ok(())
    }

    /// Adds one cell for each element, with its times if the server returns them.
    fn elements<'r>(
        &'r self,
        answered: &PageRow<'r>,
        column: &SelectedColumn,
        request: &PageRequest<'_>,
        row: &mut Row<'r>,
        value: &'r [u8],
    ) -> Result<(), SnapshotError> {
        let first = row.cells.len();
        let mut times = Times::new(answered, column);
        let cells = &mut row.cells;
        let mut add = |path: Option<&'r [u8]>, value: &'r [u8], ts: Option<i64>, ttl| {
            cells.push(Cell {
                column: column.column,
                state: state(ttl, request.read_at_us),
                timestamp_us: ts.unwrap_or_else(|| oldest(column)),
                path,
                value,
            });
        };
        let mut reader = ValueReader::new(&column.cql_type, value);
        let malformed = |error: ValueError| malformed(&error);
        match &column.cql_type {
            CqlType::Udt(_) => {
                for path in &self.field_paths {
                    if reader.is_at_end() {
                        break;
                    }
                    let (ts, ttl) = times.next();
                    if let Some(field) = reader.read_element().map_err(malformed)? {
                        add(Some(path), field, ts, ttl);
                    }
                }
            }
            CqlType::Map(..) => {
                for _ in 0..reader.read_count().map_err(malformed)? {
                    let (ts, ttl) = times.next();
                    let key = reader.read_element().map_err(malformed)?;
                    let value = reader.read_element().map_err(malformed)?;
                    add(
                        Some(key.unwrap_or_default()),
                        value.unwrap_or_default(),
                        ts,
                        ttl,
                    );
                }
            }
            CqlType::Set(_) => {
                for _ in 0..reader.read_count().map_err(malformed)? {
                    let (ts, ttl) = times.next();
                    let element = reader.read_element().map_err(malformed)?;
                    add(Some(element.unwrap_or_default()), &[], ts, ttl);
                }
            }
            _ => {
                let count = reader.read_count().map_err(malformed)?;
                for path in self
                    .list_paths
                    .iter()
                    .take(usize::try_from(count).unwrap_or(0))
                {
                    let (ts, ttl) = times.next();
                    let element = reader.read_element().map_err(malformed)?;
                    add(Some(path), element.unwrap_or_default(), ts, ttl);
                }
                replace_list(column, row, first, request.read_at_us);
                return Ok(());
            }
        }
        reader.finish().map_err(malformed)
    }
}

/// Makes a list replace everything up to its newest element or, without element times, up to the
/// request. The reason is that no server returns the paths of list elements.
fn replace_list(column: &SelectedColumn, row: &mut Row<'_>, first: usize, read_at_us: i64) {
    let Some(cells) = row.cells.get_mut(first..).filter(|cells| !cells.is_empty()) else {
        return;
    };
    let newest_us = if column.has_times {
        cells.iter().map(|cell| cell.timestamp_us).max()
    } else {
        None
    };
    let replaced_us = newest_us.unwrap_or(read_at_us);
    for cell in cells {
        cell.timestamp_us = replaced_us.saturating_add(1);
    }
    let deletion = Deletion {
        timestamp_us: replaced_us,
        local_deletion_time: LocalDeletionTime(seconds(read_at_us)),
    };
    row.complex_deletions.push((column.column, deletion));
}

/// Builds the context of a counter as if one leader had counted its total.
fn context(total: Option<&[u8]>) -> CounterContext {
    let mut context = [0; 36];
    // One header entry for global shard 0: its index plus the lowest 16-bit number.
    let header = [0, 1, 0x80, 0].into_iter();
    let bytes = header.chain([0; 16]).chain(1_i64.to_be_bytes());
    let total = total.and_then(number).unwrap_or_default().to_be_bytes();
    for (place, byte) in context.iter_mut().zip(bytes.chain(total)) {
        *place = byte;
    }
    context
}

/// The times of elements, in element order; empty if they are not selected.
struct Times<'b> {
    write_times: &'b [u8],
    ttls: &'b [u8],
}

impl<'b> Times<'b> {
    fn new(row: &PageRow<'b>, column: &SelectedColumn) -> Self {
        let list = |place: usize| {
            let list = row.cell(place).filter(|_| column.has_times);
            // The first four bytes are the number of elements.
            list.and_then(|list| list.get(4..)).unwrap_or_default()
        };
        Self {
            write_times: list(column.place + 1),
            ttls: list(column.place + 2),
        }
    }

    fn next(&mut self) -> (Option<i64>, Option<&'b [u8]>) {
        let write_time = next_element(&mut self.write_times).and_then(number);
        (write_time, next_element(&mut self.ttls))
    }
}

fn next_element<'b>(list: &mut &'b [u8]) -> Option<&'b [u8]> {
    let (length, rest) = list.split_first_chunk::<4>()?;
    let Ok(length) = usize::try_from(i32::from_be_bytes(*length)) else {
        *list = rest;
        return None;
    };
    let (element, rest) = rest.split_at_checked(length)?;
    *list = rest;
    Some(element)
}

fn number(bytes: &[u8]) -> Option<i64> {
    bytes.try_into().ok().map(i64::from_be_bytes)
}

/// `TTL` is the remaining time. It is counted from the request, so the expiry is never too late.
fn state(ttl: Option<&[u8]>, read_at_us: i64) -> CellState {
    let ttl = ttl.and_then(|bytes| bytes.try_into().ok());
    match ttl.map(i32::from_be_bytes) {
        Some(ttl_s) if ttl_s > 0 => CellState::Expiring(Expiry {
            ttl_s,
            local_deletion_time: LocalDeletionTime(
                seconds(read_at_us).saturating_add(i64::from(ttl_s)),
            ),
        }),
        _ => CellState::Live,
    }
}

fn seconds(us: i64) -> i64 {
    us.div_euclid(1_000_000)
}

/// Returns the oldest time of a visible cell: a re-added column shows nothing written before the
/// drop.
fn oldest(column: &SelectedColumn) -> i64 {
    let dropped_us = column
        .dropped_us
        .filter(|dropped_us| *dropped_us != i64::MIN);
    dropped_us.map_or(OLDEST_US, |us| us.saturating_add(DROP_PRECISION_US))
}

/// Returns the latest expiry if all cells expire: the row is assumed to be inserted with a TTL.
fn longest_expiry(row: &Row<'_>) -> Option<Expiry> {
    let mut longest: Option<Expiry> = None;
    for cell in &row.cells {
        let CellState::Expiring(expiry) = cell.state else {
            return None;
        };
        let is_longer = longest
            .is_none_or(|longest| longest.local_deletion_time.0 < expiry.local_deletion_time.0);
        if is_longer {
            longest = Some(expiry);
        }
    }
    longest
}

/// Returns the path of a list element: a time UUID without a node.
fn list_path(index: usize) -> ListPath {
    let time = LIST_MIDDLE.wrapping_add(index as u64);
    let low = (time as u32).to_be_bytes();
    let middle = ((time >> 32) as u16).to_be_bytes();
    let high = ((time >> 48) as u16 & 0x0fff | 0x1000).to_be_bytes();
    let mut path = [0; 16];
    let parts = low.iter().chain(&middle).chain(&high).chain(&[0x80, 0]);
    for (byte, part) in path.iter_mut().zip(parts) {
        *byte = *part;
    }
    path
}

fn malformed(error: &ValueError) -> SnapshotError {
    SnapshotError::Row(format!("a value does not fit the schema: {error}"))
}
