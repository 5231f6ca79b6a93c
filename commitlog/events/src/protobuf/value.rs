//! Encodes values as Protobuf, with the same meaning as in JSON (`docs/reference/types.md`).

use commitlog_core::cql_type::CqlType;

use super::{MessageBuffer, WireType};
use crate::value::decimal::{Decimal, Integer};
use crate::value::json::ElementCell;
use crate::value::{
    DecimalMode, Duration, DurationMode, Result, ValueError, ValueModes, ValueReader, VarintMode,
    fixed, has_empty, write_host_address, write_uuid,
};

/// `element` of a list; `entry` of a map.
const ELEMENT: u32 = 1;
/// Indexes of the null elements of a list.
const NULL_AT: u32 = 2;

/// Writes values as Protobuf.
pub(crate) struct ValueWriter<'s> {
    pub buffer: &'s mut MessageBuffer,
    /// Scratch space for values that are written as text.
    pub scratch: &'s mut Vec<u8>,
    pub modes: ValueModes,
}

impl ValueWriter<'_> {
    /// Writes a field and returns true, or writes nothing where JSON contains `null`.
    pub fn field(&mut self, number: u32, ty: &CqlType, bytes: Option<&[u8]>) -> Result<bool> {
        match bytes {
            Some(bytes) if !bytes.is_empty() || has_empty(ty) => {
                self.value(number, ty, bytes)?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Writes a field whose value is not null.
    fn value(&mut self, number: u32, ty: &CqlType, bytes: &[u8]) -> Result<()> {
        let integer = match ty {
            CqlType::Ascii | CqlType::Text => {
                self.string(number, bytes);
                return Ok(());
            }
            CqlType::Blob | CqlType::Custom(_) => {
                self.buffer.text(number, bytes);
                return Ok(());
            }
            CqlType::Boolean => {
                let [byte] = fixed(ty, bytes)?;
                i64::from(byte != 0)
            }
            CqlType::TinyInt => i8::from_be_bytes(fixed(ty, bytes)?).into(),
            CqlType::SmallInt => i16::from_be_bytes(fixed(ty, bytes)?).into(),
            CqlType::Int => i32::from_be_bytes(fixed(ty, bytes)?).into(),
            CqlType::BigInt | CqlType::Timestamp | CqlType::Time => {
                i64::from_be_bytes(fixed(ty, bytes)?)
            }
            // Cassandra stores 1970-01-01 as day 2^31.
            CqlType::Date => (i32::from_be_bytes(fixed(ty, bytes)?) ^ i32::MIN).into(),
            CqlType::Float => {
                let number_bytes = f32::from_be_bytes(fixed(ty, bytes)?).to_le_bytes();
                self.buffer.fixed32(number, number_bytes);
                return Ok(());
            }
            CqlType::Double => {
                let number_bytes = f64::from_be_bytes(fixed(ty, bytes)?).to_le_bytes();
                self.buffer.fixed64(number, number_bytes);
                return Ok(());
            }
            CqlType::VarInt => return self.varint(number, bytes),
            CqlType::Decimal => return self.decimal(number, bytes),
            CqlType::Duration => return self.duration(number, bytes),
            CqlType::Uuid | CqlType::TimeUuid => {
                self.scratch.clear();
                write_uuid(self.scratch, fixed(ty, bytes)?);
                self.buffer.text(number, self.scratch);
                return Ok(());
            }
            CqlType::Inet => {
                self.scratch.clear();
                self.scratch.push(b'/');
                write_host_address(self.scratch, bytes)?;
                self.buffer.text(number, self.scratch);
                return Ok(());
            }
            // Events never contain values of these types.
            CqlType::Counter | CqlType::Empty => {
                return Err(ValueError::length(ty, &0, bytes.len()));
            }
            CqlType::List(_)
            | CqlType::Set(_)
            | CqlType::Map(..)
            | CqlType::Tuple(_)
            | CqlType::Udt(_)
            | CqlType::Vector(..) => return self.message(number, ty, bytes),
        };
        self.buffer.integer(number, integer);
        Ok(())
    }

    fn message(&mut self, number: u32, ty: &CqlType, bytes: &[u8]) -> Result<()> {
        self.buffer.open(number);
        match ty {
            CqlType::List(element) | CqlType::Set(element) => {
                let mut reader = ValueReader::new(ty, bytes);
                let mut list = ListWriter::default();
                for _ in 0..reader.read_count()? {
                    list.element(self, element, reader.read_element()?)?;
                }
                reader.finish()?;
                list.end(self);
            }
            CqlType::Vector(element, dimension) => {
                let mut reader = ValueReader::of_vector(ty, bytes)?;
                let fixed_length = element.fixed_length();
                let mut list = ListWriter::default();
                for _ in 0..*dimension {
                    let bytes = reader.read_vector_element(fixed_length)?;
                    list.element(self, element, Some(bytes))?;
                }
                reader.finish()?;
                list.end(self);
            }
            CqlType::Map(key, value) => {
                let mut reader = ValueReader::new(ty, bytes);
                for _ in 0..reader.read_count()? {
                    let entry_key = reader.read_element()?;
                    self.entry(key, value, entry_key, reader.read_element()?)?;
                }
                reader.finish()?;
            }
            CqlType::Tuple(fields) => {
                let mut reader = ValueReader::new(ty, bytes);
                for (number, field) in (1_u32..).zip(fields) {
                    self.field(number, field, reader.read_field()?)?;
                }
                reader.finish()?;
            }
            CqlType::Udt(user_type) => {
                let mut reader = ValueReader::new(ty, bytes);
                for (number, field) in (1_u32..).zip(&user_type.fields) {
                    self.field(number, &field.cql_type, reader.read_field()?)?;
                }
                reader.finish()?;
            }
            _ => {}
        }
        self.buffer.close();
        Ok(())
    }

    /// Writes the live elements of a multi-cell list or set.
    pub fn elements<'a>(
        &mut self,
        number: u32,
        element: &CqlType,
        cells: impl Iterator<Item = ElementCell<'a>>,
        bytes_of: impl Fn(ElementCell<'a>) -> &'a [u8],
    ) -> Result<()> {
        self.buffer.open(number);
        let mut list = ListWriter::default();
        for cell in cells.filter(|cell| !cell.tombstone) {
            list.element(self, element, Some(bytes_of(cell)))?;
        }
        list.end(self);
        self.buffer.close();
        Ok(())
    }

    /// Writes the entries of a multi-cell map; a removed key has no value.
    pub fn entries<'a>(
        &mut self,
        number: u32,
        key: &CqlType,
        value: &CqlType,
        cells: impl Iterator<Item = ElementCell<'a>>,
    ) -> Result<()> {
        self.buffer.open(number);
        for cell in cells {
            let live = (!cell.tombstone).then_some(cell.value);
            self.entry(key, value, Some(cell.path), live)?;
        }
        self.buffer.close();
        Ok(())
    }

    fn entry(
        &mut self,
        key: &CqlType,
        value: &CqlType,
        key_bytes: Option<&[u8]>,
        value_bytes: Option<&[u8]>,
    ) -> Result<()> {
        self.buffer.open(ELEMENT);
        self.field(1, key, key_bytes)?;
        self.field(2, value, value_bytes)?;
        self.buffer.close();
        Ok(())
    }

    /// Writes a string; invalid UTF-8 becomes U+FFFD, as in JSON.
    pub fn string(&mut self, number: u32, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        self.buffer.text(number, text.as_bytes());
    }

    fn varint(&mut self, number: u32, bytes: &[u8]) -> Result<()> {
        let integer = Integer::new(bytes);
        match self.modes.varint {
            VarintMode::Long => self.buffer.integer(number, integer.low_i64()),
            VarintMode::Precise | VarintMode::Digits => {
                self.buffer.text(number, integer.bytes());
            }
            VarintMode::String => {
                integer.check_digits(&CqlType::VarInt)?;
                self.scratch.clear();
                integer.write_text(self.scratch);
                self.buffer.text(number, self.scratch);
            }
        }
        Ok(())
    }

    fn decimal(&mut self, number: u32, bytes: &[u8]) -> Result<()> {
        let decimal = Decimal::parse(bytes)?;
        match self.modes.decimal {
            DecimalMode::Double => {
                let value = decimal.to_f64(self.scratch)?;
                self.buffer.fixed64(number, value.to_le_bytes());
            }
            DecimalMode::Precise => {
                self.buffer.open(number);
                self.buffer.integer(1, decimal.scale.into());
                self.buffer.text(2, decimal.unscaled.bytes());
                self.buffer.close();
            }
            DecimalMode::String => {
                self.scratch.clear();
                decimal.write_plain(self.scratch)?;
                self.buffer.text(number, self.scratch);
            }
        }
        Ok(())
    }

    fn duration(&mut self, number: u32, bytes: &[u8]) -> Result<()> {
        let duration = Duration::parse(bytes)?;
        match self.modes.duration {
            DurationMode::Nanos => self.buffer.integer(number, duration.total_nanoseconds()),
            DurationMode::Precise => {
                self.buffer.open(number);
                self.buffer.integer(1, duration.months.into());
                self.buffer.integer(2, duration.days.into());
                self.buffer.integer(3, duration.nanoseconds);
                self.buffer.close();
            }
            DurationMode::String => {
                self.scratch.clear();
                duration.write_text(self.scratch);
                self.buffer.text(number, self.scratch);
            }
        }
        Ok(())
    }

    /// Writes a placeholder for a null list element.
    fn placeholder(&mut self, number: u32, ty: &CqlType) {
        match ty {
            CqlType::Float => self.buffer.fixed32(number, [0; 4]),
            CqlType::Double => self.buffer.fixed64(number, [0; 8]),
            CqlType::Decimal if self.modes.decimal == DecimalMode::Double => {
                self.buffer.fixed64(number, [0; 8]);
            }
            CqlType::VarInt if self.modes.varint == VarintMode::Long => {
                self.buffer.integer(number, 0);
            }
            CqlType::Duration if self.modes.duration == DurationMode::Nanos => {
                self.buffer.integer(number, 0);
            }
            CqlType::Boolean
            | CqlType::TinyInt
            | CqlType::SmallInt
            | CqlType::Int
            | CqlType::BigInt
            | CqlType::Timestamp
            | CqlType::Time
            | CqlType::Date => self.buffer.integer(number, 0),
            // An empty message has the same encoding as an empty string.
            _ => {
                self.buffer.tag(number, WireType::Length);
                self.buffer.varint(0);
            }
        }
    }
}

/// Writes the elements of one list, and tracks which are null.
#[derive(Default)]
struct ListWriter {
    count: i64,
    nulls: Vec<i64>,
}

impl ListWriter {
    fn element(
        &mut self,
        writer: &mut ValueWriter<'_>,
        ty: &CqlType,
        bytes: Option<&[u8]>,
    ) -> Result<()> {
        if !writer.field(ELEMENT, ty, bytes)? {
            writer.placeholder(ELEMENT, ty);
            self.nulls.push(self.count);
        }
        self.count += 1;
        Ok(())
    }

    fn end(self, writer: &mut ValueWriter<'_>) {
        for index in self.nulls {
            writer.buffer.integer(NULL_AT, index);
        }
    }
}
