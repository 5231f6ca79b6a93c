//! The column lists of a partition update, resolved against a table
//! (`Columns.Serializer`, format notes §4.3 and §4.9).
//!
//! Consecutive updates by one statement carry byte-identical lists, so resolved lists are cached by
//! their bytes.

use crate::cursor::Cursor;
use crate::error::{DecodeError, Result, UnknownColumn};
use crate::schema::{Column, ColumnKind, Table};

/// Cached lists for each table and kind; tables rarely receive more distinct statements at a time.
const KEPT_LISTS: usize = 16;
/// Maximum numbers of readings: for one list, and in the cache.
const MOST_READINGS_OF_LIST: usize = 32;
const KEPT_READINGS: usize = 1024;
/// With this many columns or more, a subset is a list of indexes.
const LARGE_SUBSET: usize = 64;

/// How to determine the length of a simple cell's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueLength {
    Fixed(usize),
    Prefixed,
}

impl ValueLength {
    pub fn from_fixed(fixed: Option<usize>) -> Self {
        fixed.map_or(Self::Prefixed, Self::Fixed)
    }
}

/// One column of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedColumn {
    /// Index into [`Table::columns`].
    pub index: u32,
    pub multi_cell: bool,
    pub value_length: ValueLength,
}

impl ListedColumn {
    fn new(index: usize, column: &Column) -> Self {
        Self {
            index: index as u32,
            multi_cell: column.multi_cell,
            value_length: ValueLength::from_fixed(column.cql_type.fixed_length()),
        }
    }
}

/// A resolved column list.
#[derive(Debug)]
struct ColumnList {
    raw: Box<[u8]>,
    columns: Vec<ListedColumn>,
}

/// The cached lists of one table and kind.
#[derive(Debug, Default)]
pub struct ColumnLists {
    lists: Vec<ColumnList>,
    /// Index of the latest list: consecutive updates often have equal lists.
    last: usize,
    next_replaced: usize,
    /// Readings of lists with columns that were re-added with a different type; their indexes count
    /// down from `usize::MAX`.
    readings: Vec<Vec<ListedColumn>>,
}

impl ColumnLists {
    /// Returns the columns of a list by its index, which is valid until the next [`Self::read`].
    #[inline]
    pub fn columns(&self, place: usize) -> &[ListedColumn] {
        match self.lists.get(place) {
            Some(list) => &list.columns,
            None => self.reading(place),
        }
    }

    #[cold]
    fn reading(&self, place: usize) -> &[ListedColumn] {
        let reading = self.readings.get(usize::MAX - place);
        reading.map_or(&[], Vec::as_slice)
    }

    /// Returns the indexes of all readings of a list, one for each combination of column versions.
    /// A list with one reading keeps its index. `None` means that there are too many readings.
    ///
    /// `is_outermost` means that no earlier reading is in use, so that the cache may be cleared.
    #[cold]
    pub fn readings(
        &mut self,
        place: usize,
        table: &Table,
        is_outermost: bool,
    ) -> Option<Vec<usize>> {
        let list = self.lists.get(place)?;
        let mut readings: Vec<Vec<ListedColumn>> = vec![Vec::new()];
        for listed in &list.columns {
            let column = table.columns.get(listed.index as usize)?;
            let versions = table.columns.iter().enumerate();
            let versions = versions.filter(|(_, other)| other.is_namesake(column));
            let versions: Vec<_> = versions
                .map(|(index, v)| ListedColumn::new(index, v))
                .collect();
            readings = readings
                .iter()
                .flat_map(|reading| {
                    let one_more = |version: &ListedColumn| [&reading[..], &[*version]].concat();
                    versions.iter().map(one_more).collect::<Vec<_>>()
                })
                .collect();
            if readings.len() > MOST_READINGS_OF_LIST {
                return None;
            }
        }
        if readings.len() == 1 {
            return Some(vec![place]);
        }
        if is_outermost && self.readings.len() > KEPT_READINGS {
            self.readings.clear();
        }
        let places = readings.into_iter().map(|reading| {
            let known = self.readings.iter().position(|known| *known == reading);
            usize::MAX
                - known.unwrap_or_else(|| {
                    self.readings.push(reading);
                    self.readings.len() - 1
                })
        });
        Some(places.collect())
    }

