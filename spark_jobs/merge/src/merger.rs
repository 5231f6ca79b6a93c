use std::sync::Arc;

use arrow_array::builder::BinaryBuilder;
use commitlog_core::schema;

use crate::changes::{Changes, Instants};
use crate::columns::Columns;
use crate::compaction::Compaction;
use crate::error::{MergeError, Result};
use crate::evaluation::Evaluation;
use crate::output::{ChangeRows, ROW_ID, TypedRows, TypedTable};
use crate::purge::Purge;
use crate::session::Session;
use crate::visible::{Output, VisibleRows};
use crate::window::Window;

/// Which writes and which second determine the visible rows.
#[derive(Debug, Clone, Copy, Default)]
pub struct View {
    /// The second at which the rows are evaluated.
    pub now_s: i64,
    /// Writes up to this time were truncated.
    pub truncated_us: Option<i64>,
    pub window: Window,
}

/// Merges the events of one table.
#[derive(Debug)]
pub struct Merger {
    columns: Columns,
    typed: Arc<TypedTable>,
}

impl Merger {
    /// # Errors
    /// If a column has the name of the row id.
    pub fn new(table: &schema::Table) -> Result<Self> {
        let mut columns = table.partition_key.iter().chain(&table.clustering);
        if columns.any(|column| column.name == ROW_ID)
            || table.columns.iter().any(|column| column.name == ROW_ID)
        {
            return Err(MergeError::Batch(format!(
                "{}.{} has a column {ROW_ID}, the name of the row id. Rename the column, or leave \
                 the table out.",
                table.keyspace, table.name
            )));
        }
        Ok(Self {
            columns: Columns::new(table),
            typed: Arc::new(TypedTable::new(table)?),
        })
    }

    /// Visible rows with raw values.
    pub fn rows(&self, view: View) -> Session {
        let output = Output::Raw(Box::default());
        self.visible(view, output)
    }

    /// Visible rows with the columns of `SELECT *`.
    pub fn typed(&self, view: View) -> Session {
        let output = Output::Typed(BinaryBuilder::new(), Box::new(self.typed_rows()));
        self.visible(view, output)
    }

    /// Changes of visible rows, caused by new events, a truncation and expiry.
    pub fn changes(&self, instants: Instants) -> Session {
        self.changes_in(instants, Window::default())
    }

    fn changes_in(&self, instants: Instants, window: Window) -> Session {
        let output = ChangeRows::new(self.typed_rows(), self.typed_rows());
        self.session(Box::new(Changes::new(instants, output)), window, true)
    }

    /// Visible rows as changes from an empty table. All input must be `is_new`.
    pub fn first_changes(&self, view: View) -> Session {
        let instants = Instants {
            before_s: view.now_s,
            after_s: view.now_s,
            before_truncated_us: view.truncated_us,
            after_truncated_us: view.truncated_us,
            each: false,
        };
        self.changes_in(instants, view.window)
    }

    /// Row states. With `keep_superseded`, also states of the dropped versions.
    pub fn compact(&self, purge: Purge, keep_superseded: bool) -> Session {
        let compaction = Compaction::new(purge, keep_superseded);
        self.session(Box::new(compaction), Window::default(), false)
    }

    fn visible(&self, view: View, output: Output) -> Session {
        let rows = VisibleRows::new(view.now_s, view.truncated_us, output);
        self.session(Box::new(rows), view.window, false)
    }

    fn typed_rows(&self) -> TypedRows {
        TypedRows::new(Arc::clone(&self.typed), &self.columns)
    }

    fn session(&self, evaluation: Box<dyn Evaluation>, window: Window, has_news: bool) -> Session {
        Session::new(evaluation, self.columns.clone(), window, has_news)
    }
}
