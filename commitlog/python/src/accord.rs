//! The Python classes `AccordReader`, `AccordRead` and `ColumnIds`.

use std::sync::{Arc, Mutex, PoisonError};

use commitlog_core::accord::{self, Rewriter, Stop, Transactions, commit_log_segment};
use commitlog_core::schema::MetadataLogEntry;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::schema::Schema;

/// The ids by which transactions identify columns.
#[pyclass(frozen, module = "commitlog")]
pub struct ColumnIds(Arc<accord::ColumnIds>);

#[pymethods]
impl ColumnIds {
    /// Derives the ids from epoch, kind and transformation of all metadata-log entries, in order.
    #[new]
    fn new(entries: Vec<(i64, i32, Vec<u8>)>) -> Self {
        let mut ids = accord::ColumnIds::default();
        for (epoch, kind, transformation) in &entries {
            ids.apply(&MetadataLogEntry::parse(*epoch, *kind, transformation));
        }
        Self(Arc::new(ids))
    }
}

/// The result of one read.
#[pyclass(frozen, module = "commitlog")]
pub struct AccordRead(accord::Read);

#[pymethods]
impl AccordRead {
    /// Offset of the next entry.
    #[getter]
    fn offset(&self) -> usize {
        self.0.offset
    }

    #[getter]
    fn mutations(&self) -> usize {
        self.0.mutations.len()
    }

    /// Why the read ended.
    #[getter]
    fn stop(&self) -> &'static str {
        match self.0.stop {
            Stop::NeedsBytes { .. } => "needs_bytes",
            Stop::Unwritten => "unwritten",
            Stop::Incomplete { .. } => "incomplete",
            Stop::Full => "full",
            Stop::Blocked(_) => "blocked",
            Stop::Undecodable { .. } => "undecodable",
        }
    }

    /// The end of the next entry, if the stop reason includes it.
    #[getter]
    fn end(&self) -> Option<usize> {
        match self.0.stop {
            Stop::NeedsBytes { end } | Stop::Incomplete { end } | Stop::Undecodable { end, .. } => {
                Some(end)
            }
            Stop::Unwritten | Stop::Full | Stop::Blocked(_) => None,
        }
    }

    /// Why the next entry cannot be read; empty for other stop reasons.
    #[getter]
    fn error(&self) -> String {
        match &self.0.stop {
            Stop::Blocked(error) | Stop::Undecodable { error, .. } => error.to_string(),
            _ => String::new(),
        }
    }

    /// Writes the mutations as a commit-log segment with this id.
    fn segment<'py>(&self, py: Python<'py>, id: i64) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &commit_log_segment(id, &self.0.mutations))
    }
}

/// Reads the segments of a node's Accord journal, one after the other.
#[pyclass(frozen, module = "commitlog")]
pub struct AccordReader {
    transactions: Mutex<Transactions>,
}

impl AccordReader {
    fn lock<T>(&self, work: impl FnOnce(&mut Transactions) -> T) -> T {
        let guard = self.transactions.lock();
        work(&mut guard.unwrap_or_else(PoisonError::into_inner))
    }
}

#[pymethods]
impl AccordReader {
    /// Restores the result of `to_stored`; empty bytes contain no transactions.
    #[new]
    fn new(stored: &[u8]) -> PyResult<Self> {
        let transactions = if stored.is_empty() {
            Transactions::default()
        } else {
            Transactions::from_stored(stored)
                .map_err(|error| PyValueError::new_err(error.to_string()))?
        };
        Ok(Self {
            transactions: Mutex::new(transactions),
        })
    }

    fn read(
        &self,
        py: Python<'_>,
        data: &[u8],
        offset: usize,
        schema: &Schema,
        ids: &ColumnIds,
        limit: usize,
    ) -> AccordRead {
        let mut rewriter = Rewriter::new(Arc::clone(&schema.0), Arc::clone(&ids.0));
        py.detach(|| {
            self.lock(|transactions| {
                AccordRead(accord::read(
                    transactions,
                    &mut rewriter,
                    data,
                    offset,
                    limit,
                ))
            })
        })
    }

    /// Skips the next entry, drops its transaction, and returns the offset after the entry.
    fn skip(&self, data: &[u8], offset: usize) -> Option<usize> {
        self.lock(|transactions| accord::skip(transactions, data, offset))
    }

    /// The number of transactions not yet applied, and the start of the oldest in microseconds.
    #[getter]
    fn waiting(&self) -> (usize, Option<i64>) {
        self.lock(|transactions| transactions.waiting())
    }

    fn to_stored<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.lock(|transactions| transactions.to_stored()))
    }
}
