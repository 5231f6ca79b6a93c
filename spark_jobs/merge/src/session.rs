//! Drives an evaluation over input batches, one group of partitions at a time.

use arrow_array::StructArray;
use arrow_schema::Fields;

use crate::columns::Columns;
use crate::error::Result;
use crate::evaluation::{Evaluation, View};
use crate::ingest::Ingest;
use crate::input::{Input, Part};
use crate::partition::Group;
use crate::state::add_state;
use crate::window::Window;

/// One pass over sorted input batches.
pub struct Session {
    evaluation: Box<dyn Evaluation>,
    columns: Columns,
    window: Window,
    has_news: bool,
    input: Option<Input>,
    is_finished: bool,
    group: Group,
    /// The index of the partition that is evaluated, and of the first write to its next row.
    evaluated: Option<(usize, usize)>,
}

impl Session {
    pub fn new(
        evaluation: Box<dyn Evaluation>,
        columns: Columns,
        window: Window,
        has_news: bool,
    ) -> Self {
        Self {
            evaluation,
            columns,
            window,
            has_news,
            input: None,
            is_finished: false,
            group: Group::default(),
            evaluated: None,
        }
    }

    /// The columns of the output.
    pub fn fields(&self) -> Result<Fields> {
        self.evaluation.fields()
    }

    /// Sets the next input batch. Call it first, or after `next_batch` has returned `None`; otherwise
    /// unread rows of the previous batch are lost.
    ///
    /// # Errors
    /// [`crate::MergeError::Batch`] for missing columns or wrong column types.
    pub fn push(&mut self, batch: &StructArray) -> Result<()> {
        self.input = Some(Input::new(batch, self.has_news)?);
        Ok(())
    }

    /// Ends the input.
    pub fn finish(&mut self) {
        self.is_finished = true;
    }

    /// Returns the next batch of the output; `None` if more input is needed, or at the end.
    ///
    /// # Errors
    /// For invalid events and states, and for values that do not fit their types.
    pub fn next_batch(&mut self) -> Result<Option<StructArray>> {
        loop {
            while let Some((place, row)) = self.evaluated {
                if let Some(batch) = self.evaluation.take(false)? {
                    return Ok(Some(batch));
                }
                let Some(partition) = self.group.partitions.get(place) else {
                    self.group.clear();
                    self.evaluated = None;
                    break;
                };
                let view = View {
                    token: self.group.token,
                    partition,
                    store: &self.group.store,
                    columns: &self.columns,
                };
                let writes = partition.row_writes(row, &self.group.store.arena);
                if let Some(first) = writes.first() {
                    self.evaluated = Some((place, row.saturating_add(writes.len())));
                    self.evaluation.evaluate(view, first.ck, writes)?;
                } else {
                    self.evaluation.end(view)?;
                    self.begin(place.saturating_add(1))?;
                }
            }
            if !self.read()? {
                break;
            }
        }
        if self.is_finished {
            return self.evaluation.take(true);
        }
        Ok(None)
    }

    /// Reads input up to the end of a group. Returns false if no group is complete yet.
    fn read(&mut self) -> Result<bool> {
        while let Some(input) = &mut self.input {
            let Some(token) = input.token() else {
                self.input = None;
                break;
            };
            if self.group.partitions.is_empty() {
                self.group.token = token;
            } else if self.group.token != token {
                self.evaluate()?;
                return Ok(true);
            }
            let is_new = input.is_new();
            match input.part()? {
                Part::Event(text) => Ingest {
                    group: &mut self.group,
                    columns: &mut self.columns,
                    window: &self.window,
                }
                .add_event(text, is_new)?,
                Part::State(state) => add_state(
                    &mut self.group,
                    &mut self.columns,
                    &self.window,
                    state,
                    is_new,
                )?,
            }
            input.row = input.row.saturating_add(1);
        }
        let is_group = self.is_finished && !self.group.partitions.is_empty();
        if is_group {
            self.evaluate()?;
        }
        Ok(is_group)
    }

    fn evaluate(&mut self) -> Result<()> {
        self.group.sort();
        self.begin(0)
    }

    fn begin(&mut self, place: usize) -> Result<()> {
        self.evaluated = Some((place, 0));
        match self.group.partitions.get(place) {
            Some(partition) => self.evaluation.begin(View {
                token: self.group.token,
                partition,
                store: &self.group.store,
                columns: &self.columns,
            }),
            None => Ok(()),
        }
    }
}
