use commitlog_core::cql_type::{CqlType, UserTypeField};

use super::super::{DecimalMode, ValueReader, VarintMode};
use super::{Result, ValueModes, number, write_nullable, write_string, write_value};

pub(super) fn write_list(
    out: &mut Vec<u8>,
    ty: &CqlType,
    element: &CqlType,
    bytes: &[u8],
    modes: ValueModes,
) -> Result<()> {
    let mut reader = ValueReader::new(ty, bytes);
    out.push(b'[');
    for index in 0..reader.read_count()? {
        if index > 0 {
            out.push(b',');
        }
        write_nullable(out, element, reader.read_element()?, modes)?;
    }
    out.push(b']');
    reader.finish()
}

pub(super) fn write_vector(
    out: &mut Vec<u8>,
    ty: &CqlType,
    element: &CqlType,
    dimension: u32,
    bytes: &[u8],
    modes: ValueModes,
) -> Result<()> {
    let mut reader = ValueReader::of_vector(ty, bytes)?;
    let fixed_length = element.fixed_length();
    out.push(b'[');
    for index in 0..dimension {
        if index > 0 {
            out.push(b',');
        }
        let bytes = reader.read_vector_element(fixed_length)?;
        write_value(out, element, bytes, modes)?;
    }
    out.push(b']');
    reader.finish()
}

pub(super) fn write_map(
    out: &mut Vec<u8>,
    ty: &CqlType,
    key: &CqlType,
    value: &CqlType,
    bytes: &[u8],
    modes: ValueModes,
) -> Result<()> {
    let mut reader = ValueReader::new(ty, bytes);
    let mut entries = EntryWriter::open(out, key, value, modes);
    for _ in 0..reader.read_count()? {
        let key = reader.read_element()?;
        let value = reader.read_element()?;
        entries.write(out, key, value)?;
    }
    entries.close(out);
    reader.finish()
}

/// Writes a map: an object if its keys are strings in Connect's schema, else an array of pairs.
pub(super) struct EntryWriter<'t> {
    key: &'t CqlType,
    value: &'t CqlType,
    modes: ValueModes,
    is_object: bool,
    is_first: bool,
}

impl<'t> EntryWriter<'t> {
    pub(super) fn open(
        out: &mut Vec<u8>,
        key: &'t CqlType,
        value: &'t CqlType,
        modes: ValueModes,
    ) -> Self {
        let is_object = is_string(key, modes);
        out.push(if is_object { b'{' } else { b'[' });
        Self {
            key,
            value,
            modes,
            is_object,
            is_first: true,
        }
    }

    pub(super) fn write(
        &mut self,
        out: &mut Vec<u8>,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
    ) -> Result<()> {
        if !self.is_first {
            out.push(b',');
        }
        self.is_first = false;
        if self.is_object {
            match key {
                Some(key) if !key.is_empty() => write_value(out, self.key, key, self.modes)?,
                // Member names cannot be `null`, so a null or empty key becomes an empty string.
                _ => out.extend_from_slice(br#""""#),
            }
            out.push(b':');
            return write_nullable(out, self.value, value, self.modes);
        }
        out.push(b'[');
        write_nullable(out, self.key, key, self.modes)?;
        out.push(b',');
        write_nullable(out, self.value, value, self.modes)?;
        out.push(b']');
        Ok(())
    }

    pub(super) fn close(&self, out: &mut Vec<u8>) {
        out.push(if self.is_object { b'}' } else { b']' });
    }
}

/// Returns whether Connect's schema of the type is a string.
pub(crate) fn is_string(ty: &CqlType, modes: ValueModes) -> bool {
    match ty {
        CqlType::Ascii | CqlType::Text | CqlType::Uuid | CqlType::TimeUuid | CqlType::Inet => true,
        CqlType::Decimal => modes.decimal == DecimalMode::String,
        CqlType::VarInt => modes.varint == VarintMode::String,
        _ => false,
    }
}

pub(super) fn write_tuple(
    out: &mut Vec<u8>,
    ty: &CqlType,
    fields: &[CqlType],
    bytes: &[u8],
    modes: ValueModes,
) -> Result<()> {
    let mut reader = ValueReader::new(ty, bytes);
    out.push(b'{');
    for (index, field) in fields.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(br#""field"#);
        number::write_integer(out, index.saturating_add(1));
        out.extend_from_slice(br#"":"#);
        write_nullable(out, field, reader.read_field()?, modes)?;
    }
    out.push(b'}');
    reader.finish()
}

pub(super) fn write_user_type(
    out: &mut Vec<u8>,
    ty: &CqlType,
    fields: &[UserTypeField],
    bytes: &[u8],
    modes: ValueModes,
) -> Result<()> {
    let mut reader = ValueReader::new(ty, bytes);
    out.push(b'{');
    for (index, field) in fields.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_string(out, field.name.as_bytes());
        out.push(b':');
        write_nullable(out, &field.cql_type, reader.read_field()?, modes)?;
    }
    out.push(b'}');
    reader.finish()
}
