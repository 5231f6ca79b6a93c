use std::sync::Arc;

use arrow_array::builder::{ArrayBuilder, Int32Builder, Int64Builder};
use arrow_array::{ArrayRef, StructArray};
use arrow_buffer::NullBufferBuilder;
use arrow_schema::{ArrowError, DataType, Field, Fields};
use commitlog_core::cql_type::CqlType;
use commitlog_events::value::Duration;

use super::{Column, Element, not_multi_cell};
use crate::Misfit;

/// `duration` as its three parts, which cannot be added up without a calendar.
pub struct Durations {
    months: Int32Builder,
    days: Int32Builder,
    nanoseconds: Int64Builder,
    nulls: NullBufferBuilder,
}

impl Default for Durations {
    fn default() -> Self {
        Self {
            months: Int32Builder::new(),
            days: Int32Builder::new(),
            nanoseconds: Int64Builder::new(),
            nulls: NullBufferBuilder::new(0),
        }
    }
}

impl Column for Durations {
    fn append(&mut self, bytes: Option<&[u8]>) -> Result<(), Misfit> {
        let duration = match bytes {
            None | Some([]) => None,
            Some(bytes) => Some(Duration::parse(bytes)?),
        };
        self.months.append_option(duration.map(|d| d.months));
        self.days.append_option(duration.map(|d| d.days));
        self.nanoseconds
            .append_option(duration.map(|d| d.nanoseconds));
        self.nulls.append(duration.is_some());
        Ok(())
    }

    fn append_elements(&mut self, _: &mut [Element<'_>]) -> Result<(), Misfit> {
        Err(not_multi_cell(&CqlType::Duration))
    }

    fn rows(&self) -> usize {
        self.months.len()
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let fields = Fields::from(vec![
            Field::new("months", DataType::Int32, true),
            Field::new("days", DataType::Int32, true),
            Field::new("nanoseconds", DataType::Int64, true),
        ]);
        let parts: Vec<ArrayRef> = vec![
            Arc::new(self.months.finish()),
            Arc::new(self.days.finish()),
            Arc::new(self.nanoseconds.finish()),
        ];
        let array = StructArray::try_new(fields, parts, self.nulls.finish())?;
        Ok(Arc::new(array))
    }
}
