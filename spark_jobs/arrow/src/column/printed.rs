use std::io::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr};

use arrow_array::builder::{ArrayBuilder, StringBuilder};
use commitlog_core::cql_type::CqlType;
use commitlog_events::value::{ValueError, text};

use super::{Column, check_room, one_cell};
use crate::Misfit;

/// Types whose values are rendered as text.
pub struct Printed {
    cql_type: CqlType,
    builder: StringBuilder,
    text: Vec<u8>,
}

impl Printed {
    pub fn new(cql_type: &CqlType) -> Self {
        Self {
            cql_type: cql_type.clone(),
            builder: StringBuilder::new(),
            text: Vec::new(),
        }
    }

    fn print(&mut self, bytes: &[u8]) -> Result<(), ValueError> {
        self.text.clear();
        match self.cql_type {
            CqlType::Inet => write_inet(&mut self.text, bytes),
            _ => text::write_text(&mut self.text, &self.cql_type, bytes),
        }
    }
}

impl Column for Printed {
    fn append(&mut self, bytes: Option<&[u8]>) -> Result<(), Misfit> {
        let Some(bytes) = bytes.filter(|bytes| !bytes.is_empty()) else {
            self.builder.append_null();
            return Ok(());
        };
        self.print(bytes)?;
        check_room(self.builder.values_slice().len(), self.text.len())?;
        // All of these texts are ASCII.
        self.builder
            .append_value(std::str::from_utf8(&self.text).unwrap_or_default());
        Ok(())
    }

    one_cell!();
}

/// Writes the short form (RFC 5952). An IPv4-mapped IPv6 address stays an IPv6 address.
fn write_inet(out: &mut Vec<u8>, bytes: &[u8]) -> Result<(), ValueError> {
    // Writing into a Vec cannot fail.
    if let Ok(octets) = <[u8; 4]>::try_from(bytes) {
        let _ = write!(out, "{}", Ipv4Addr::from(octets));
    } else if let Ok(octets) = <[u8; 16]>::try_from(bytes) {
        let _ = write!(out, "{}", Ipv6Addr::from(octets));
    } else {
        return Err(ValueError::length(&CqlType::Inet, "4 or 16", bytes.len()));
    }
    Ok(())
}
