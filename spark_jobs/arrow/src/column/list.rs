use arrow_array::ArrayRef;
use arrow_schema::ArrowError;
use commitlog_core::cql_type::CqlType;
use commitlog_events::value::ValueReader;

use super::order;
use super::{Column, Element, ListEnds, not_multi_cell, offset};
use crate::{Misfit, Rendering};

/// `list`, `set` and `vector`.
pub struct List {
    cql_type: CqlType,
    element_type: CqlType,
    elements: Box<dyn Column>,
    ends: ListEnds,
}

impl List {
    /// Uses blob elements for a type without elements.
    pub fn new(cql_type: &CqlType, rendering: Rendering) -> Self {
        let element_type = match cql_type {
            CqlType::List(element) | CqlType::Set(element) | CqlType::Vector(element, _) => {
                (**element).clone()
            }
            _ => CqlType::Blob,
        };
        Self {
            cql_type: cql_type.clone(),
            elements: super::column(&element_type, rendering),
            element_type,
            ends: ListEnds::default(),
        }
    }

    fn end_row(&mut self, is_there: bool) -> Result<(), Misfit> {
        self.ends.end(offset(self.elements.rows())?, is_there);
        Ok(())
    }

    fn append_vector(&mut self, dimension: u32, bytes: &[u8]) -> Result<(), Misfit> {
        let element_length = self.element_type.fixed_length();
        let mut reader = ValueReader::of_vector(&self.cql_type, bytes)?;
        for _ in 0..dimension {
            let bytes = reader.read_vector_element(element_length)?;
            self.elements.append(Some(bytes))?;
        }
        Ok(reader.finish()?)
    }
}

impl Column for List {
    fn append(&mut self, bytes: Option<&[u8]>) -> Result<(), Misfit> {
        let Some(bytes) = bytes.filter(|bytes| !bytes.is_empty()) else {
            return self.end_row(false);
        };
        if let CqlType::Vector(_, dimension) = self.cql_type {
            self.append_vector(dimension, bytes)?;
        } else {
            let mut reader = ValueReader::new(&self.cql_type, bytes);
            for _ in 0..reader.read_count()? {
                self.elements.append(reader.read_element()?)?;
            }
            reader.finish()?;
        }
        self.end_row(true)
    }

    fn append_elements(&mut self, elements: &mut [Element<'_>]) -> Result<(), Misfit> {
        match self.cql_type {
            CqlType::List(_) => {
                order::sort(elements, &CqlType::TimeUuid)?;
                for element in elements.iter() {
                    self.elements.append(element.value)?;
                }
            }
            CqlType::Set(_) => {
                order::sort(elements, &self.element_type)?;
                for element in elements.iter() {
                    self.elements.append(Some(element.path))?;
                }
            }
            _ => return Err(not_multi_cell(&self.cql_type)),
        }
        self.end_row(!elements.is_empty())
    }

    fn rows(&self) -> usize {
        self.ends.rows()
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let elements = self.elements.finish()?;
        self.ends.finish_lists(elements)
    }
}
