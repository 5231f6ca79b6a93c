//! A partition key, split into its columns.

use commitlog_core::schema::Table;

/// The partition that events belong to.
pub struct Partition<'p> {
    /// The raw key, as on the wire.
    pub key: &'p [u8],
    /// The values of several columns; empty if the key is the value of a single column.
    composite: Vec<&'p [u8]>,
}

impl<'p> Partition<'p> {
    /// Splits a key. Several columns have a length before each value and a zero byte after it
    /// (`CompositeType`, §6.3). Returns `None` if the key does not fit the table.
    pub fn parse(table: &Table, key: &'p [u8]) -> Option<Self> {
        let mut composite = Vec::new();
        if table.partition_key.len() == 1 {
            return Some(Self { key, composite });
        }
        let mut rest = key;
        for _ in &table.partition_key {
            let (length, tail) = rest.split_first_chunk::<2>()?;
            let (value, tail) = tail.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
            composite.push(value);
            rest = tail.strip_prefix(&[0])?;
        }
        rest.is_empty().then_some(Self { key, composite })
    }

    /// Returns one value for each partition-key column.
    pub fn values(&self) -> &[&'p [u8]] {
        if self.composite.is_empty() {
            std::slice::from_ref(&self.key)
        } else {
            &self.composite
        }
    }
}
