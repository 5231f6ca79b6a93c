//! The changes of one row.

use super::timeline::Timeline;
use super::{Changes, last_cause};
use crate::arena::Span;
use crate::content::Content;
use crate::error::Result;
use crate::evaluation::View;
use crate::output::{Cause, Change, ChangedRow, Shown, is_change};
use crate::partition::RowWrite;
use crate::row::MergedRow;

impl Changes {
    /// Finds the steps that touch a row, and updates `begun` for the position of the row.
    fn find_steps(&mut self, ck: &[u8], writes: &[RowWrite], view: View<'_>) {
        let arena = &view.store.arena;
        while let Some(range) = self.new_ranges.get(self.next_range)
            && arena.get(range.low) <= ck
        {
            self.begun.push(*range);
            self.next_range = self.next_range.saturating_add(1);
        }
        self.begun.retain(|range| ck < arena.get(range.high));
        let timeline = &self.timeline;
        let new = writes
            .iter()
            .enumerate()
            .filter(|(_, write)| write.new_us.is_some());
        self.writes.clear();
        self.writes
            .extend(new.map(|(index, write)| (timeline.step(write.new_us), index)));
        self.writes.sort_unstable();
        let level_steps = timeline.contexts.iter().skip(1).map(|context| context.step);
        let of_ranges = self.begun.iter().map(|range| timeline.step(range.new_us));
        let of_writes = self.writes.iter().map(|(step, _)| *step);
        self.steps.clear();
        self.steps
            .extend(level_steps.chain(of_ranges).chain(of_writes));
        self.steps.sort_unstable();
        self.steps.dedup();
    }

    /// Evaluates a row with a clustering key at the steps that touch it, and at the end.
    pub(super) fn evaluate_row(
        &mut self,
        view: View<'_>,
        ck: &[u8],
        writes: &[RowWrite],
    ) -> Result<()> {
        let store = view.store;
        self.find_steps(ck, writes, view);
        let mut range_us = self.sweep.deleted_to_us(&self.old_ranges, ck, &store.arena);
        let timeline = &self.timeline;
        let instants = self.instants;
        self.row.clear();
        self.row
            .apply(writes.iter().filter(|write| write.new_us.is_none()), store);
        let mut contexts = timeline.contexts.iter().copied().peekable();
        let mut context = contexts.next().unwrap_or_default();
        let deleted_to_us = |row: &MergedRow, level_us: Option<i64>, range_us: Option<i64>| {
            let row_us = row.deletion.map(|deletion| deletion.ts_us);
            level_us.max(range_us).max(row_us)
        };
        let before_us = deleted_to_us(&self.row, context.deleted_to_us, range_us);
        self.before
            .evaluate(&self.row, before_us, instants.before_s, view);
        let row = ChangedRow {
            view,
            ck: Some(ck),
            existed: self.before.is_visible(),
        };
        let first_expiry_s = next_expiry_s(&self.before, timeline.first_expiry_s);
        count(&mut self.visible, 0, false, row.existed);
        // The statics and the clustering of the row before the next change.
        let mut known = (context.statics, self.row.ckv);
        let mut written = known;
        let mut is_written = false;
        let mut has_steps = false;
        let mut new_writes = self.writes.iter().copied().peekable();
        for step in self.steps.iter().copied() {
            let found = std::iter::from_fn(|| new_writes.next_if(|write| write.0 <= step));
            let found: Vec<&RowWrite> = found.filter_map(|(_, i)| writes.get(i)).collect();
            self.row.apply(found, store);
            for range in self
                .begun
                .iter()
                .filter(|r| timeline.step(r.new_us) == step)
            {
                range_us = range_us.max(Some(range.deletion.ts_us));
            }
            while let Some(next) = contexts.next_if(|next| next.step <= step) {
                context = next;
            }
            let written_us = deleted_to_us(&self.row, context.deleted_to_us, range_us);
            self.written
                .evaluate(&self.row, written_us, instants.before_s, view);
            written = (context.statics, self.row.ckv);
            let was_visible = self.before.is_visible();
            count(
                &mut self.visible,
                step,
                was_visible,
                self.written.is_visible(),
            );
            let change = Change {
                before: shown(&self.before, known, timeline),
                after: shown(&self.written, written, timeline),
                cause: Cause::Write {
                    ts_us: timeline.time_us(step),
                },
            };
            is_written = is_change(change.before, change.after, view);
            if instants.each {
                if is_written {
                    self.output.push(row, change)?;
                }
                std::mem::swap(&mut self.before, &mut self.written);
                known = written;
            }
            has_steps = true;
        }
        let is_net = !instants.each && has_steps;
        let last = if is_net { &self.written } else { &self.before };
        let of_statics = timeline.statics(written.0);
        let expiries_s = last.expiries_s().chain(of_statics.expiries_s());
        let expired_s = expiries_s
            .filter(|expiry_s| *expiry_s <= instants.after_s)
            .max();
        if expired_s.is_some() {
            let expired_us = deleted_to_us(&self.row, context.deleted_to_us, range_us);
            self.expired
                .evaluate(&self.row, expired_us, instants.after_s, view);
        } else {
            self.expired.clone_from(last);
        }
        let last_step = timeline.steps().saturating_add(1);
        count(
            &mut self.visible,
            last_step,
            last.is_visible(),
            self.expired.is_visible(),
        );
        if last.is_visible() && !self.expired.is_visible() {
            self.last_expiry_s = self.last_expiry_s.max(expired_s);
        }
        let written_us = (is_net && is_written).then(|| {
            let of_writes = writes.iter().filter_map(|write| write.new_us);
            let of_ranges = self.begun.iter().filter_map(|range| range.new_us);
            let times_us = of_writes.chain(of_ranges).chain(timeline.partition_us);
            times_us.max().unwrap_or(i64::MIN)
        });
        let change = Change {
            before: shown(&self.before, known, timeline),
            after: shown(
                &self.expired,
                (timeline.last_statics, self.row.ckv),
                timeline,
            ),
            cause: last_cause(written_us, expired_s, &instants),
        };
        if is_change(change.before, change.after, view) {
            self.output.push(row, change)?;
        }
        let of_statics_s = timeline.statics(timeline.last_statics).next_expiry_s();
        let last_expiry_s = next_expiry_s(&self.expired, of_statics_s);
        self.output.end_row(row, first_expiry_s, last_expiry_s)
    }
}

/// Combines a row with its static content. Returns `None` if the row is not visible.
fn shown<'c>(
    row: &'c Content,
    (statics, ckv): (usize, Option<Span>),
    timeline: &'c Timeline,
) -> Option<Shown<'c>> {
    row.is_visible().then(|| Shown {
        row,
        statics: timeline.statics(statics),
        ckv,
    })
}

/// The next expiry among the values of a visible row and its static values.
fn next_expiry_s(row: &Content, of_statics_s: Option<i64>) -> Option<i64> {
    let expiries_s = row.next_expiry_s().into_iter().chain(of_statics_s);
    expiries_s.min().filter(|_| row.is_visible())
}

/// Records that a row becomes visible or disappears at a step.
fn count(visible: &mut [i64], step: usize, before: bool, after: bool) {
    if let Some(difference) = visible.get_mut(step) {
        *difference = difference.saturating_add(i64::from(after) - i64::from(before));
    }
}
