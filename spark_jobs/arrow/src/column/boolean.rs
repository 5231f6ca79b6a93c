use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::{ArrayBuilder, BooleanBuilder};
use arrow_schema::ArrowError;
use commitlog_core::cql_type::CqlType;
use commitlog_events::value::fixed;

use super::{Column, Element, not_multi_cell};
use crate::Misfit;

/// `boolean`: any byte except 0 is true.
#[derive(Default)]
pub struct Boolean(BooleanBuilder);

impl Column for Boolean {
    fn append(&mut self, bytes: Option<&[u8]>) -> Result<(), Misfit> {
        match bytes {
            None | Some([]) => self.0.append_null(),
            Some(bytes) => {
                let [byte] = fixed(&CqlType::Boolean, bytes)?;
                self.0.append_value(byte != 0);
            }
        }
        Ok(())
    }

    fn append_elements(&mut self, _: &mut [Element<'_>]) -> Result<(), Misfit> {
        Err(not_multi_cell(&CqlType::Boolean))
    }

    fn rows(&self) -> usize {
        self.0.len()
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        Ok(Arc::new(self.0.finish()))
    }
}