    /// Reads a list; returns its index.
    #[inline]
    pub fn read(
        &mut self,
        cursor: &mut Cursor<'_>,
        table: &Table,
        kind: ColumnKind,
    ) -> Result<usize> {
        let last = self.lists.get(self.last);
        if !last.is_some_and(|list| cursor.skip_prefix(&list.raw)) {
            self.last = self.find(cursor, table, kind)?;
        }
        Ok(self.last)
    }

    fn find(&mut self, cursor: &mut Cursor<'_>, table: &Table, kind: ColumnKind) -> Result<usize> {
        let mut lists = self.lists.iter();
        match lists.position(|list| cursor.skip_prefix(&list.raw)) {
            Some(place) => Ok(place),
            None => self.resolve(cursor, table, kind),
        }
    }

    #[cold]
    fn resolve(
        &mut self,
        cursor: &mut Cursor<'_>,
        table: &Table,
        kind: ColumnKind,
    ) -> Result<usize> {
        let start = *cursor;
        let count = cursor.length()?;
        let mut columns = Vec::new();
        for _ in 0..count {
            let name = cursor.vbytes()?;
            let column = table
                .column_index(name, kind)
                .and_then(|index| Some((index, table.columns.get(index)?)));
            let Some((index, column)) = column else {
                return Err(Box::new(DecodeError::UnknownColumn(UnknownColumn {
                    id: table.id,
                    keyspace: table.keyspace.clone(),
                    table: table.name.clone(),
                    kind: if kind == ColumnKind::Static {
                        "static"
                    } else {
                        "regular"
                    },
                    column: String::from_utf8_lossy(name).into_owned(),
                })));
            };
            columns.push(ListedColumn::new(index, column));
        }
        let list = ColumnList {
            raw: cursor.bytes_since(&start).into(),
            columns,
        };
        if self.lists.len() < KEPT_LISTS {
            self.lists.push(list);
            return Ok(self.lists.len() - 1);
        }
        let place = self.next_replaced;
        self.next_replaced = (place + 1) % KEPT_LISTS;
        if let Some(slot) = self.lists.get_mut(place) {
            *slot = list;
        }
        Ok(place)
    }
}

/// The columns of a list that a row contains.
#[derive(Debug, Default)]
pub struct Subset {
    /// Indexes into the list, ascending.
    present: Vec<u32>,
}

impl Subset {
    pub fn present(&self) -> &[u32] {
        &self.present
    }

    /// Reads a subset of a list of `count` columns (`Columns.Serializer#deserializeSubset`).
    pub fn read(&mut self, cursor: &mut Cursor<'_>, count: usize) -> Result<()> {
        self.present.clear();
        let encoded = cursor.uvint()?;
        if encoded == 0 {
            self.present.extend(0..count as u32);
        } else if count < LARGE_SUBSET {
            if encoded >> count != 0 {
                return Err(DecodeError::out_of_range(
                    "bitmap of missing columns",
                    encoded,
                ));
            }
            self.present
                .extend((0..count as u32).filter(|index| encoded >> index & 1 == 0));
        } else {
            self.read_large(cursor, count, encoded)?;
        }
        Ok(())
    }

    fn read_large(&mut self, cursor: &mut Cursor<'_>, count: usize, missing: u64) -> Result<()> {
        let missing_count = usize::try_from(missing)
            .ok()
            .filter(|missing| *missing <= count)
            .ok_or_else(|| DecodeError::out_of_range("number of missing columns", missing))?;
        let present_count = count - missing_count;
        // Cassandra writes the shorter list; the indexes are absolute and ascending.
        let lists_present = present_count < count / 2;
        let listed = if lists_present {
            present_count
        } else {
            missing_count
        };
        let mut next = 0_u32;
        for _ in 0..listed {
            let index = cursor.uvint()?;
            let index = u32::try_from(index)
                .ok()
                .filter(|index| *index >= next && (*index as usize) < count)
                .ok_or_else(|| DecodeError::out_of_range("column index", index))?;
            if lists_present {
                self.present.push(index);
            } else {
                self.present.extend(next..index);
            }
            next = index + 1;
        }
        if !lists_present {
            self.present.extend(next..count as u32);
        }
        Ok(())
    }
}
