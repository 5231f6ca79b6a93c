//! The steps of a partition, and the partition level at each step.

use crate::content::Content;
use crate::evaluation::View;
use crate::partition::RowWrite;
use crate::row::MergedRow;

/// When the rows before and after the changes are evaluated.
#[derive(Debug, Clone, Copy)]
pub struct Instants {
    pub before_s: i64,
    /// Must not be before `before_s`.
    pub after_s: i64,
    pub before_truncated_us: Option<i64>,
    pub after_truncated_us: Option<i64>,
    /// Whether each distinct write time is a step; otherwise all writes are one step.
    pub each: bool,
}

/// The partition level, starting from a step.
#[derive(Debug, Clone, Copy, Default)]
pub struct Context {
    pub step: usize,
    /// Everything up to this write time is deleted.
    pub deleted_to_us: Option<i64>,
    /// The index of the static content in [`Timeline::statics`].
    pub statics: usize,
}

/// Step 0 precedes the changes. The steps of writes follow, and the last step is expiry.
#[derive(Debug, Default)]
pub struct Timeline {
    /// The distinct write times of new writes, in order. With `each`, step n has entry n - 1.
    times_us: Vec<i64>,
    /// In the order of steps; the first is step 0.
    pub contexts: Vec<Context>,
    pub statics: Vec<Content>,
    /// The static content after expiry.
    pub last_statics: usize,
    /// The next static expiry before the changes.
    pub first_expiry_s: Option<i64>,
    /// The largest write time of new writes to the partition level.
    pub partition_us: Option<i64>,
    each: bool,
}

impl Timeline {
    /// Begins a partition.
    pub fn begin(&mut self, instants: &Instants, view: View<'_>) {
        let partition = view.partition;
        self.each = instants.each;
        self.contexts.clear();
        self.statics.clear();
        let truncation = instants
            .after_truncated_us
            .max(instants.before_truncated_us);
        let new_truncation_us = truncation.filter(|_| truncation > instants.before_truncated_us);
        let times_us = partition.deletions.iter().filter_map(|(_, new_us)| *new_us);
        let times_us = times_us.chain(partition.statics.iter().filter_map(|write| write.new_us));
        let mut level_us: Vec<i64> = times_us.chain(new_truncation_us).collect();
        level_us.sort_unstable();
        level_us.dedup();
        self.partition_us = level_us.last().copied();
        self.times_us.clear();
        self.times_us.extend_from_slice(&level_us);
        let of_rows = partition.rows.iter().filter_map(|write| write.new_us);
        let of_ranges = partition.ranges.iter().filter_map(|range| range.new_us);
        self.times_us.extend(of_rows.chain(of_ranges));
        self.times_us.sort_unstable();
        self.times_us.dedup();
        let steps: Vec<usize> = level_us.iter().map(|us| self.step(Some(*us))).collect();
        self.evaluate(instants, view, (truncation, new_truncation_us), &steps);
    }

    fn evaluate(
        &mut self,
        instants: &Instants,
        view: View<'_>,
        (truncation, new_truncation_us): (Option<i64>, Option<i64>),
        steps: &[usize],
    ) {
        let partition = view.partition;
        let mut writes: Vec<(usize, &RowWrite)> = partition
            .statics
            .iter()
            .map(|write| (self.step(write.new_us), write))
            .collect();
        writes.sort_by_key(|(step, _)| *step);
        let mut deletions: Vec<(usize, i64)> = partition
            .deletions
            .iter()
            .map(|(deletion, new_us)| (self.step(*new_us), deletion.ts_us))
            .collect();
        deletions.sort_unstable();
        let truncation_step = new_truncation_us.map(|us| self.step(Some(us)));
        let mut row = MergedRow::default();
        let mut deleted_to_us = instants.before_truncated_us;
        let mut writes = writes.into_iter().peekable();
        let mut deletions = deletions.into_iter().peekable();
        for step in [0].iter().chain(steps) {
            let step = *step;
            let mut step_writes = Vec::new();
            while let Some((_, write)) = writes.next_if(|(next_step, _)| *next_step <= step) {
                step_writes.push(write);
            }
            row.apply(step_writes, view.store);
            while let Some((_, ts_us)) = deletions.next_if(|(next_step, _)| *next_step <= step) {
                deleted_to_us = deleted_to_us.max(Some(ts_us));
            }
            if truncation_step.is_some_and(|truncated| truncated <= step) {
                deleted_to_us = deleted_to_us.max(truncation);
            }
            let mut content = Content::default();
            let now_s = instants.before_s;
            content.evaluate(&row, deleted_to_us, now_s, view);
            self.add_context(step, deleted_to_us, content, view);
        }
        let mut content = Content::default();
        content.evaluate(&row, deleted_to_us, instants.after_s, view);
        self.last_statics = self.statics.len();
        self.statics.push(content);
    }

    /// Adds a step, unless it cannot change any row.
    fn add_context(
        &mut self,
        step: usize,
        deleted_to_us: Option<i64>,
        content: Content,
        view: View<'_>,
    ) {
        if step == 0 {
            self.first_expiry_s = content.next_expiry_s();
        }
        let is_same = self.contexts.last().is_some_and(|last| {
            let statics = self.statics.get(last.statics);
            last.deleted_to_us == deleted_to_us
                && statics.is_some_and(|statics| statics.has_same_bytes(&content, view.store))
        });
        if is_same {
            // The values are equal, but the expiries may differ.
            if let Some(last) = self.statics.last_mut() {
                *last = content;
            }
            return;
        }
        self.contexts.push(Context {
            step,
            deleted_to_us,
            statics: self.statics.len(),
        });
        self.statics.push(content);
    }

    /// The number of steps of writes.
    pub fn steps(&self) -> usize {
        if self.each {
            self.times_us.len()
        } else {
            self.times_us.len().min(1)
        }
    }

    /// The step of a write with the time `new_us`; 0 if the write is not new.
    pub fn step(&self, new_us: Option<i64>) -> usize {
        match new_us {
            None => 0,
            Some(_) if !self.each => 1,
            Some(us) => {
                let before = self.times_us.partition_point(|time_us| *time_us < us);
                before.saturating_add(1)
            }
        }
    }

    /// The largest write time of a step of writes.
    pub fn time_us(&self, step: usize) -> i64 {
        let time_us = if self.each {
            step.checked_sub(1)
                .and_then(|place| self.times_us.get(place))
        } else {
            self.times_us.last()
        };
        time_us.copied().unwrap_or(i64::MIN)
    }

    /// The static content at an index of `statics`.
    pub fn statics(&self, place: usize) -> &Content {
        static NOTHING: Content = Content::empty();
        self.statics.get(place).unwrap_or(&NOTHING)
    }
}
