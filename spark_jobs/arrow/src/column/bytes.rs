use arrow_array::builder::{ArrayBuilder, BinaryBuilder, StringBuilder};
use commitlog_core::cql_type::CqlType;

use super::{Column, check_room, has_empty, one_cell};
use crate::Misfit;

/// `ascii` and `text`. Cassandra stores only valid text, so invalid bytes are rejected.
pub struct Text {
    cql_type: CqlType,
    builder: StringBuilder,
}

impl Text {
    pub fn new(cql_type: &CqlType) -> Self {
        Self {
            cql_type: cql_type.clone(),
            builder: StringBuilder::new(),
        }
    }

    #[cold]
    fn misfit(&self, length: usize) -> Misfit {
        let (cql_type, encoding) = match self.cql_type {
            CqlType::Ascii => ("ascii", "ASCII"),
            _ => ("text", "UTF-8"),
        };
        Misfit::Text {
            cql_type,
            encoding,
            length,
        }
    }
}

impl Column for Text {
    fn append(&mut self, bytes: Option<&[u8]>) -> Result<(), Misfit> {
        let Some(bytes) = bytes else {
            self.builder.append_null();
            return Ok(());
        };
        check_room(self.builder.values_slice().len(), bytes.len())?;
        match std::str::from_utf8(bytes) {
            Ok(text) if self.cql_type != CqlType::Ascii || text.is_ascii() => {
                self.builder.append_value(text);
                Ok(())
            }
            _ => Err(self.misfit(bytes.len())),
        }
    }

    one_cell!();
}

/// Blobs and values of custom types, which stay bytes.
pub struct Binary {
    cql_type: CqlType,
    builder: BinaryBuilder,
}

impl Binary {
    pub fn new(cql_type: &CqlType) -> Self {
        Self {
            cql_type: cql_type.clone(),
            builder: BinaryBuilder::new(),
        }
    }
}

impl Column for Binary {
    fn append(&mut self, bytes: Option<&[u8]>) -> Result<(), Misfit> {
        match bytes {
            Some(bytes) if !bytes.is_empty() || has_empty(&self.cql_type) => {
                check_room(self.builder.values_slice().len(), bytes.len())?;
                self.builder.append_value(bytes);
            }
            _ => self.builder.append_null(),
        }
        Ok(())
    }

    one_cell!();
}
