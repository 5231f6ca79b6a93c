//! Encodes values as Avro, with the same meaning as in JSON (`docs/reference/types.md`).

use commitlog_core::cql_type::CqlType;

use crate::event_writer::Out;
use crate::value::decimal::{Decimal, Integer};
use crate::value::json::{ElementCell, is_plain_text, is_string};
use crate::value::{
    DecimalMode, Duration, DurationMode, Result, ValueError, ValueModes, ValueReader, VarintMode,
    fixed, has_empty, write_host_address, write_uuid,
};

pub type Written<'b> = Result<Out<'b>>;

/// Selects null in `["null", T]`.
pub const NULL: &[u8; 1] = &[0];
/// Selects `T` in `["null", T]`.
pub const THERE: &[u8; 1] = &[2];
/// The end marker of an array or a map.
pub const END: &[u8; 1] = &[0];

/// Writes values as Avro.
pub struct ValueWriter<'s> {
    /// Scratch space for values that are written as text.
    pub scratch: &'s mut Vec<u8>,
    pub modes: ValueModes,
}

impl ValueWriter<'_> {
    /// Writes a value as `["null", T]`; it is null exactly where JSON contains `null`.
    #[inline]
    pub fn nullable<'b>(
        &mut self,
        mut text: Out<'b>,
        ty: &CqlType,
        bytes: Option<&[u8]>,
    ) -> Written<'b> {
        match bytes {
            Some(bytes) if !bytes.is_empty() || has_empty(ty) => {
                text.literal(THERE);
                self.value(text, ty, bytes)
            }
            _ => {
                text.literal(NULL);
                Ok(text)
            }
        }
    }

    /// Writes a value that is not null.
    #[inline(never)]
    pub fn value<'b>(&mut self, mut text: Out<'b>, ty: &CqlType, bytes: &[u8]) -> Written<'b> {
        match ty {
            CqlType::Ascii | CqlType::Text => return Ok(string(text, bytes)),
            CqlType::Blob | CqlType::Custom(_) => text.bytes(bytes),
            CqlType::Boolean => {
                let [byte] = fixed(ty, bytes)?;
                text.literal(&[u8::from(byte != 0)]);
            }
            CqlType::TinyInt => text.varint(i8::from_be_bytes(fixed(ty, bytes)?).into()),
            CqlType::SmallInt => text.varint(i16::from_be_bytes(fixed(ty, bytes)?).into()),
            CqlType::Int => text.varint(i32::from_be_bytes(fixed(ty, bytes)?).into()),
            CqlType::BigInt | CqlType::Timestamp | CqlType::Time => {
                text.varint(i64::from_be_bytes(fixed(ty, bytes)?));
            }
            // Cassandra stores 1970-01-01 as day 2^31.
            CqlType::Date => {
                text.varint((i32::from_be_bytes(fixed(ty, bytes)?) ^ i32::MIN).into());
            }
            CqlType::Float => {
                let number = f32::from_be_bytes(fixed(ty, bytes)?);
                text.literal(&number.to_le_bytes());
            }
            CqlType::Double => {
                let number = f64::from_be_bytes(fixed(ty, bytes)?);
                text.literal(&number.to_le_bytes());
            }
            CqlType::VarInt => return self.varint(text, bytes),
            CqlType::Decimal => return self.decimal(text, bytes),
            CqlType::Duration => return self.duration(text, bytes),
            CqlType::Uuid | CqlType::TimeUuid => {
                self.scratch.clear();
                write_uuid(self.scratch, fixed(ty, bytes)?);
                text.bytes(self.scratch);
            }
            CqlType::Inet => {
                self.scratch.clear();
                self.scratch.push(b'/');
                write_host_address(self.scratch, bytes)?;
                text.bytes(self.scratch);
            }
            // Events never contain values of these types.
            CqlType::Counter | CqlType::Empty => {
                return Err(ValueError::length(ty, &0, bytes.len()));
            }
            CqlType::List(element) | CqlType::Set(element) => {
                let mut reader = ValueReader::new(ty, bytes);
                let count = reader.read_count()?;
                text = block(text, count.into());
                for _ in 0..count {
                    text = self.nullable(text, element, reader.read_element()?)?;
                }
                reader.finish()?;
                text = end_block(text);
            }
            CqlType::Map(key, value) => {
                let mut reader = ValueReader::new(ty, bytes);
                let count = reader.read_count()?;
                text = block(text, count.into());
                for _ in 0..count {
                    let entry_key = reader.read_element()?;
                    text = self.entry(text, key, value, entry_key, reader.read_element()?)?;
                }
                reader.finish()?;
                text = end_block(text);
            }
            CqlType::Tuple(fields) => {
                let mut reader = ValueReader::new(ty, bytes);
                for field in fields {
                    text = self.nullable(text, field, reader.read_field()?)?;
                }
                reader.finish()?;
            }
            CqlType::Udt(user_type) => {
                let mut reader = ValueReader::new(ty, bytes);
                for field in &user_type.fields {
                    text = self.nullable(text, &field.cql_type, reader.read_field()?)?;
                }
                reader.finish()?;
            }
            CqlType::Vector(element, dimension) => {
                return self.vector(text, ty, element, *dimension, bytes);
            }
        }
        Ok(text)
    }

    /// Writes the live elements of a multi-cell list or set.
    pub fn elements<'a, 'b>(
        &mut self,
        mut text: Out<'b>,
        element: &CqlType,
        cells: impl Iterator<Item = ElementCell<'a>> + Clone,
        bytes_of: impl Fn(ElementCell<'a>) -> &'a [u8],
    ) -> Written<'b> {
        let live = cells.filter(|cell| !cell.tombstone);
        let count = live.clone().count() as i64;
        text = block(text, count);
        for cell in live {
            text = self.nullable(text, element, Some(bytes_of(cell)))?;
        }
        Ok(end_block(text))
    }

    /// Writes the entries of a multi-cell map; the value of a removed key is null.
    pub fn entries<'a, 'b>(
        &mut self,
        mut text: Out<'b>,
        key: &CqlType,
        value: &CqlType,
        cells: impl Iterator<Item = ElementCell<'a>> + Clone,
    ) -> Written<'b> {
        let count = cells.clone().count() as i64;
        text = block(text, count);
        for cell in cells {
            let live = (!cell.tombstone).then_some(cell.value);
            text = self.entry(text, key, value, Some(cell.path), live)?;
        }
        Ok(end_block(text))
    }

    /// Writes an entry of an Avro map if the keys are strings, otherwise a record.
    fn entry<'b>(
        &mut self,
        mut text: Out<'b>,
        key: &CqlType,
        value: &CqlType,
        key_bytes: Option<&[u8]>,
        value_bytes: Option<&[u8]>,
    ) -> Written<'b> {
        if is_string(key, self.modes) {
            match key_bytes {
                Some(bytes) if !bytes.is_empty() => text = self.value(text, key, bytes)?,
                // Keys of Avro maps cannot be null, so a null or empty key becomes an empty string.
                _ => text.bytes(b""),
            }
        } else {
            text = self.nullable(text, key, key_bytes)?;
        }
        self.nullable(text, value, value_bytes)
    }

    fn vector<'b>(
        &mut self,
        mut text: Out<'b>,
        ty: &CqlType,
        element: &CqlType,
        dimension: u32,
        bytes: &[u8],
    ) -> Written<'b> {
        let mut reader = ValueReader::of_vector(ty, bytes)?;
        let fixed_length = element.fixed_length();
        text = block(text, dimension.into());
        for _ in 0..dimension {
            let bytes = reader.read_vector_element(fixed_length)?;
            text = self.nullable(text, element, Some(bytes))?;
        }
        reader.finish()?;
        Ok(end_block(text))
    }

    fn varint<'b>(&mut self, mut text: Out<'b>, bytes: &[u8]) -> Written<'b> {
        let integer = Integer::new(bytes);
        match self.modes.varint {
            VarintMode::Long => text.varint(integer.low_i64()),
            VarintMode::Precise | VarintMode::Digits => text.bytes(integer.bytes()),
            VarintMode::String => {
                integer.check_digits(&CqlType::VarInt)?;
                self.scratch.clear();
                integer.write_text(self.scratch);
                text.bytes(self.scratch);
            }
        }
        Ok(text)
    }

    fn decimal<'b>(&mut self, mut text: Out<'b>, bytes: &[u8]) -> Written<'b> {
        let decimal = Decimal::parse(bytes)?;
        match self.modes.decimal {
            DecimalMode::Double => {
                let number = decimal.to_f64(self.scratch)?;
                text.literal(&number.to_le_bytes());
            }
            DecimalMode::Precise => {
                text.varint(decimal.scale.into());
                text.bytes(decimal.unscaled.bytes());
            }
            DecimalMode::String => {
                self.scratch.clear();
                decimal.write_plain(self.scratch)?;
                text.bytes(self.scratch);
            }
        }
        Ok(text)
    }

    fn duration<'b>(&mut self, mut text: Out<'b>, bytes: &[u8]) -> Written<'b> {
        let duration = Duration::parse(bytes)?;
        match self.modes.duration {
            DurationMode::Nanos => text.varint(duration.total_nanoseconds()),
            DurationMode::Precise => {
                text.varint(duration.months.into());
                text.varint(duration.days.into());
                text.varint(duration.nanoseconds);
            }
            DurationMode::String => {
                self.scratch.clear();
                duration.write_text(self.scratch);
                text.bytes(self.scratch);
            }
        }
        Ok(text)
    }
}

/// Writes a string; invalid UTF-8 becomes U+FFFD, as in JSON.
#[inline]
pub fn string<'b>(mut text: Out<'b>, bytes: &[u8]) -> Out<'b> {
    if is_plain_text(bytes) || std::str::from_utf8(bytes).is_ok() {
        text.bytes(bytes);
    } else {
        text.bytes(String::from_utf8_lossy(bytes).as_bytes());
    }
    text
}

/// Starts an array or a map of `count` items.
#[inline]
pub fn block(mut text: Out<'_>, count: i64) -> Out<'_> {
    if count > 0 {
        text.varint(count);
    }
    text
}

/// Ends an array or a map.
#[inline]
pub fn end_block(mut text: Out<'_>) -> Out<'_> {
    text.literal(END);
    text
}
