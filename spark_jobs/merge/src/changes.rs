//! Finds the changes that new writes and expiry cause in rows.
//!
//! Each row is evaluated at the steps that touch it: new writes to the row, new ranges that cover
//! it, and changes of the partition level. So the cost is usually linear. The worst case is the
//! number of rows times the number of changes of their partition level, each of which may really
//! change every row.

mod row;
mod static_row;
mod timeline;

use arrow_array::StructArray;
use arrow_schema::Fields;

use crate::arena::Span;
use crate::content::Content;
use crate::error::Result;
use crate::evaluation::{Evaluation, View};
use crate::output::{Cause, ChangeRows};
use crate::partition::{RangeDeletion, RowWrite};
use crate::ranges::RangeSweep;
use crate::row::MergedRow;
use timeline::Timeline;

pub use timeline::Instants;

const US_PER_S: i64 = 1_000_000;

/// Evaluates the changes of one partition at a time.
pub struct Changes {
    instants: Instants,
    timeline: Timeline,
    old_ranges: Vec<RangeDeletion>,
    new_ranges: Vec<RangeDeletion>,
    next_range: usize,
    /// New ranges that began at or before the current row.
    begun: Vec<RangeDeletion>,
    /// The sweep over `old_ranges`.
    sweep: RangeSweep,
    row: MergedRow,
    /// Step and index of each new write to the current row.
    writes: Vec<(usize, usize)>,
    /// The steps that touch the current row.
    steps: Vec<usize>,
    before: Content,
    written: Content,
    expired: Content,
    /// By step: the number of rows that become visible, minus the number that disappear.
    visible: Vec<i64>,
    last_expiry_s: Option<i64>,
    output: ChangeRows,
}

impl Changes {
    pub fn new(instants: Instants, output: ChangeRows) -> Self {
        Self {
            instants,
            timeline: Timeline::default(),
            old_ranges: Vec::new(),
            new_ranges: Vec::new(),
            next_range: 0,
            begun: Vec::new(),
            sweep: RangeSweep::default(),
            row: MergedRow::default(),
            writes: Vec::new(),
            steps: Vec::new(),
            before: Content::default(),
            written: Content::default(),
            expired: Content::default(),
            visible: Vec::new(),
            last_expiry_s: None,
            output,
        }
    }
}

impl Evaluation for Changes {
    fn fields(&self) -> Result<Fields> {
        Ok(self.output.fields())
    }

    fn begin(&mut self, view: View<'_>) -> Result<()> {
        self.timeline.begin(&self.instants, view);
        self.old_ranges.clear();
        self.new_ranges.clear();
        for range in &view.partition.ranges {
            match range.new_us {
                None => self.old_ranges.push(*range),
                Some(_) => self.new_ranges.push(*range),
            }
        }
        self.next_range = 0;
        self.begun.clear();
        self.sweep.clear();
        self.visible.clear();
        self.visible
            .resize(self.timeline.steps().saturating_add(2), 0);
        self.last_expiry_s = None;
        Ok(())
    }

    fn evaluate(&mut self, view: View<'_>, ck: Span, writes: &[RowWrite]) -> Result<()> {
        self.evaluate_row(view, view.store.arena.get(ck), writes)
    }

    fn end(&mut self, view: View<'_>) -> Result<()> {
        self.evaluate_static_row(view)
    }

    fn take(&mut self, is_last: bool) -> Result<Option<StructArray>> {
        self.output.take(is_last)
    }
}

/// The cause of a row's last change, which is a write at `written_us`, or else an expiry.
fn last_cause(written_us: Option<i64>, expired_s: Option<i64>, instants: &Instants) -> Cause {
    match written_us {
        Some(ts_us) => Cause::Write { ts_us },
        None => Cause::Expiry {
            ts_us: expired_s
                .unwrap_or(instants.after_s)
                .saturating_mul(US_PER_S),
        },
    }
}
