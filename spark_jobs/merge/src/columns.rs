//! Columns by number, and whether `SELECT *` shows them.

use commitlog_core::cql_type::CqlType;
use commitlog_core::schema;
use rustc_hash::FxHashMap;

/// A regular or static column that `SELECT *` shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownColumn {
    pub id: u32,
    pub name: String,
    pub cql_type: CqlType,
    pub multi_cell: bool,
}

/// The columns of one table. Events may contain columns that the table no longer has.
#[derive(Debug, Clone, Default)]
pub struct Columns {
    names: Vec<String>,
    ids: FxHashMap<String, u32>,
    shown: Vec<ShownColumn>,
    pub clustering: Vec<CqlType>,
    /// By number: whether it is shown, and the write time up to which its cells were dropped.
    visibility: Vec<(bool, Option<i64>)>,
    known: usize,
    pub has_counters: bool,
}

impl Columns {
    pub fn new(table: &schema::Table) -> Self {
        let mut names: Vec<String> = table.columns.iter().map(|c| c.name.clone()).collect();
        // Columns are numbered in name order, so cells sorted by number are also sorted by name.
        names.sort_unstable();
        names.dedup();
        let mut columns = Self {
            known: names.len(),
            ids: names.iter().cloned().zip(0..).collect(),
            visibility: vec![(false, None); names.len()],
            names,
            shown: Vec::new(),
            clustering: table
                .clustering
                .iter()
                .map(|c| c.cql_type.clone())
                .collect(),
            has_counters: table.counter,
        };
        for column in &table.columns {
            let Some(id) = columns.ids.get(&column.name).copied() else {
                continue;
            };
            let Some((is_shown, dropped_us)) = columns.visibility.get_mut(id as usize) else {
                continue;
            };
            let last_drop_us = column.history.drops_us.last().copied();
            *dropped_us = (*dropped_us).max(last_drop_us).max(column.dropped_at_us);
            // `SELECT` does not show the hidden value of a dense compact table.
            if column.dropped_at_us.is_none() && column.cql_type != CqlType::Empty {
                *is_shown = true;
                columns.shown.push(ShownColumn {
                    id,
                    name: column.name.clone(),
                    cql_type: column.cql_type.clone(),
                    multi_cell: column.multi_cell,
                });
            }
        }
        columns.shown.sort_by_key(|column| column.id);
        columns
    }

    /// Creates the columns of a table whose schema is unknown.
    pub fn of_unknown_table(has_counters: bool) -> Self {
        Self {
            has_counters,
            ..Self::default()
        }
    }

    /// Returns the number of a column, and assigns a new number to an unknown name.
    pub fn id(&mut self, name: &str) -> u32 {
        if let Some(id) = self.ids.get(name) {
            return *id;
        }
        let id = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.names.push(name.to_owned());
        self.ids.insert(name.to_owned(), id);
        self.visibility.push((false, None));
        id
    }

    pub fn name(&self, id: u32) -> &str {
        self.names.get(id as usize).map_or("", String::as_str)
    }

    /// Whether the numbers up to this one follow the name order.
    pub fn is_in_order_of_names(&self, id: u32) -> bool {
        (id as usize) < self.known
    }

    /// Whether `SELECT *` shows a cell of this column that was written at this time.
    #[inline]
    pub fn shows(&self, id: u32, ts_us: i64) -> bool {
        match self.visibility.get(id as usize) {
            Some((is_shown, dropped_us)) => *is_shown && dropped_us.is_none_or(|us| ts_us > us),
            None => false,
        }
    }

    /// The columns that `SELECT *` shows, ordered by number.
    pub fn shown(&self) -> &[ShownColumn] {
        &self.shown
    }
}
