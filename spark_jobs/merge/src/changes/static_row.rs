//! The changes of the row that a partition with only static values shows.

use super::{Changes, last_cause};
use crate::error::Result;
use crate::evaluation::View;
use crate::output::{Cause, Change, ChangedRow, Shown, is_change};

impl Changes {
    /// Evaluates the row that a partition with only static values shows.
    pub(super) fn evaluate_static_row(&mut self, view: View<'_>) -> Result<()> {
        let timeline = &self.timeline;
        if timeline
            .statics
            .iter()
            .all(|content| content.cells.is_empty())
        {
            return Ok(());
        }
        let instants = self.instants;
        self.before.clear();
        let empty = &self.before;
        let mut rows = 0_i64;
        let mut contexts = timeline.contexts.iter().peekable();
        let mut place = 0;
        let mut known = None;
        let mut is_written = false;
        let mut row = ChangedRow {
            view,
            ck: None,
            existed: false,
        };
        let shown = |place: usize, rows: i64| {
            let statics = timeline.statics(place);
            (rows == 0 && !statics.cells.is_empty()).then_some(Shown {
                row: empty,
                statics,
                ckv: None,
            })
        };
        for (step, difference) in self.visible.iter().enumerate().take(timeline.steps() + 1) {
            rows = rows.saturating_add(*difference);
            while let Some(context) = contexts.next_if(|context| context.step <= step) {
                place = context.statics;
            }
            let written = shown(place, rows);
            if step == 0 {
                known = written;
                row.existed = known.is_some();
                continue;
            }
            is_written = is_change(known, written, view);
            if instants.each {
                if is_written {
                    let change = Change {
                        before: known,
                        after: written,
                        cause: Cause::Write {
                            ts_us: timeline.time_us(step),
                        },
                    };
                    self.output.push(row, change)?;
                }
                known = written;
            }
        }
        rows = rows.saturating_add(self.visible.last().copied().unwrap_or(0));
        let expired = shown(timeline.last_statics, rows);
        let expiries_s = timeline.statics(place).expiries_s();
        let expired_s = expiries_s
            .filter(|expiry_s| *expiry_s <= instants.after_s)
            .max();
        let written_us = (!instants.each && is_written).then(|| timeline.time_us(1));
        let change = Change {
            before: known,
            after: expired,
            cause: last_cause(written_us, expired_s.max(self.last_expiry_s), &instants),
        };
        if is_change(known, expired, view) {
            self.output.push(row, change)?;
        }
        let first_expiry_s = timeline.first_expiry_s.filter(|_| row.existed);
        let last_expiry_s = expired.and_then(|shown| shown.statics.next_expiry_s());
        self.output.end_row(row, first_expiry_s, last_expiry_s)
    }
}
