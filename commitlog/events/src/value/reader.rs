use commitlog_core::cql_type::CqlType;

use super::{Result, ValueError};

/// Reads the bytes of a composite value; every read is bounds-checked.
///
/// `ty` only appears in errors.
pub struct ValueReader<'t, 'a> {
    ty: &'t CqlType,
    length: usize,
    rest: &'a [u8],
}

impl<'t, 'a> ValueReader<'t, 'a> {
    pub fn new(ty: &'t CqlType, bytes: &'a [u8]) -> Self {
        Self {
            ty,
            length: bytes.len(),
            rest: bytes,
        }
    }

    /// Creates a reader for a vector, and checks its length if it is fixed.
    pub fn of_vector(ty: &'t CqlType, bytes: &'a [u8]) -> Result<Self> {
        match ty.fixed_length() {
            Some(length) if length != bytes.len() => {
                Err(ValueError::length(ty, &length, bytes.len()))
            }
            _ => Ok(Self::new(ty, bytes)),
        }
    }

    pub fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    pub fn read_bytes(&mut self, count: usize) -> Result<&'a [u8]> {
        let Some((bytes, rest)) = self.rest.split_at_checked(count) else {
            return Err(self.truncated());
        };
        self.rest = rest;
        Ok(bytes)
    }

    pub fn read_i32(&mut self) -> Result<i32> {
        let Some((bytes, rest)) = self.rest.split_first_chunk() else {
            return Err(self.truncated());
        };
        self.rest = rest;
        Ok(i32::from_be_bytes(*bytes))
    }

    /// Reads the number of elements of a collection.
    pub fn read_count(&mut self) -> Result<i32> {
        let count = self.read_i32()?;
        if count < 0 {
            return Err(ValueError::count(self.ty, count));
        }
        Ok(count)
    }

    /// Reads an element or field after its 32-bit length; a negative length is a null (`None`).
    pub fn read_element(&mut self) -> Result<Option<&'a [u8]>> {
        match usize::try_from(self.read_i32()?) {
            Ok(length) => self.read_bytes(length).map(Some),
            Err(_) => Ok(None),
        }
    }

    /// Reads a field of a tuple or user type. Missing fields at the end are null: they were added
    /// after the write.
    pub fn read_field(&mut self) -> Result<Option<&'a [u8]>> {
        if self.is_at_end() {
            return Ok(None);
        }
        self.read_element()
    }

    /// Reads a vector element of this length, or after a length prefix.
    pub fn read_vector_element(&mut self, fixed_length: Option<usize>) -> Result<&'a [u8]> {
        match fixed_length {
            Some(length) => self.read_bytes(length),
            None => self.read_vbytes(),
        }
    }

    /// Reads a vector element of variable length: an unsigned vint length, then bytes.
    pub fn read_vbytes(&mut self) -> Result<&'a [u8]> {
        let length = self.read_unsigned_vint()?;
        match usize::try_from(length) {
            Ok(length) => self.read_bytes(length),
            Err(_) => Err(self.truncated()),
        }
    }

    /// Leading ones of the first byte count the bytes that follow it (format notes §5.1).
    pub fn read_unsigned_vint(&mut self) -> Result<u64> {
        let Some((&first, rest)) = self.rest.split_first() else {
            return Err(self.truncated());
        };
        let extra = first.leading_ones() as usize;
        let Some((bytes, rest)) = rest.split_at_checked(extra) else {
            return Err(self.truncated());
        };
        self.rest = rest;
        let top = u64::from(first) & (0xff_u64 >> extra);
        Ok(bytes
            .iter()
            .fold(top, |number, byte| (number << 8) | u64::from(*byte)))
    }

    /// Decodes zig-zag over 64 bits (format notes §5.2).
    pub fn read_signed_vint(&mut self) -> Result<i64> {
        let number = self.read_unsigned_vint()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    /// Checks that no bytes are left.
    pub fn finish(self) -> Result<()> {
        if self.rest.is_empty() {
            return Ok(());
        }
        Err(ValueError::excess(self.ty, self.length, self.rest.len()))
    }

    #[cold]
    fn truncated(&self) -> ValueError {
        ValueError::truncated(
            self.ty,
            self.length,
            self.length.saturating_sub(self.rest.len()),
        )
    }
}

/// Returns the bytes of a type with a fixed size, or an error for any other length.
pub fn fixed<const N: usize>(ty: &CqlType, bytes: &[u8]) -> Result<[u8; N], ValueError> {
    bytes
        .try_into()
        .map_err(|_| ValueError::length(ty, &N, bytes.len()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::float_cmp)]
mod tests {
    use super::*;

    fn reader(bytes: &[u8]) -> ValueReader<'static, '_> {
        ValueReader::new(&CqlType::Duration, bytes)
    }

    #[test]
    fn reads_unsigned_vints_of_every_length() {
        let cases: [(&[u8], u64); 8] = [
            (&[0x00], 0),
            (&[0x7f], 127),
            (&[0x80, 0x80], 128),
            (&[0x81, 0x2c], 300),
            (&[0xc0, 0x40, 0x00], 16384),
            (&[0xf8, 0x08, 0, 0, 0, 0], 1 << 35),
            (
                &[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
                (1 << 56) - 1,
            ),
            (&[0xff; 9], u64::MAX),
        ];
        for (bytes, number) in cases {
            assert_eq!(reader(bytes).read_unsigned_vint(), Ok(number));
        }
    }

    #[test]
    fn reads_signed_vints() {
        let cases: [(&[u8], i64); 4] = [(&[0], 0), (&[1], -1), (&[2], 1), (&[0xff; 9], i64::MIN)];
        for (bytes, number) in cases {
            assert_eq!(reader(bytes).read_signed_vint(), Ok(number));
        }
    }

    #[test]
    fn reader_stops_at_end() {
        assert!(reader(&[0x80]).read_unsigned_vint().is_err());
        assert!(reader(&[]).read_unsigned_vint().is_err());
        assert!(reader(&[0, 0, 0, 2, 1]).read_element().is_err());
        assert!(reader(&[0xff; 9]).read_vbytes().is_err());
        assert_eq!(reader(&[0xff; 4]).read_element(), Ok(None));
    }
}
